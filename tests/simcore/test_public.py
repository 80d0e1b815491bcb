"""The package's own names: loaded late, and always what they are called."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def ran(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )


@pytest.mark.parametrize(
    "first",
    [
        "",
        "from simcore import simulate",
        "import simcore.check.load",
        "import simcore.simulate, simcore.bounds.design, simcore.check.check",
        "import simcore.engine.fast.iteration",
    ],
)
def test_simulate_bound_and_check_are_functions_whatever_was_imported_before(first: str) -> None:
    done = ran(
        f"{first}\nimport simcore\nfrom simcore import *\n"
        "for name in simcore.__all__: print(name, callable(getattr(simcore, name)))"
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if not line.endswith("True")] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    import simcore

    name = "optimise"
    with pytest.raises(AttributeError, match="'simcore' has no attribute 'optimise'"):
        getattr(simcore, name)


def test_an_unknown_engine_is_refused_by_name() -> None:
    done = ran(
        "from simcore.simulate import simulate\n"
        "try: simulate(None, engine='quick')\n"
        "except ValueError as error: print(error)"
    )
    assert "'quick'" in done.stdout
    assert "'fast'" in done.stdout


def test_an_engine_may_be_any_callable() -> None:
    done = ran("from simcore.simulate import simulate\nprint(simulate(5, engine=lambda design: design + 1))")
    assert done.stdout.strip() == "6"
