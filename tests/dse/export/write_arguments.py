"""Write `data/megatron.json` and `data/torchtitan.json`: the arguments that these programs take.

    python tests/dse/export/write_arguments.py MEGATRON_LM_CHECKOUT REVISION

Needs an environment with torch and torchtitan, which the tests do not.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def megatron() -> dict[str, Any]:
    """Each flag with the number of its values, their type and what they may be."""
    from megatron.training.arguments import add_megatron_arguments

    parser = argparse.ArgumentParser(allow_abbrev=False, conflict_handler="resolve")
    add_megatron_arguments(parser)
    return {
        flag: [
            action.nargs or 1 if action.nargs != 0 else 0,
            *(str(getattr(c, "name", c)) for c in action.choices or ()),
        ]
        for action in parser._actions
        for flag in action.option_strings
        if flag.startswith("--")
    }


def torchtitan() -> dict[str, Any]:
    """The same, as the help of a configuration prints it."""
    from torchtitan.config.manager import ConfigManager

    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        ConfigManager().parse_args(["--module", "llama3", "--config", "llama3_8b", "--help"])
    help_text = re.sub(r",\s+--", ", --", text.getvalue())  # flags that stand on two lines
    found: dict[str, Any] = {"--module": [1], "--config": [1]}
    for line in re.findall(r"^[│ ] *(--[a-z].*?) *│?$", help_text, re.MULTILINE):
        *switches, last = line.split(", ") if "{" not in line else [line]
        flag, _, value = last.partition(" ")
        found |= {switch: [0] for switch in switches}
        closed = re.fullmatch(r"\{([\w,-]+)\}", value)
        found[flag] = [0 if switches else 1, *(closed[1].split(",") if closed else ())]
    found |= {name: [] for name in re.findall(r"activation-checkpoint:[a-z-]+", text.getvalue())}
    return found


def main(checkout: str, revision: str) -> None:
    """Write both files."""
    sys.path.insert(0, checkout)
    for name, source, arguments in (
        ("megatron", f"NVIDIA/Megatron-LM {revision}", megatron()),
        ("torchtitan", f"torchtitan {version('torchtitan')}", torchtitan()),
    ):
        lines = ",\n".join(f"{json.dumps(flag)}: {json.dumps(rule)}" for flag, rule in sorted(arguments.items()))
        (DATA / f"{name}.json").write_text(f'{{"source": "{source}", "arguments": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    main(*sys.argv[1:])
