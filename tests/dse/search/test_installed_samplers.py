"""A sampler of an installed package is one by its name, for the command line, a file, and a program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tiny_spaces import tiny

import dse
from dse.cli import main
from dse.search import make_sampler
from dse.space.schema import space_schema
from simcore import family

MODULE = """\
from dse.search.random import Random

class Backwards(Random):
    \"\"\"Draws from another seed.\"\"\"

    def __init__(self, space, seed):
        super().__init__(space, seed + 1)

def forwards(space, seed):
    return Random(space, seed)

def nothing(space, seed):
    return "no sampler"

class Other:
    \"\"\"Not a sampler.\"\"\"
"""
LISTED = {"backwards": "Backwards", "forwards": "forwards", "nothing": "nothing", "other": "Other", "gone": "Gone"}


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    info = tmp_path / "seedy-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: seedy\nVersion: 1.2\n")
    entries = "".join(f"{name} = seedy_samplers:{inside}\n" for name, inside in LISTED.items())
    (info / "entry_points.txt").write_text(f"[dse.samplers]\n{entries}")
    (tmp_path / "seedy_samplers.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    forget_packages()
    yield
    forget_packages()


def forget_packages() -> None:
    family._scan_packages.cache_clear()
    family._find_entry_points.cache_clear()


def test_a_class_and_a_function_search_and_are_named_in_a_file(tmp_path: Path) -> None:
    usual = dse.optimize(tiny(), trials=9, seed=4, sampler="random")
    assert dse.optimize(tiny(), trials=9, seed=4, sampler="forwards").trials.equals(usual.trials)
    assert dse.optimize(tiny(study={"sampler": "backwards", "seed": 3}), trials=9).trials.equals(usual.trials)


def test_the_command_line_takes_it_and_its_study_is_repeated(tmp_path: Path) -> None:
    (tmp_path / "space.yaml").write_text(yaml.safe_dump(tiny(), sort_keys=False))
    options = ["--trials", "9", "--seed", "3", "--sampler", "backwards", "--out", str(tmp_path / "run")]
    assert main(["optimize", str(tmp_path / "space.yaml"), *options]) == 0
    repeated = dse.optimize(tmp_path / "run" / "study.yaml")
    assert repeated.trials.equals(dse.load_run(tmp_path / "run").trials)


def test_it_is_among_the_names_that_are_told_and_that_an_editor_knows() -> None:
    with pytest.raises(dse.InputError, match=r"one of auto, exact.*, gp, backwards.*; did you mean 'backwards'"):
        dse.load_space(tiny(study={"sampler": "backward"}))
    study = space_schema()["properties"]["study"]
    assert "backwards" in str(study)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing", "for 'nothing', got a str of seedy 1.2"),
        ("other", "for 'other', got what cannot be loaded from seedy 1.2 .*is no Maker"),
        ("gone", "for 'gone', got what cannot be loaded from seedy 1.2 .*Gone"),
    ],
)
def test_what_is_no_sampler_is_told_with_its_package(name: str, said: str) -> None:
    with pytest.raises(dse.InputError, match=said):
        make_sampler(name, dse.load_space(tiny()), 0)
