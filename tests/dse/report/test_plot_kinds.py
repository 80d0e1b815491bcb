"""The kinds of `dse plot`: what they draw are the journal's numbers, and what they cannot draw they say."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import report_studies as studies
import yaml
from tiny_spaces import TINY

import dse
from dse.evaluate.record import StudyRecord
from dse.report.plots import PLOTS, Options, Plot, plot_named, plot_of
from dse.report.plots.style import render
from dse.report.reasons import breakdown
from dse.report.values import read_result
from dse.run.record import load_record
from dse.study.watch import Watcher
from dse.whatif.subject import Subject, subject_of
from simcore.check.load import design_from
from simcore.document.problem import InputError
from simcore.simulate import simulate

SMALL = TINY.replace("hidden: 256", "hidden: 4096").replace("sequence_length: 128", "sequence_length: 1024")
"""A front of several designs: faster NPUs and links are dearer, and matter."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    place = tmp_path_factory.mktemp("plots") / "tiny"
    dse.optimize(yaml.safe_load(SMALL), trials=60, sampler="random", seed=1, folder=place)
    return place


@pytest.fixture(scope="module")
def subject(folder: Path) -> Subject:
    return subject_of(str(folder), bounds=True)


@pytest.fixture(scope="module")
def record(folder: Path) -> StudyRecord:
    return load_record(folder)


@pytest.fixture(scope="module")
def document(record: StudyRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The knee's design, in a file."""
    path = tmp_path_factory.mktemp("design") / "knee.yaml"
    path.write_text(yaml.safe_dump(dict(knee_of(record).design or {})))
    return path


def knee_of(record: StudyRecord) -> Any:
    return record.knee or record.front[0]


def numbers(kind: str, *subjects: Subject, **options: Any) -> dict[str, Any]:
    return plot_of(kind, subjects, Options(**options)).numbers


def of_record(record: StudyRecord, place: str = "") -> Subject:
    """A synthetic study, which nothing can be asked further."""
    return Subject(record.space, record, place=place)


def metrics_of(record: StudyRecord, trial: int) -> Any:
    found = next(t for t in record.trials if t.number == trial)
    assert found.metrics is not None
    return read_result(found.metrics)


OF_PURCHASES = {"regret"}
"""Kinds that show only runs that buy a cluster for several workloads (`tests/dse/buy`)."""


OF_PACKETS = {"queues"}
"""Kinds that play packets (`tests/simcore/engine/packets`)."""


@pytest.mark.parametrize("kind", [kind for kind in PLOTS if kind not in OF_PURCHASES | OF_PACKETS])
def test_every_kind_is_a_plot_that_draws_files_and_json(kind: str, subject: Subject) -> None:
    assert isinstance(plot_named(kind), Plot)
    picture = plot_of(kind, [subject], Options())
    assert render(picture.figure, "png").startswith(b"\x89PNG")
    assert render(picture.figure, "pdf").startswith(b"%PDF")
    assert b"<svg" in render(picture.figure, "svg")
    assert json.loads(json.dumps(picture.numbers, allow_nan=False))


@pytest.mark.parametrize("kind", ["front", "heatmap", "breakdown", "timeline"])
def test_the_same_run_gives_the_same_picture_to_the_byte(kind: str, folder: Path) -> None:
    first, second = (plot_of(kind, [subject_of(str(folder), bounds=True)], Options()).figure for _ in range(2))
    assert render(first, "svg") == render(second, "svg")
    assert render(first, "png") == render(second, "png")


def test_the_front_has_the_journals_members_knee_and_bounds(subject: Subject, record: StudyRecord) -> None:
    (run,) = numbers("front", subject)["runs"]
    assert [(m["trial"], m["values"]) for m in run["front"]] == [(t.number, dict(t.values)) for t in record.front]
    assert run["knee"] == (None if record.knee is None else record.knee.number)
    assert run["bounds"] == dict(record.bounds)
    assert run["trials"] == len(record.trials)


def test_the_front_of_several_runs_is_what_none_of_their_trials_dominates() -> None:
    one, other = (studies.mixed(60, seed=seed) for seed in (3, 4))
    found = numbers("front", of_record(one, "a"), of_record(other, "b"))
    assert [run["name"] for run in found["runs"]] == ["transformer1t (a)", "transformer1t (b)"]
    every = [(name, t.number, t.values) for name, r in (("a", one), ("b", other)) for t in r.feasible_trials]
    best = {
        (f"transformer1t ({name})", number)
        for name, number, values in every
        if not any(dominates(rival, values) for _, _, rival in every)
    }
    assert {(member["run"], member["trial"]) for member in found["union"]} == best


def dominates(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    pairs = [(one[name], other[name]) for name in studies.NAMES[:2]]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_runs_are_drawn_on_common_axes_whatever_the_number_of_objectives(objectives: int) -> None:
    names = studies.NAMES[:objectives]
    runs = [of_record(studies.mixed(40, names, seed), str(seed)) for seed in (1, 2, 3)]
    figure = plot_of("front", runs, Options()).figure
    assert len(figure.axes) == max(1, objectives * (objectives - 1) // 2)
    assert "3 runs on common axes" in [text.get_text() for text in figure.texts]


def test_runs_of_other_objectives_are_not_drawn_together() -> None:
    runs = [of_record(studies.mixed(20, names)) for names in (studies.NAMES[:2], studies.NAMES[:3])]
    with pytest.raises(InputError, match=r"minimize iteration_time, minimize cost\.total, minimize energy"):
        plot_of("front", runs, Options())


def test_a_breakdown_sums_to_the_times_of_the_front(subject: Subject, record: StudyRecord) -> None:
    rows = numbers("breakdown", subject)["rows"]
    assert [row["trial"] for row in rows] == [trial.number for trial in record.front]
    for row in rows:
        result = metrics_of(record, row["trial"])
        assert row["parts"] == breakdown(result)
        assert math.isclose(sum(row["parts"].values()), result.iteration_time_s)


def test_a_long_front_is_thinned_and_keeps_its_ends_and_its_knee() -> None:
    trials = [studies.simulated(i, 3.0 + i, 1e6 * (40 + 900 / (i + 1)), violations={"fits": -0.2}) for i in range(80)]
    record = studies.record(trials)
    rows = numbers("breakdown", of_record(record))["rows"]
    assert len(rows) <= 13
    assert {0, 79, knee_of(record).number} <= {row["trial"] for row in rows}
    assert [row["note"] for row in rows if row["trial"] == knee_of(record).number] == ["knee"]


def test_picks_of_several_runs_stand_side_by_side_each_with_its_name() -> None:
    runs = [of_record(studies.mixed(40, seed=seed), f"run{seed}") for seed in (1, 2)]
    rows = numbers("breakdown", *runs, trial=("best:iteration_time",))["rows"]
    best = [
        min(run.record.feasible_trials, key=lambda t: t.values["iteration_time"]).number for run in runs if run.record
    ]
    assert [row["trial"] for row in rows] == best
    assert [row["name"] for row in rows] == [
        f"transformer1t (run{seed}) #{n}" for seed, n in zip((1, 2), best, strict=True)
    ]


def test_a_design_that_is_two_picks_stands_there_once() -> None:
    record = studies.mixed(40)
    knee = knee_of(record).number
    rows = numbers("cost", of_record(replace_designs(record)), trial=("knee", str(knee)))["rows"]
    assert [row["trial"] for row in rows] == [knee]


def replace_designs(record: StudyRecord) -> StudyRecord:
    """The study with designs that are valid: what the reports' synthetic ones say is not looked at elsewhere."""
    design = yaml.safe_load(
        """
        workload: {model: llama3-8b, global_batch: 64}
        parallelism: {tensor: 8, pipeline: 1, data: 1}
        cluster:
          npu: a100-80gb
          dimensions: [{topology: switch, size: 8, bandwidth: 300 GB/s, latency: 1 us, tier: node}]
        """
    )
    full = design_from(design).document()
    return replace(record, trials=tuple(replace(t, design=full) if t.design else t for t in record.trials))


@pytest.mark.parametrize(
    ("cost", "counted"),
    [("libra", "links, ports and NICs of all NPUs"), ("street-2025", "NICs, switches, cables and optics by the piece")],
)
def test_the_picture_of_the_cost_says_what_its_price_list_counts(tmp_path: Path, cost: str, counted: str) -> None:
    path = tmp_path / "design.yaml"
    workload = {"collective": "all_reduce", "size": "1 GB"}
    cluster = {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 64}
    path.write_text(yaml.safe_dump({"workload": workload, "cluster": cluster, "cost": cost}))
    assert counted in numbers("cost", subject_of(str(path), bounds=False))["caption"]


def test_the_parts_of_the_cost_sum_to_the_journals(subject: Subject, record: StudyRecord) -> None:
    for row in numbers("cost", subject)["rows"]:
        cost = metrics_of(record, row["trial"]).cost
        network = sum(value for part, value in row["parts"].items() if part.startswith("network"))
        assert math.isclose(network, cost.network)
        assert math.isclose(sum(row["parts"].values()), cost.total)


def test_the_split_of_bandwidth_is_that_of_the_designs(subject: Subject, record: StudyRecord) -> None:
    for row in numbers("bandwidth", subject)["rows"]:
        trial = next(t for t in record.trials if t.number == row["trial"])
        dimensions = design_from(trial.design or {}).cluster.dimensions
        assert list(row["parts"].values()) == [dimension.bandwidth for dimension in dimensions]


def test_the_fullest_stage_holds_what_the_journal_says(subject: Subject, record: StudyRecord) -> None:
    piped = max(record.feasible_trials, key=lambda t: t.params["parallelism.pipeline"])
    found = numbers("memory", subject, trial=(str(piped.number),))
    result = metrics_of(record, piped.number)
    assert math.isclose(max(sum(row["parts"].values()) for row in found["rows"]), result.memory_bytes.reserved)
    assert found["limits"] == {"capacity": result.memory_capacity_bytes}
    assert len(found["rows"]) > 1


def test_memory_of_several_designs_is_that_of_their_fullest_stages(subject: Subject, record: StudyRecord) -> None:
    first, last = record.front[0].number, record.front[-1].number
    rows = numbers("memory", subject, trial=(str(first), str(last)))["rows"]
    held = [metrics_of(record, number).memory_bytes.reserved for number in (first, last)]
    assert [sum(row["parts"].values()) for row in rows] == pytest.approx(held)


def test_a_cell_is_the_best_of_its_trials(subject: Subject, record: StudyRecord) -> None:
    found = numbers("heatmap", subject)
    assert (found["x"], found["y"], found["metric"]) == ("parallelism.tensor", "parallelism.pipeline", "iteration_time")
    for cell in found["cells"]:
        inside = [
            t
            for t in record.trials
            if (t.params["parallelism.tensor"], t.params["parallelism.pipeline"]) == (cell["x"], cell["y"])
        ]
        feasible = [t for t in inside if t.state == "feasible"]
        assert cell["trials"] == len(inside)
        assert cell["value"] == min((t.values["iteration_time"] for t in feasible), default=None)
        if cell["value"] is not None:
            assert cell["memory"] == metrics_of(record, cell["trial"]).memory_bytes.reserved
        else:
            assert cell["why"]


def test_colours_can_show_another_metric_and_other_keys(subject: Subject, record: StudyRecord) -> None:
    found = numbers("heatmap", subject, x="cluster.npu", y="parallelism.zero", value="mfu")
    assert found["better"] == "higher"
    best = max(c["value"] for c in found["cells"] if c["value"] is not None)
    known = [metrics_of(record, trial.number).mfu for trial in record.feasible_trials]
    assert best == max(known)


def test_empty_cells_are_filled_around_a_design_within_the_budget(subject: Subject, record: StudyRecord) -> None:
    few = Subject(subject.name, replace(record, trials=record.trials[:6]), subject.study)
    before = numbers("heatmap", few)
    base = str(record.feasible_trials[0].number)
    assert record.feasible_trials[0].number < 6
    some = numbers("heatmap", few, fill=2, trial=(base,))
    every = numbers("heatmap", few, fill=100, trial=(base,))
    assert some["filled"] == 2
    assert len(every["cells"]) == 10  # tensor x pipeline x data = 8
    kept = {(c["x"], c["y"]): c for c in every["cells"]}
    assert all(kept[c["x"], c["y"]] == c for c in before["cells"])
    filled = [c for c in every["cells"] if c["trial"] is None]
    assert len(filled) == every["filled"] == len(every["cells"]) - len(before["cells"])
    around = design_from(record.feasible_trials[0].design or {})
    for cell in filled:
        other = around.with_(
            {
                "parallelism.tensor": cell["x"],
                "parallelism.pipeline": cell["y"],
                "parallelism.data": 8 // (cell["x"] * cell["y"]),
            }
        )
        assert cell["value"] == simulate(other).iteration_time_s


@pytest.mark.parametrize(("cut", "careful"), [({"bound": 298, "fits": 66}, True), ({"fits": 66}, False)])
def test_cells_of_a_search_that_left_designs_out_by_proof_are_not_called_the_best_there_are(
    record: StudyRecord, cut: dict[str, int], careful: bool
) -> None:
    proved = replace(record, proof={"cut": cut})
    picture = plot_of("heatmap", [of_record(proved)], Options())
    note = " ".join(" ".join(text.get_text() for text in picture.figure.texts).split())
    assert picture.numbers["ruled_out"] == (298 if careful else 0)
    assert ("is the best simulated, not the best there is: 298 designs" in note) == careful
    assert ("--fill N" in note) == careful


def test_a_cell_where_nothing_can_be_built_says_why() -> None:
    trials = [studies.simulated(0, 4.0, 2e7, params={"a": 1, "b": 1}), studies.cut(1, 3.0, 2e7, rule="fits")]
    trials[1] = replace(trials[1], params={"a": 2, "b": 2})
    found = numbers("heatmap", of_record(studies.record(trials)))
    assert [(c["value"], c["why"]) for c in found["cells"]] == [(4.0, ""), (None, "does not fit")]


def test_a_scaled_design_is_the_one_simulated_at_that_size(document: Path) -> None:
    subject = subject_of(str(document), bounds=False)
    for mode in ("weak", "strong"):
        (curve,) = numbers("scaling", subject, mode=mode, npus=(8, 16))["curves"]
        base = design_from(yaml.safe_load(document.read_text()))
        for size in curve["sizes"]:
            data = base.parallelism.data * size["npus"] // 8
            batch = 16 * size["npus"] // 8 if mode == "weak" else 16
            outer = 2 * size["npus"] // 8
            other = base.with_(
                {
                    "parallelism.data": data,
                    "workload.global_batch": batch,
                    "cluster.dimensions[1].size": outer,
                }
            )
            assert (size["batch"], size["seconds"]) == (batch, simulate(other).iteration_time_s)
        assert curve["efficiency"][0] == 1.0
        rate = curve["sizes"][1]["batch"] / curve["sizes"][1]["seconds"] / 16
        assert math.isclose(curve["efficiency"][1], rate / (16 / curve["sizes"][0]["seconds"] / 8))


def test_a_size_at_which_the_design_cannot_run_says_why(document: Path) -> None:
    subject = subject_of(str(document), bounds=False)
    (curve,) = numbers("scaling", subject, npus=(8, 9))["curves"]
    assert curve["sizes"][1]["seconds"] is None
    assert "whole number" in curve["sizes"][1]["why"]
    with pytest.raises(InputError, match="none: "):
        plot_of("scaling", [subject], Options(npus=(9,)))


def test_a_dimension_of_which_one_npu_is_left_goes(document: Path) -> None:
    base = design_from(yaml.safe_load(document.read_text()))
    wide = base.with_({"parallelism.tensor": 1, "parallelism.pipeline": 1, "parallelism.data": 8})
    subject = Subject("wide", document=wide.document())
    (curve,) = numbers("scaling", subject, npus=(2, 4))["curves"]
    one = wide.document()
    one["cluster"]["dimensions"] = one["cluster"]["dimensions"][:1]
    one["system"]["collective"] = one["system"]["collective"][:1]
    one["parallelism"]["data"], one["workload"]["global_batch"] = 4, 8
    assert curve["sizes"][1]["seconds"] == simulate(design_from(one)).iteration_time_s


def test_a_tornado_has_every_step_of_the_space_and_what_it_changes(subject: Subject, record: StudyRecord) -> None:
    trial = knee_of(record)
    found = numbers("tornado", subject, trial=(str(trial.number),))
    rows = {row["name"]: row for row in found["moved"]}
    (zero,) = rows["zero"]["changes"]
    other = design_from(trial.design).with_("parallelism.zero", int(zero["to"]))
    before, after = trial.values["iteration_time"], simulate(other).iteration_time_s
    assert math.isclose(zero["loss"]["iteration_time"], after / before - 1, abs_tol=1e-12)
    extents = [
        max(abs(x or 0) for c in row["changes"] for x in c["loss"].values())
        for row in found["moved"]
        if any(c["loss"] for c in row["changes"])
    ]
    assert extents == sorted(extents, reverse=True)


def test_an_alternative_without_a_name_is_called_by_its_machine(record: StudyRecord) -> None:
    from dse.report.plots.tornado import _group
    from dse.whatif.answers import ParameterStep

    trial = knee_of(record)
    other = design_from(trial.design).with_("cluster.npu", "h200")
    step = ParameterStep(0, ("cluster",), {"cluster": ("#1", "#0")}, "feasible", "", {}, other.document())
    (moved,) = _group([step], trial)
    npus = design_from(trial.design).cluster.npus
    assert moved.now.startswith(f"{npus} x ")
    assert "h200" not in moved.now
    assert [change.to for change in moved.changes] == [f"{npus} x h200"]


def test_a_price_moves_the_cost_by_its_share(subject: Subject, record: StudyRecord) -> None:
    trial = knee_of(record)
    cost = metrics_of(record, trial.number).cost
    rows = {row["name"]: row for row in numbers("tornado", subject, trial=(str(trial.number),))["moved"]}
    down, up = (change["loss"] for change in rows["price of NPUs"]["changes"])
    assert math.isclose(up["cost.total"], 0.3 * cost.npu / cost.total)
    assert math.isclose(down["cost.total"], -up["cost.total"])
    assert up["iteration_time"] == 0


def test_a_timeline_serves_as_long_as_the_journal_says(subject: Subject, record: StudyRecord) -> None:
    piped = max(record.feasible_trials, key=lambda t: t.params["parallelism.pipeline"])
    its = numbers("timeline", subject, trial=(str(piped.number),))["iteration"]
    result = metrics_of(record, piped.number)
    assert its["seconds"] == result.iteration_time_s
    assert its["of"] == piped.params["parallelism.pipeline"]
    served = [sum((s["end"] - s["begin"]) * s["share"] for s in spans) for spans in its["network"].values()]
    assert served == pytest.approx([use.busy_s for use in result.network])
    for spans in its["stages"].values():
        assert all(a["end"] <= b["begin"] + 1e-12 for a, b in pairwise(spans))
    assert max(spans[-1]["end"] for spans in its["stages"].values()) == pytest.approx(result.iteration_time_s)
    assert its["inside"]["forward"][0]["begin"] == pytest.approx(its["stages"][its["stage"]][0]["begin"])


def test_the_busiest_link_of_each_dimension_is_busy_for_as_long_as_it_serves(
    subject: Subject, record: StudyRecord
) -> None:
    """At switches and rings, where each phase loads a link of each NPU for as long as it is served."""
    shown = numbers("links", subject)
    result = metrics_of(record, shown["trial"])
    assert shown["seconds"] == result.iteration_time_s
    for one, use in zip(shown["dimensions"], result.network, strict=True):
        assert one["busiest"][0]["utilization"] <= 1
        assert one["busiest"][0]["utilization"] >= use.busy_s / result.iteration_time_s * (1 - 1e-6)
        assert sum(one["busiest"][0]["by_group"].values()) == pytest.approx(one["busiest"][0]["utilization"])


def test_a_timeline_says_where_the_result_is_that_of_another_engine(tmp_path: Path) -> None:
    document = {
        "workload": {
            "model": {"hidden": 256, "layers": 4, "heads": 8, "vocabulary": 500, "sequence_length": 64},
            "global_batch": 64,
        },
        "parallelism": {"pipeline": 4, "data": 4},
        "cluster": {
            "npu": "a100-80gb",
            "dimensions": [{"topology": "ring", "size": 16, "bandwidth": "1 GB/s", "latency": "1 us", "tier": "node"}],
            "placement": ["pipeline", "tensor", "context", "data"],
        },
    }
    path = tmp_path / "design.yaml"
    path.write_text(yaml.safe_dump(document))
    picture = plot_of("timeline", [subject_of(str(path), bounds=False)], Options())
    shown = picture.numbers
    assert shown["engine"] == "flow"
    assert shown["seconds"] > shown["iteration"]["seconds"]
    assert any("drawn is engine fast" in text.get_text() for text in picture.figure.texts)


def test_links_of_several_jobs_are_told_by_job(tmp_path: Path) -> None:
    job = {"workload": {"collective": "all_to_all", "size": "4 MiB"}, "npus": 8, "placement": "spread"}
    outer = {"topology": "clos", "size": 16, "leaf": 8, "oversubscription": 4, "bandwidth": "25 GB/s"}
    document = {
        "jobs": [{**job, "name": "one"}, {**job, "name": "two"}],
        "cluster": {"npu": "a100-80gb", "dimensions": [{**outer, "latency": "1 us", "tier": "pod"}]},
    }
    path = tmp_path / "jobs.yaml"
    path.write_text(yaml.safe_dump(document))
    shown = numbers("links", subject_of(str(path), bounds=False))
    assert shown["jobs"] == ("one", "two")
    uplinks, *ports = shown["dimensions"][0]["busiest"]
    assert set(uplinks["by_job"]) == {"one", "two"}
    assert sum(uplinks["by_job"].values()) == pytest.approx(uplinks["utilization"])
    assert {name for port in ports for name in port["by_job"]} == {"one", "two"}
    assert all(len(port["by_job"]) == 1 for port in ports)


def test_a_design_document_stands_in_for_a_run_where_one_design_is_shown(document: Path, record: StudyRecord) -> None:
    subject = subject_of(str(document), bounds=False)
    row = numbers("breakdown", subject)["rows"][0]
    assert row["parts"] == breakdown(metrics_of(record, knee_of(record).number))
    for kind in ("bandwidth", "memory", "cost", "scaling", "timeline", "links"):
        plot_of(kind, [subject], Options())
    for kind in ("front", "heatmap", "tornado"):
        with pytest.raises(InputError, match="a run folder, got the design document 'knee'"):
            plot_of(kind, [subject], Options())


def test_a_run_in_which_nothing_is_feasible_says_so_for_each_kind() -> None:
    subject = of_record(studies.infeasible_only())
    plot_of("front", [subject], Options())  # shows what was tried, and which constraint binds
    for kind in ("breakdown", "bandwidth", "memory", "cost", "scaling", "tornado", "timeline", "links", "queues"):
        with pytest.raises(InputError, match="a run with a feasible design"):
            plot_of(kind, [subject], Options())
    with pytest.raises(InputError, match="which is cut"):
        plot_of("breakdown", [subject], Options(trial=("0",)))


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("front", {"trial": ("knee",)}, "an option of 'front' .it has none., got --trial"),
        ("breakdown", {"x": "a", "fill": 3}, "--fill"),
        ("heatmap", {"x": "parallelism.tensr"}, "did you mean 'parallelism.tensor'"),
        ("heatmap", {"x": "parallelism.zero", "y": "parallelism.zero"}, "another key than --x"),
        ("heatmap", {"value": "iteration_tim"}, "did you mean 'iteration_time'"),
        ("heatmap", {"trial": ("knee",)}, "give --fill N too"),
        ("memory", {"trial": ("best",)}, "a trial's number, knee, robust or best:METRIC"),
        ("scaling", {"trial": ("0", "1")}, "make a picture of each"),
        ("breakdown", {"trial": ("999",)}, "the number of a trial of this run"),
    ],
)
def test_what_a_kind_cannot_show_is_an_error_that_says_what_to_do(
    kind: str, options: dict[str, Any], said: str, subject: Subject
) -> None:
    with pytest.raises(InputError, match=said):
        plot_of(kind, [subject], Options(**options))


def test_an_unknown_kind_and_too_many_runs_are_errors(subject: Subject) -> None:
    with pytest.raises(InputError, match="did you mean 'heatmap'"):
        plot_of("heatmp", [subject])
    with pytest.raises(InputError, match="at most 1 for 'tornado', got 2"):
        plot_of("tornado", [subject, subject])


def test_a_run_plots_what_the_command_line_plots(folder: Path, subject: Subject) -> None:
    run = dse.load_run(folder)
    assert render(run.plot("memory", trial="knee"), "svg") == render(
        plot_of("memory", [subject], Options(trial=("knee",))).figure, "svg"
    )
    assert len(run.plot("front", run).axes) == 1


class Heard(Watcher):
    """What a watcher is told."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.shares: list[float] = []

    def phase(self, name: str) -> None:
        self.phases.append(name)

    def note(self, text: str, done: float | None = None) -> None:
        self.shares.append(done or 0.0)


def test_what_takes_time_is_told_with_how_far_it_is(folder: Path, record: StudyRecord) -> None:
    heard = Heard()
    subject = subject_of(str(folder), bounds=False, watcher=heard)
    plot_of("tornado", [subject], Options(trial=("knee",)))
    few = Subject(subject.name, replace(record, trials=record.trials[:6]), subject.study, watcher=heard)
    heard.shares.clear()
    plot_of("heatmap", [few], Options(fill=3, trial=(str(record.feasible_trials[0].number),)))
    assert heard.phases[:2] == ["reading the journal", f"simulating the steps from trial {knee_of(record).number}"]
    assert heard.phases[2].startswith("filling up to 3 of ")
    assert heard.shares == pytest.approx([1 / 3, 2 / 3, 1])


@pytest.mark.parametrize("kind", ["front", "breakdown"])
def test_names_of_a_stranger_are_drawn_as_they_are_and_break_nothing(kind: str) -> None:
    figure = plot_of(kind, [of_record(studies.hostile())], Options()).figure
    assert render(figure, "png").startswith(b"\x89PNG")
    assert b"<script" not in render(figure, "svg")


def test_a_run_in_which_nothing_varies_has_no_heat_map() -> None:
    with pytest.raises(InputError, match="a run in which two keys vary") as error:
        plot_of("heatmap", [of_record(studies.hostile())], Options())
    assert "\x1b" not in str(error.value)
