"""What a result says beside its numbers: every kind is gathered from designs, read back and shown."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dse.cli.result_table import print_result
from dse.evaluate.read import read_result
from dse.evaluate.record import TrialRecord
from dse.report.assumptions import describe_notices
from simcore.check.load import design_from
from simcore.engine.notices import ONE_LINK, ONE_SLOT, UNEVEN, UNEVEN_SERVED, WIDE_SERVED, notices_of
from simcore.engine.ranges import ITERATIONS, JOBS
from simcore.result import NOTICES
from simcore.simulate import simulate

REDUCING = {"in_network": True, "trees": 1}
MODEL = {"hidden": 256, "layers": 2, "heads": 8, "vocabulary": 1000, "sequence_length": 128}
DOCUMENT = {
    "workload": {"model": MODEL, "global_batch": 16, "precision": "fp8"},
    "parallelism": {"tensor": 2},
    "cluster": {
        "npu": "h100-80gb",
        "dimensions": [{"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "1 us", **REDUCING}],
    },
}


def test_every_kind_is_gathered_read_back_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    design = design_from(DOCUMENT)
    result = simulate(design)
    assert list(notices_of("fast", design)) == list(NOTICES)
    assert all(getattr(result, kind) for kind in NOTICES)
    document = result.document()
    assert read_result(document) == result
    trial = TrialRecord(0, "feasible", {}, {}, {}, DOCUMENT, document)
    said = list(describe_notices(trial))
    print_result(result)
    shown = capsys.readouterr().out
    for words in NOTICES.values():
        assert any(text.startswith(f"{words}: ") for text in said)
        assert f"\n{words}\n" in shown


def test_jobs_that_say_the_same_say_it_once() -> None:
    design = design_from(DOCUMENT)
    assert notices_of("fast", design, design) == notices_of("fast", design)


@pytest.mark.parametrize(
    ("topology", "engine", "said"), [("ring", "flow", 1), ("ring", "reference_links", 0), ("switch", "flow", 0)]
)
def test_flat_rings_on_links_that_others_use_are_said_not_to_share_them(topology: str, engine: str, said: int) -> None:
    links = {"bandwidth": "25 GB/s", "latency": "1 us"}
    dimensions = [{"topology": "switch", "size": 2, **links}, {"topology": topology, "size": 4, **links}]
    document = {
        "workload": {"model": MODEL, "global_batch": 8},
        "parallelism": {"pipeline": 2},
        "cluster": {"npu": "h100-80gb", "dimensions": dimensions},
        "system": {"collective": ["flat_ring", "flat_ring"], "chunks": 1},
    }
    told = simulate(design_from(document), engine).not_modelled
    assert sum("flat rings" in text for text in told) == said


TABLES = (
    (Path(__file__).parents[3] / "docs" / "accuracy-details.md").read_text(encoding="utf-8").split("<!-- flow -->")[1]
)


def measured(*cells: str, column: int) -> list[float]:
    """That column of the rows of the section on shared links that begin with these cells; `""` is any."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in TABLES.splitlines() if line.startswith("|")]
    return [
        float(row[column])
        for row in rows
        if len(row) > column and all(wanted in ("", cell) for wanted, cell in zip(cells, row, strict=False))
    ]


@pytest.mark.parametrize("policy", ["fifo", "priority"])
@pytest.mark.parametrize("chunks", [1, 4, 16])
def test_ranges_of_iterations_are_what_the_table_has(policy: str, chunks: int) -> None:
    row, *_ = measured("iteration", str(chunks), policy, column=5)  # then those of large messages, ring and direct
    assert ITERATIONS[policy][chunks] == math.ceil(row)


@pytest.mark.parametrize("chunks", [1, 4, 16])
def test_ranges_of_steps_that_let_others_pass_are_what_the_table_has(chunks: int) -> None:
    rows = [
        row
        for size in ("1 MiB and more", "below 1 MiB")
        if len(measured("iteration", size, str(chunks), column=9)) == 1
        for row in measured("iteration", size, str(chunks), column=8)
    ]
    assert ITERATIONS["preemptive"][chunks] == math.ceil(max(rows))


@pytest.mark.parametrize("algorithm", list(JOBS))
@pytest.mark.parametrize("chunks", [1, 4])
def test_ranges_of_jobs_are_what_the_table_has(algorithm: str, chunks: int) -> None:
    rows = [
        row
        for what in ("alike", "unlike")
        for row in measured(f"two jobs, messages {what}", algorithm, str(chunks), "", column=6)
    ]
    assert len(rows) >= 2
    assert JOBS[algorithm][chunks] == math.ceil(max(rows))


def test_a_result_says_how_far_few_chunks_on_shared_links_can_be_off() -> None:
    ring = {"topology": "ring", "size": 8, "bandwidth": "25 GB/s", "latency": "1 us"}
    document = {
        "workload": {"model": MODEL, "global_batch": 8},
        "parallelism": {"pipeline": 2},
        "cluster": {"npu": "h100-80gb", "dimensions": [ring], "placement": ["pipeline", "tensor", "context", "data"]},
        "system": {"collective": ["ring"], "chunks": 4, "intra_dimension": "fifo"},
    }
    few, many = (design_from(document).with_("system.chunks", chunks) for chunks in (4, 64))
    said = f"with 4 chunks one time in twenty is off by {ITERATIONS['fifo'][4]} % or more"
    assert [said in text for text in simulate(few, "flow").not_modelled] == [True]
    assert simulate(many, "flow").not_modelled == ()
    assert simulate(few, "reference_links").not_modelled == ()
    unmeasured = simulate(few.with_("system.intra_dimension", "lifo"), "flow").not_modelled
    assert ["nobody has measured" in text for text in unmeasured] == [True]


def test_jobs_that_share_links_say_how_far_they_can_be_off_and_others_nothing() -> None:
    job = {"workload": {"collective": "all_to_all", "size": "4 MiB"}, "npus": 8}
    clos = {"topology": "clos", "size": 16, "leaf": 8, "oversubscription": 4, "bandwidth": "25 GB/s", "latency": "1 us"}
    document = {
        "jobs": [{**job, "placement": "spread"}, {**job}],
        "cluster": {"npu": "h100-80gb", "dimensions": [clos]},
        "system": {"collective": ["ring"], "chunks": 4},
    }
    spread = design_from(document)
    (said,) = simulate(spread, "flow").not_modelled
    assert f"off by {JOBS['ring'][4]} %" in said
    assert simulate(spread.with_("jobs[0].placement", "packed"), "flow").not_modelled == ()


@pytest.mark.parametrize(("expert", "said"), [(1, False), (8, True)])
def test_experts_on_several_npus_may_be_busy_unevenly(expert: int, said: bool) -> None:
    design = design_from(
        {
            "workload": {"model": "mixtral-8x7b", "global_batch": 64, "precision": "bf16"},
            "parallelism": {"pipeline": 4, "expert": expert},
            "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 32},
        }
    )
    assert (UNEVEN in notices_of("fast", design)["not_modelled"]) == said


@pytest.mark.parametrize(
    ("model", "npus", "said"), [("dlrm-mlperf", 8, True), ("dlrm-mlperf", 1, False), ("resnet-50", 8, False)]
)
def test_so_may_the_tables_of_a_recommender_on_several_npus(model: str, npus: int, said: bool) -> None:
    document = {
        "workload": {"model": model, "global_batch": 1024, "precision": "fp16"},
        "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": npus},
    }
    told = notices_of("fast", design_from(document))["not_modelled"]
    assert any(text.startswith("uneven tables: ") for text in told) is said


@pytest.mark.parametrize(("model", "said"), [("dlrm-mlperf", True), ("resnet-50", True), ("llama3-8b", False)])
def test_that_samples_of_thousands_of_bytes_have_to_reach_the_npus_is_said(model: str, said: bool) -> None:
    document = {
        "workload": {"model": model, "global_batch": 1024, "precision": "fp16"},
        "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 8},
    }
    told = notices_of("fast", design_from(document))["not_modelled"]
    assert any(text.startswith("how samples reach the NPUs: ") for text in told) is said


@pytest.mark.parametrize(("expert", "said"), [(1, False), (8, True)])
def test_so_may_those_of_a_model_that_is_served(expert: int, said: bool) -> None:
    design = design_from(
        {
            "workload": {"model": "mixtral-8x7b", "global_batch": 64, "prompt_length": 512, "output_length": 64},
            "parallelism": {"tensor": 8 // expert, "expert": expert},
            "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 8},
        }
    )
    assert (UNEVEN_SERVED in notices_of("fast", design)["not_modelled"]) == said
    assert (WIDE_SERVED in notices_of("fast", design)["not_modelled"]) == said
    assert UNEVEN not in notices_of("fast", design)["not_modelled"]


@pytest.mark.parametrize(
    ("npu", "fabric", "place", "said"),
    [
        ("l40s", "pcie-gen4-node", "optimizer", True),
        ("l40s", "pcie-gen4-node", None, False),
        ("h100-80gb", "dgx-h100", "optimizer", False),
    ],
)
def test_offloaded_parts_and_messages_share_the_link_of_a_pcie_node(
    npu: str, fabric: str, place: str | None, said: bool
) -> None:
    expanded = {"capacity": "128 GB", "bandwidth": "25 GB/s", "place": [place]}
    design = design_from(
        {
            "workload": {"model": "llama2-7b", "global_batch": 16, "precision": "bf16"},
            "parallelism": {"zero": 1},
            "cluster": {"npu": npu, "fabric": fabric, "npus": 16, "memory": {"expanded": expanded} if place else {}},
        }
    )
    assert (ONE_LINK in notices_of("fast", design)["not_modelled"]) == said


@pytest.mark.parametrize(
    ("npu", "fabric", "npus", "said"),
    [
        ("l40s", "pcie-gen4-node", 16, True),
        ("l40s", "pcie-gen4-node", 8, False),
        ("h100-80gb", "dgx-h100", 16, False),
    ],
)
def test_messages_of_a_pcie_node_share_its_link(npu: str, fabric: str, npus: int, said: bool) -> None:
    workload = {"model": "llama3-8b", "global_batch": 16, "precision": "bf16"}
    design = design_from({"workload": workload, "cluster": {"npu": npu, "fabric": fabric, "npus": npus}})
    assert (ONE_SLOT in notices_of("fast", design)["not_modelled"]) == said
