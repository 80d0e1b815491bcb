"""`studies/million/sweep.py`: the driver of each workload, as the command line has it."""

from __future__ import annotations

import argparse
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from dse.space.space import load_space

SCRIPT = Path(__file__).parents[3] / "studies" / "million" / "sweep.py"


@pytest.fixture
def sweep() -> ModuleType:
    spec = spec_from_file_location("sweep", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _given(out: Path, address: str | None = None, resume: bool = False) -> argparse.Namespace:
    return argparse.Namespace(address=address, jobs=12, at_once=4, trials=7, out=out, resume=resume)


def test_a_study_that_has_not_begun_is_not_resumed(sweep: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "gpt3-175b").mkdir()
    assert "--resume" in sweep.command("gpt3-175b", _given(tmp_path, resume=True))
    assert "--resume" not in sweep.command("llama3-8b", _given(tmp_path, resume=True))
    assert "--resume" not in sweep.command("gpt3-175b", _given(tmp_path))


def test_ray_is_asked_for_only_with_an_address(sweep: ModuleType, tmp_path: Path) -> None:
    assert "ray" not in sweep.command("llama3-8b", _given(tmp_path))
    words = sweep.command("llama3-8b", _given(tmp_path, "head:6379"))
    assert words[-4:] == ["--executor", "ray", "--address", "head:6379"]


def test_workers_are_shared_out_among_the_drivers_at_work(sweep: ModuleType, tmp_path: Path) -> None:
    words = sweep.command("llama3-8b", _given(tmp_path))
    assert words[words.index("--jobs") + 1] == "3"


def test_every_workload_of_the_sweep_is_a_space_of_more_designs_than_it_tries(
    sweep: ModuleType, tmp_path: Path
) -> None:
    for name in sweep.WORKLOADS:
        assert load_space(sweep.space(name, tmp_path)).count() > 12_000_000
