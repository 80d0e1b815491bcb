"""Explaining designs: parts and differences that add up, changes that lead from one to the other, what helps most."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli_runs import DESIGN, write_design
from rich.console import Console

from dse.cli import main
from dse.explain.changes import ABSENT, apply_changes, attempt
from dse.explain.difference import changes_between
from dse.explain.explained import explain, explain_against
from dse.explain.steps import steps_of
from dse.report.screen import Unbroken
from simcore.check.load import design_from, load_design, parse_design
from simcore.design.design import Design
from simcore.simulate import simulate


def design(**changes: Any) -> Design:
    return load_design(DESIGN).with_({path.replace("__", "."): value for path, value in changes.items()})


def pairs() -> list[tuple[Design, Design]]:
    """Designs that differ in degrees, in a network of the same blocks, in one of other blocks, in the workload."""
    one = design()
    other: dict[str, Any] = copy.deepcopy(DESIGN)
    other["cluster"]["dimensions"] = [
        {"topology": "ring", "size": 4, "bandwidth": "100 GB/s", "latency": "700 ns", "tier": "node"},
        {"topology": "switch", "size": 4, "bandwidth": "50 GB/s", "latency": "700 ns", "tier": "node"},
        {"topology": "switch", "size": 8, "bandwidth": "25 GB/s", "latency": "1.7 us", "tier": "pod"},
    ]
    return [
        (one, design(parallelism__tensor=4, parallelism__pipeline=16, parallelism__recompute="full")),
        (one, one.with_({"cluster.dimensions[1].bandwidth": "50 GB/s", "cluster.npu": "h100-80gb"})),
        (one, load_design(other)),
        (one, one.with_({"workload.global_batch": 128, "software": "deepspeed", "parallelism.zero": 3})),
    ]


def test_a_bubble_names_the_stage_that_the_others_wait_for() -> None:
    """The head of 256,000 words is beside eight layers of the last stage."""
    uneven = design_from(
        {
            "workload": {"model": "nemotron4-340b", "global_batch": 768, "sequence_length": 4096, "precision": "fp8"},
            "parallelism": {"tensor": 8, "pipeline": 12, "zero": 1, "sequence_parallel": True},
            "cluster": {"npu": "h200", "fabric": "dgx-h200", "npus": 384},
        }
    )
    told = {part.name: part.why for part in explain(uneven).parts}["bubble"]
    assert "stage 11 works longer than stage 0, shown here, by" in told
    assert "of computing" in told
    solved = next(change for change in steps_of(uneven.document()) if change.name == "stages")
    assert solved.text == "stages – → solved"
    tried = attempt(uneven.document(), [solved])
    assert tried.result is not None
    assert tried.result.iteration_time_s < 0.95 * simulate(uneven).iteration_time_s
    again = {part.name: part.why for part in explain(uneven.with_("parallelism.stages", {"solve": True})).parts}
    assert "even that out" in told
    assert "even that out" not in again["bubble"]


def test_a_bubble_names_what_the_longest_stage_waits_for() -> None:
    """The first layers of DeepSeek-V3 have no experts, so the first stage, which ends last, exchanges fewer tokens."""
    mixture = design_from(
        {
            "workload": {"model": "deepseek-v3", "global_batch": 2048, "sequence_length": 4096, "precision": "fp8"},
            "parallelism": {"pipeline": 8, "data": 32, "expert": 32, "zero": 1, "dispatch": "node"},
            "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 256},
        }
    )
    told = {part.name: part.why for part in explain(mixture).parts}["bubble"]
    assert "of expert communication and" in told
    overlapped = {"expert_overlap": True, "interleave": 2, "schedule": "dualpipe-v"}
    hidden = mixture.with_(
        {"workload.model.layers": 64, **{f"parallelism.{key}": overlapped[key] for key in overlapped}}
    )
    assert "expert communication" not in {part.name: part.why for part in explain(hidden).parts}["bubble"]


@pytest.mark.parametrize("index", range(4))
def test_all_changes_together_lead_to_the_other_design(index: int) -> None:
    one, other = pairs()[index]
    for start, end in ((one, other), (other, one)):
        changes = changes_between(start.document(), end.document())
        found, problems = parse_design(apply_changes(start.document(), changes))
        assert found is not None, problems
        assert found.key == end.key


def test_degrees_change_together_and_so_does_a_network_of_other_blocks() -> None:
    names = [[change.name for change in changes_between(a.document(), b.document())] for a, b in pairs()]
    assert names[0] == ["recompute", "degrees"]
    assert names[1] == ["bandwidth of dimension 1", "npu"] or names[1] == ["npu", "bandwidth of dimension 1"]
    assert names[2] == ["network"]


def with_nics(nics: int, npu: str, **more: str) -> Design:
    """The design with NICs in its outer dimension, and other keys of that dimension."""
    document: dict[str, Any] = copy.deepcopy(DESIGN)
    outer = document["cluster"]["dimensions"][1]
    del outer["bandwidth"]
    outer |= {"nics": nics, "nic_bandwidth": "50 GB/s", **more}
    document["cluster"]["npu"] = npu
    return load_design(document)


def test_nics_and_the_bandwidth_that_follows_from_them_are_one_change_that_is_a_design_alone() -> None:
    one, other = with_nics(2, "a100-80gb"), with_nics(4, "a100-80gb")
    compared = explain_against(one, other)
    assert [change.text for change in compared.changes] == ["NICs of dimension 1: 2 → 4, 12.5 GB/s → 25 GB/s"]
    assert compared.subsets.singles[0].result == simulate(other)


def test_what_a_machine_brings_along_is_one_change_with_its_npu_and_the_number_of_nics_is_another() -> None:
    one = with_nics(2, "a100-80gb")
    other = with_nics(4, "h100-80gb", latency="5 us")
    compared = explain_against(one, other)
    texts = [change.text for change in compared.changes]
    assert texts == ["NICs of dimension 1: 2 → 4, 12.5 GB/s → 25 GB/s", "machine a100-80gb → h100-80gb"]
    assert all(tried.result is not None for tried in compared.subsets.singles)
    faster = with_nics(4, "h100-80gb", latency="5 us", nic_bandwidth="100 GB/s")
    (change,) = changes_between(one.document(), faster.document())
    assert apply_changes(one.document(), [change]) == faster.document()


def test_machines_without_nics_and_with_them_differ_in_one_change() -> None:
    one, other = with_nics(2, "a100-80gb"), design().with_("cluster.npu", "h100-80gb")
    assert [change.name for change in changes_between(one.document(), other.document())] == ["machine"]


def test_an_npu_that_is_spelled_out_differs_from_a_named_one_in_one_change() -> None:
    one = design().document()
    other = copy.deepcopy(one)
    other["cluster"]["npu"] = {"name": "mine", "memory": {"capacity": "80 GB"}}
    for start, end in ((one, other), (other, one)):
        changes = changes_between(start, end)
        assert [change.name for change in changes] == ["npu"]
        assert apply_changes(start, changes) == end


def test_no_line_breaks_between_a_number_and_its_name_or_its_unit() -> None:
    console = Console(width=24, record=True)
    console.print(Unbroken("longest: mlp-in 31 %, flash-attention 16 %, mlp-out 16 %: time −7.6 %"))
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    assert lines == ["longest: mlp-in 31 %,", "flash-attention 16 %,", "mlp-out 16 %:", "time −7.6 %"]


def test_equal_designs_have_no_changes() -> None:
    assert changes_between(design().document(), design().document()) == ()


@pytest.mark.parametrize("index", range(4))
def test_differences_by_part_add_up_to_the_total(index: int) -> None:
    one, other = pairs()[index]
    compared = explain_against(one, other, budget=1)
    before, after = compared.side.result, compared.against.result
    total = after.iteration_time_s - before.iteration_time_s
    assert sum(part.change for part in compared.time) == pytest.approx(total, rel=1e-9, abs=1e-12)
    assert sum(part.change for part in compared.cost) == pytest.approx(after.cost.total - before.cost.total)
    assert before.memory_bytes is not None
    assert after.memory_bytes is not None
    grown = after.memory_bytes.reserved - before.memory_bytes.reserved
    assert sum(part.change for part in compared.memory) == pytest.approx(grown)


def test_parts_add_up_to_the_iteration_and_say_what_is_behind_them() -> None:
    explained = explain(design(), budget=1)
    assert sum(part.seconds for part in explained.parts) == pytest.approx(explained.side.result.iteration_time_s)
    why = {part.name: part.why for part in explained.parts}
    assert "matrix products" in why["compute"]
    assert "of the peak" in why["compute"]
    assert "all_reduce of 48 MiB keep dimension 0, SW(8) at 300 GB/s, busy for" in why["tensor communication"]
    assert "8 stages wait for each other: 32 microbatches, 1f1b" in why["bubble"]


def test_prices_of_dimensions_add_up_to_the_network() -> None:
    side = explain(design(), budget=1).side
    assert sum(side.network_cost) == pytest.approx(side.result.cost.network)


def test_each_single_change_and_pair_is_a_simulation_and_the_interaction_is_what_is_beyond_their_sum() -> None:
    one, other = design(), design(parallelism__zero=1, system__chunks=16, parallelism__interleave=2)
    compared = explain_against(one, other)
    singles = {tried.name: tried for tried in compared.subsets.singles}
    assert set(singles) == {"zero", "chunks", "interleave"}
    assert singles["interleave"].result == simulate(one.with_("parallelism.interleave", 2))
    assert len(compared.subsets.pairs) == 3
    base = compared.side.result.iteration_time_s
    for pair in compared.subsets.pairs:
        a, b = (singles[change.name].result for change in pair.tried.changes)
        assert a is not None
        assert b is not None
        assert pair.tried.result is not None
        expected = pair.tried.result.iteration_time_s - a.iteration_time_s - b.iteration_time_s + base
        assert pair.interaction == pytest.approx(expected, abs=1e-12)
    order = [tried.result.iteration_time_s for tried in singles.values() if tried.result and not tried.why]
    assert order == sorted(order)


def test_a_change_that_is_no_design_alone_is_told_and_its_pair_has_no_interaction() -> None:
    one = design()
    other = one.with_({"parallelism.tensor": 16, "cluster.dimensions[0].size": 16, "cluster.dimensions[1].size": 16})
    subsets = explain_against(one, other).subsets
    network = next(tried for tried in subsets.singles if tried.name == "network")
    assert network.result is None
    assert "expected" in network.why
    pair = next(pair for pair in subsets.pairs if {c.name for c in pair.tried.changes} == {"network", "degrees"})
    assert pair.interaction is None
    assert pair.tried.result is not None


def test_the_budget_limits_what_is_simulated_and_what_is_left_out_is_counted() -> None:
    one, other = design(), design(parallelism__zero=1, system__chunks=16, parallelism__interleave=2)
    told: list[tuple[int, int]] = []
    subsets = explain_against(one, other, 4, lambda done, total: told.append((done, total))).subsets
    assert (len(subsets.singles), len(subsets.pairs), subsets.left_out) == (3, 1, 2)
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_steps_move_degrees_by_a_prime_and_keep_their_product() -> None:
    document = design().document()
    for step in steps_of(document):
        if step.name == "degrees":
            (a, after_a), (b, after_b) = step.values.values()
            assert after_a * after_b == a * b


def test_a_step_is_the_design_with_the_key_changed() -> None:
    one = design()
    step = next(s for s in steps_of(one.document()) if s.text == "zero 0 → 1")
    assert attempt(one.document(), [step]).result == simulate(one.with_("parallelism.zero", 1))


def test_a_design_that_does_not_fit_keeps_its_result() -> None:
    one = design()
    step = next(s for s in steps_of(one.document()) if s.text == "tensor 8 → 4, data 2 → 4")
    tried = attempt(one.document(), [step])
    assert tried.why == "does not fit"
    assert tried.result is not None


def test_keys_that_only_one_document_has_come_and_go() -> None:
    one = design()
    other = one.with_("parallelism.zero", 3)
    changes = {change.name: change for change in changes_between(one.document(), other.document())}
    assert changes["zero"].values[("parallelism", "gather")] == (ABSENT, "once")
    assert changes["zero"].document["values"]["parallelism.gather"] == [None, "once"]


@pytest.mark.parametrize(
    "workload", [{"collective": "all_reduce", "size": "1 GiB"}, {"layers": "resnet-50", "global_batch": 512}]
)
def test_other_kinds_of_workload_are_explained_too(workload: dict[str, Any]) -> None:
    document = {key: value for key, value in DESIGN.items() if key != "parallelism"} | {"workload": workload}
    explained = explain(load_design(document))
    assert explained.parts
    assert any(tried.result is not None for tried in explained.steps)


def test_the_memory_of_a_served_model_has_its_keys_and_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = {"model": "llama3-8b", "global_batch": 128, "prompt_length": 512, "output_length": 8}
    document = {key: value for key, value in DESIGN.items() if key != "parallelism"} | {"workload": workload}
    assert main(["explain", str(write_design(tmp_path, document))]) == 0
    out = " ".join(capsys.readouterr().out.replace("\xa0", " ").split())
    assert re.search(r"at the peak: activations [\d.]+ .iB, weights [\d.]+ GiB, keys and values [\d.]+ .iB\.", out)


def test_the_command_prints_parts_steps_and_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = write_design(tmp_path), tmp_path / "other.yaml"
    write_design(tmp_path, {**DESIGN, "system": {"chunks": 16}}, "other.yaml")
    assert main(["explain", str(one)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "where the time goes" in out
    assert "steps of common keys were tried" in out
    assert main(["explain", str(one), "--against", str(other)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "chunks 8 → 16" in out
    assert "difference by part" in out


def test_json_has_the_keys_that_are_documented(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write_design(tmp_path)
    other = write_design(tmp_path, {**DESIGN, "system": {"chunks": 16}}, "other.yaml")
    alone = {"design", "parts", "operators", "collectives", "network_cost", "simulations"}
    assert main(["explain", str(one), "--json", "--simulations", "5"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == alone | {"steps", "steps_left_out"}
    assert (len(document["steps"]), document["simulations"]) == (5, 6)
    assert main(["explain", str(one), "--against", str(other), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    more = {"against", "against_parts", "changes", "difference", "singles", "pairs", "pairs_left_out"}
    assert set(document) == alone | more
    assert document["changes"][0]["values"] == {"system.chunks": [8, 16]}
    assert document["singles"][0]["iteration_time_s"] == document["against"]["metrics"]["iteration_time_s"]


def test_the_same_design_twice_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = str(write_design(tmp_path))
    assert main(["explain", one, "--against", one]) == 0
    assert "The two are the same design." in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["nothing.yaml"], ["design.yaml", "--against", "nothing.yaml"]])
def test_a_file_that_is_not_there_ends_with_status_2(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_design(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["explain", *arguments]) == 2
    captured = capsys.readouterr()
    assert "nothing.yaml: 1 problem" in captured.err
    assert captured.out == ""
