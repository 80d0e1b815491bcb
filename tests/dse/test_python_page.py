"""`docs/python.md` is a program that runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_blocks_of_the_page_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) >= 7
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"python.md, block {number}", "exec"), names)
    assert {path.name for path in tmp_path.iterdir()} == {"front.png", "runs"}
    assert names["short"].ended == "stopped"
    assert len(names["seen"]) == len(names["short"].trials) < 40
