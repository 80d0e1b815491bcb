"""Samplers by import path, and of OptunaHub: what they cannot do is told before anything is written."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import optuna
import pytest
from tiny_spaces import search, space

from dse.run.drive import optimize
from dse.run.settings import Settings
from dse.search import make_sampler
from dse.space.settings import sampler_problems
from simcore.document.problem import InputError


class Own(optuna.samplers.RandomSampler):
    """A sampler of a module of one's own."""


class Tiring(optuna.samplers.RandomSampler):
    """Fails late: a rehearsal does not show it."""

    asked = 0

    def sample_independent(self, *args: Any) -> Any:
        self.asked += 1
        if self.asked > 100:
            raise RuntimeError("no more\nideas")
        return super().sample_independent(*args)


class Needy(optuna.samplers.RandomSampler):
    def sample_independent(self, *args: Any) -> Any:
        import no_such_package  # noqa: F401


@pytest.mark.parametrize("name", ["optuna.samplers:TPESampler", f"{__name__}:Own", "optuna.samplers:BruteForceSampler"])
def test_a_sampler_by_its_import_path_searches(tmp_path: Path, name: str) -> None:
    ended, outcomes = search(space(), tmp_path, name, 20)
    assert (ended, len(outcomes)) == ("trials", 20)


def test_one_that_needs_a_finite_space_gets_indices_instead_of_weights() -> None:
    assert make_sampler("optuna.samplers:BruteForceSampler", space(), 0).smooth is False  # type: ignore[attr-defined]
    assert make_sampler("optuna.samplers:RandomSampler", space(), 0).smooth is True  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "optuna.samplers:CmaEsSampler",
            r"CmaEsSampler fails, got \w+Error: .*; (use another one|install what it needs)",
        ),
        (f"{__name__}:Needy", "Needy fails, got ModuleNotFoundError: No module named 'no_such_package'; install"),
        ("optuna.samplers:GridSampler", "needs no arguments"),
        ("optuna.samplers:NoSuch", "has no 'NoSuch'"),
        ("os:system", r"no optuna\.samplers\.BaseSampler"),
        ("no_such_module:Sampler", "PYTHONPATH"),
        (":Sampler", "names no module"),
    ],
)
def test_a_sampler_that_cannot_search_the_space_is_told_before_there_is_a_folder(
    tmp_path: Path, name: str, said: str
) -> None:
    with pytest.raises(InputError, match=said) as told:
        optimize(space(), Settings(name, 10, 0), tmp_path / "run", resume=False)
    assert [problem.path for problem in told.value.problems] == [("--sampler",)]
    assert not (tmp_path / "run").exists()


def test_one_that_fails_later_is_told_and_what_it_found_is_kept(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Tiring fails, got RuntimeError: no more ideas; use another one"):
        optimize(space(), Settings(f"{__name__}:Tiring", 60, 0), tmp_path / "run", resume=False)
    assert (tmp_path / "run" / "journal.log").read_text().count("\n") > 8


def hub(monkeypatch: pytest.MonkeyPatch, load: Any) -> None:
    module = ModuleType("optunahub")
    module.load_module = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "optunahub", module)


def test_a_sampler_of_optunahub_is_loaded_by_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    hub(monkeypatch, lambda package: asked.append(package) or sys.modules[__name__])
    ended, outcomes = search(space(), tmp_path, "optunahub:samplers/own:Own", 20)
    assert (asked, ended, len(outcomes)) == (["samplers/own"], "trials", 20)


def test_a_local_package_in_the_layout_of_the_hub_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pytest.importorskip("optunahub")
    package = tmp_path / "samplers" / "own"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import optuna\nclass Local(optuna.samplers.RandomSampler):\n    pass\n")
    hub(monkeypatch, lambda name: real.load_local_module(name, registry_root=str(tmp_path)))
    _, outcomes = search(space(), tmp_path / "run", "optunahub:samplers/own:Local", 12)
    assert len(outcomes) == 12


def test_a_hub_that_cannot_be_reached_or_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(package: str) -> ModuleType:
        raise OSError(f"could not resolve host\nfor {package}")

    hub(monkeypatch, unreachable)
    with pytest.raises(InputError, match=r"'samplers/own' cannot be had \(OSError: could not resolve host for"):
        make_sampler("optunahub:samplers/own:Own", space(), 0)
    monkeypatch.setitem(sys.modules, "optunahub", None)
    with pytest.raises(InputError, match="pip install optunahub"):
        make_sampler("optunahub:samplers/own:Own", space(), 0)


def test_a_file_may_not_name_a_sampler_of_the_hub() -> None:
    (problem,) = sampler_problems("optunahub:samplers/own:Own", ("study", "sampler"))
    assert "if you trust it" in problem.fix
