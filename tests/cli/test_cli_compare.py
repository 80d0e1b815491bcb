"""`dse compare`: fronts of several runs on one reference point, what they share, and what differs between them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import moocore
import numpy as np
import pytest
from cli_runs import SPACE, write_space

from dse.cli import main
from dse.evaluate.record import StudyRecord
from dse.report.runs import RunSide, Together, set_side_by_side
from dse.report.runs.settings import differing_settings
from dse.run.record import load_record

WIDE = SPACE.replace("[100 GB/s, 200 GB/s]", "[25 GB/s, 50 GB/s, 100 GB/s, 200 GB/s]")
OTHER = WIDE.replace("[a100-80gb, v100-32gb]", "[a100-80gb, h100-80gb]")
KEYS = {
    *("objectives", "reference_point", "runs", "union", "common", "shared", "changed", "levels", "settings", "effects"),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Two runs of one space, by other samplers and seeds, and one of another space; not to be written to."""
    folder = tmp_path_factory.mktemp("compared")
    wide, other = write_space(folder, WIDE, "wide.yaml"), write_space(folder, OTHER, "other.yaml")
    asked = [(wide, "guided", "0", "first"), (wide, "random", "1", "second"), (other, "guided", "0", "third")]
    for space, sampler, seed, out in asked:
        arguments = ["--sampler", sampler, "--seed", seed, "--out", str(folder / out)]
        assert main(["optimize", str(space), *arguments]) == 0
    return folder / "first", folder / "second", folder / "third"


@pytest.fixture(scope="module")
def document(folders: tuple[Path, ...]) -> dict[str, Any]:
    from dse.report.runs import runs_document

    return runs_document(set_side_by_side([side(folder) for folder in folders]))


@pytest.fixture(scope="module")
def records(folders: tuple[Path, ...]) -> tuple[StudyRecord, ...]:
    return tuple(load_record(folder) for folder in folders)


def side(folder: Path) -> RunSide:
    import yaml

    return RunSide(folder.name, str(folder), load_record(folder), yaml.safe_load((folder / "study.yaml").read_text()))


def points(record: StudyRecord) -> np.ndarray[Any, Any]:
    return np.array([list(trial.values.values()) for trial in record.front])


def test_json_has_the_keys_that_the_help_names(folders: tuple[Path, ...], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["compare", *map(str, folders), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == KEYS
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    text = " ".join(capsys.readouterr().out.partition("--json prints {")[2].partition("}")[0].split())
    assert set(text.split(", ")) == KEYS


def test_hypervolumes_are_to_one_point_and_none_exceeds_that_of_all(
    document: dict[str, Any], records: tuple[StudyRecord, ...]
) -> None:
    fronts = [points(record) for record in records]
    reference = 1.1 * np.concatenate(fronts).max(axis=0)
    assert document["reference_point"] == pytest.approx(list(reference))
    for run, front in zip(document["runs"], fronts, strict=True):
        assert run["hypervolume"] == pytest.approx(moocore.hypervolume(front, ref=reference))
        assert 0 < run["share"] <= 1
    everything = np.concatenate(fronts)
    assert document["union"]["hypervolume"] == pytest.approx(moocore.hypervolume(everything, ref=reference))


def test_what_survives_is_dominated_by_no_member_of_any_front(
    document: dict[str, Any], records: tuple[StudyRecord, ...]
) -> None:
    everything = np.concatenate([points(record) for record in records])
    for run, record in zip(document["runs"], records, strict=True):
        for trial in record.front:
            own = np.array(list(trial.values.values()))
            dominated = ((everything <= own).all(axis=1) & (everything < own).any(axis=1)).any()
            assert (trial.number in run["surviving"]) is not bool(dominated)


def test_common_designs_are_equal_documents_and_have_equal_values(
    document: dict[str, Any], records: tuple[StudyRecord, ...]
) -> None:
    by_name = dict(zip(("first", "second", "third"), records, strict=True))
    assert document["common"]
    for common in document["common"]:
        trials = [
            next(trial for trial in by_name[name].trials if trial.number == number)
            for name, number in common["trials"].items()
        ]
        assert len(trials) > 1
        assert all(trial.design == trials[0].design for trial in trials)
    assert document["changed"] == {"designs": 0, "largest": 0.0}
    keys = [{json.dumps(trial.design, sort_keys=True) for trial in record.trials} for record in records]
    shared = {key for index, known in enumerate(keys) for key in known if any(key in o for o in keys[:index])}
    assert document["shared"] == len(shared)


def test_designs_that_no_other_run_tried_are_told(document: dict[str, Any], records: tuple[StudyRecord, ...]) -> None:
    keys = [{json.dumps(trial.design, sort_keys=True) for trial in record.trials} for record in records]
    for index, (run, record) in enumerate(zip(document["runs"], records, strict=True)):
        others = set().union(*(known for other, known in enumerate(keys) if other != index))
        expected = [t.number for t in record.front if json.dumps(t.design, sort_keys=True) not in others]
        assert run["only_here"] == expected


def test_levels_are_the_best_of_each_front_within_a_limit(
    document: dict[str, Any], records: tuple[StudyRecord, ...]
) -> None:
    assert len(document["levels"]) >= 2
    for level in document["levels"]:
        for name, record in zip(("first", "second", "third"), records, strict=True):
            within = [t.values["iteration_time"] for t in record.front if t.values["cost.total"] <= level["limit"]]
            assert level["best"][name] == (min(within) if within else None)


def test_settings_that_differ_are_the_sampler_the_seed_and_what_the_spaces_ask(document: dict[str, Any]) -> None:
    settings = {setting["key"]: setting["values"] for setting in document["settings"]}
    assert settings["sampler"] == {"first": "guided", "second": "random", "third": "guided"}
    assert settings["seed"] == {"first": 0, "second": 1, "third": 0}
    assert "trials" not in settings
    assert any(key.startswith("space.cluster.npu") for key in settings)


def test_equal_studies_have_no_settings_that_differ() -> None:
    study = {"sampler": "auto", "space": {"cluster": {"dimensions": [{"size": 8}]}}}
    assert differing_settings({"a": study, "b": json.loads(json.dumps(study))}) == ()


def test_a_hole_is_compared_as_a_whole_and_an_absent_key_is_a_difference() -> None:
    one = {"space": {"a": {"choice": [1, 2]}, "b": 1}}
    other = {"space": {"a": {"choice": [1, 3]}}}
    found = {setting.key: setting.values for setting in differing_settings({"x": one, "y": other})}
    assert found == {"space.a": {"x": {"choice": [1, 2]}, "y": {"choice": [1, 3]}}, "space.b": {"x": 1}}


def test_the_effect_of_a_key_is_read_off_the_designs_with_each_value(
    document: dict[str, Any], records: tuple[StudyRecord, ...]
) -> None:
    effects = {effect["key"]: effect["values"] for effect in document["effects"]}
    feasible = [trial for record in records for trial in record.feasible_trials]
    for entry in effects["tensor"]:
        own = [t for t in feasible if t.design and str(t.design["parallelism"]["tensor"]) == entry["value"]]
        assert entry["designs"] == len({json.dumps(trial.design, sort_keys=True) for trial in own})
        assert entry["best"]["iteration_time"] == min(t.values["iteration_time"] for t in own)
        assert 0 <= entry["reach"] <= 1 + 1e-9
    assert {"NPUs", "ZeRO", "bandwidth"} <= set(effects)


def test_designs_on_the_front_of_all_are_counted_once_for_each_key(document: dict[str, Any]) -> None:
    assert document["effects"]
    for effect in document["effects"]:
        assert sum(entry["on_front"] for entry in effect["values"]) == len(document["union"]["front"])
        assert all(entry["on_front"] <= entry["designs"] for entry in effect["values"])


def test_a_run_beside_its_own_copy_has_the_effects_of_one_run(folders: tuple[Path, ...], tmp_path: Path) -> None:
    copied = shutil.copytree(folders[0], tmp_path / "copied")
    together = set_side_by_side([side(folders[0]), side(copied)])
    for effect in together.effects:
        assert sum(entry.designs for entry in effect.values) == len(together.runs[0].record.feasible_trials)
        assert sum(entry.on_front for entry in effect.values) == len(together.runs[0].record.front)


def test_a_design_that_another_run_beats_is_not_on_the_front_of_all(folders: tuple[Path, ...], tmp_path: Path) -> None:
    copied = shutil.copytree(folders[0], tmp_path / "copied")
    together = slowed(set_side_by_side([side(folders[0]), side(copied)]))
    front = together.runs[0].record.front
    assert [(name, trial.number) for name, trial in together.union] == [("first", trial.number) for trial in front]
    for effect in together.effects:
        assert sum(entry.on_front for entry in effect.values) == len(front)


def test_a_run_against_its_copy_with_other_numbers_is_called_careful(
    folders: tuple[Path, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = shutil.copytree(folders[0], tmp_path / "copied")
    together = set_side_by_side([side(folders[0]), side(copied)])
    assert (together.changed, together.settings) == ((0, 0.0), ())
    changed = slowed(together)
    assert changed.changed[0] == len(folders_trials(together))
    assert changed.changed[1] == pytest.approx(0.5)


def folders_trials(together: Together) -> list[int]:
    return [trial.number for trial in together.runs[0].record.trials if trial.values]


def slowed(together: Together) -> Together:
    """The same two runs, the second of which was twice as slow."""
    from dataclasses import replace

    one, other = together.runs
    trials = tuple(
        replace(trial, values={**trial.values, "iteration_time": 2 * trial.values["iteration_time"]})
        for trial in other.record.trials
    )
    return set_side_by_side([one, replace(other, record=replace(other.record, trials=trials))])


def test_the_screen_fits_80_columns(
    folders: tuple[Path, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    capsys.readouterr()
    assert main(["compare", *map(str, folders)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 70
    for part in ("hypervolume, of all", "settings that", "reach"):
        assert any(part in line for line in lines), part


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a, b: [a], "expected two runs or more, got one"),
        (lambda a, b: [a, a], "expected runs that differ, got one folder twice"),
        (lambda a, b: [a, "/no/such/run"], "expected a run folder with a study.yaml"),
    ],
)
def test_bad_input_ends_with_status_2(
    change: Any, said: str, folders: tuple[Path, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["compare", *map(str, change(folders[0], folders[1]))]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_runs_with_other_objectives_are_refused_by_name(
    folders: tuple[Path, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = write_space(tmp_path, SPACE + "objectives: {minimize: [iteration_time, power]}\n")
    assert main(["optimize", str(space), "--out", str(tmp_path / "power"), "--trials", "8"]) == 0
    capsys.readouterr()
    assert main(["compare", str(folders[0]), str(tmp_path / "power")]) == 2
    error = capsys.readouterr().err
    assert "expected runs with the same objectives, got first: minimize iteration_time, minimize cost.total" in error
    assert "power: minimize iteration_time, minimize power" in error


@pytest.mark.parametrize(("batch", "careful"), [(64, True), (32, False)])
def test_times_of_different_jobs_come_with_a_warning(
    folders: tuple[Path, ...], capsys: pytest.CaptureFixture[str], batch: int, careful: bool
) -> None:
    from rich.console import Console

    from dse.report.runs import print_runs

    first, second = side(folders[0]), side(folders[1])
    study = json.loads(json.dumps(second.study))
    study["space"]["workload"]["global_batch"] = batch
    base = json.loads(json.dumps(first.study))
    base["space"]["workload"]["global_batch"] = 32
    runs = [RunSide(first.name, first.folder, first.record, base), RunSide("b", second.folder, second.record, study)]
    print_runs(set_side_by_side(runs), Console(width=80))
    assert ("of different jobs" in capsys.readouterr().out) == careful


def test_runs_without_a_common_design_say_so(folders: tuple[Path, ...], capsys: pytest.CaptureFixture[str]) -> None:
    from dataclasses import replace

    from rich.console import Console

    from dse.report.runs import print_runs

    first, second = side(folders[0]), side(folders[1])
    none = replace(second.record, trials=())
    print_runs(set_side_by_side([first, RunSide("b", second.folder, none, second.study)]), Console(width=80))
    assert "No design was tried by more than one run." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("shared", "fronts", "said"),
    [
        (
            6,
            [("a",), ("b",), ("a",), ("a", "b")],
            "6 designs were tried by more than one run: 3 on the front of one run alone, "
            "1 on the fronts of several runs, 2 on no front.",
        ),
        (1, [("a", "b")], "1 design was tried by more than one run: 1 on the fronts of several runs."),
        (2, [], "2 designs were tried by more than one run: 2 on no front."),
    ],
)
def test_each_shared_design_is_counted_once_by_the_fronts_that_it_is_on(
    folders: tuple[Path, ...],
    capsys: pytest.CaptureFixture[str],
    shared: int,
    fronts: list[tuple[str, ...]],
    said: str,
) -> None:
    from dataclasses import replace

    from rich.console import Console

    from dse.report.runs import print_runs
    from dse.report.runs.together import CommonDesign

    together = set_side_by_side([side(folders[0]), side(folders[1])])
    common = tuple(CommonDesign({"a": 1, "b": 2}, on_front) for on_front in fronts)
    print_runs(replace(together, common=common, shared=shared), Console(width=80))
    assert said in " ".join(capsys.readouterr().out.split())
