from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import report_studies as studies

from dse.report.aspects import ASPECTS, shorten_value
from dse.report.built import describe_build
from dse.report.describe import compare, describe, headline
from dse.report.reasons import breakdown, describe_bound, describe_reason
from simcore.design.reliability import usual_reliability


def test_a_design_in_few_words() -> None:
    assert headline(studies.design(zero=1, chunks=16, inter_dimension="themis", intra_dimension="scf")) == (
        "transformer-1t, batch 1024, sequence 2048, fp16, 1024 x a100-80gb, SW(8)_SW(128), 300/25 GB/s, 0.7/1.7 us, "
        "tiers node/pod, t8 p16 d8, ZeRO-1, microbatch 1, 1f1b, HD, 16 chunks, scf+themis, prices libra"
    )


def test_what_varies_an_entry_of_the_catalogue_is_said_to() -> None:
    design = studies.design()
    design["workload"]["model"] = {"name": "gpt3-175b", "layers": 48, "hidden": 8192}
    assert describe(design)["workload"] == "gpt3-175b varied (48 layers of 8,192)"
    design["workload"]["model"] = {"layers": 48, "hidden": 8192}
    assert describe(design)["workload"] == "a model of 48 layers of 8,192"
    design["workload"]["model"] = {"name": "ours", "layers": 48, "hidden": 8192}
    assert describe(design)["workload"] == "ours"
    design["cluster"]["npu"] = {"base": "h100-80gb", "power": {"max": "500 W"}}
    assert describe(design)["NPUs"] == "1024 x h100-80gb varied"
    design["software"] = {"name": "megatron-core", "execution": "graph", "elementwise": 4.0}
    assert describe(design)["software"] == "megatron-core varied (execution graph)"


@pytest.mark.parametrize(("cap", "said"), [("350 W", True), ("400 W", False)])
def test_a_limit_of_power_is_said_where_it_limits(cap: str, said: bool) -> None:
    design = studies.design()
    design["cluster"]["power_cap"] = cap
    assert ("power cap" in describe(design)) == said


@pytest.mark.parametrize(
    ("stages", "said"),
    [([4, 4], "4"), ([4, 4, 4, 2], "3 x 4 + 2"), ([1, 2, 2, 1], "1 + 2 x 2 + 1"), ("solve", "solve")],
)
def test_layers_by_stage_are_counted(stages: Any, said: str) -> None:
    design = studies.design()
    design["parallelism"]["stages"] = stages
    assert describe(design)["stages"] == said


def test_a_section_that_varies_in_one_design_alone_differs_in_what_varies() -> None:
    one, other = studies.design(), studies.design()
    varied = usual_reliability().model_dump(mode="json", exclude_defaults=True)
    one["reliability"] = usual_reliability().name
    other["reliability"] = {**varied, "spares": 0.5}
    found = compare([one, other])
    assert found.columns == ("reliability.spares",)
    assert ("spares 0.5",) in found.phrases


def test_topology_is_written_innermost_first() -> None:
    design = studies.design()
    kinds = [("ring", 4), ("fully_connected", 8), ("switch", 32)]
    one = {"bandwidth": "100 GB/s", "latency": "1 us", "tier": "node"}
    design["cluster"]["dimensions"] = [{"topology": kind, "size": size, **one} for kind, size in kinds]
    assert describe(design)["topology"] == "Ring(4)_FC(8)_SW(32)"
    assert describe(design)["NPUs"] == "1024 x a100-80gb"


@pytest.mark.parametrize(
    ("bandwidths", "text"),
    [
        (["900 GB/s", "25 GB/s"], "900/25 GB/s"),
        (["1.2 TB/s", "3600 GB/s"], "1.2/3.6 TB/s"),
        (["400 Gb/s"], "50 GB/s"),
        (["fast"], "fast"),
    ],
)
def test_bandwidths_share_a_unit(bandwidths: list[str], text: str) -> None:
    one = {"topology": "switch", "size": 2, "latency": "1 us"}
    design = {"cluster": {"npu": "x", "dimensions": [{**one, "bandwidth": bandwidth} for bandwidth in bandwidths]}}
    assert describe(design)["bandwidth"] == text


def test_context_and_expert_degrees_are_said_where_there_are_any() -> None:
    design = studies.design()
    design["parallelism"] |= {"context": 2, "expert": 4}
    assert describe(design)["degrees"] == "t8 c2 p16 d8 e4"


def test_what_is_recomputed_and_what_overlaps_is_said() -> None:
    design = studies.design()
    design["parallelism"] |= {"expert_overlap": True, "tensor_overlap": False, "recompute": "selective"}
    design["parallelism"] |= {"recompute_modules": ["mlp", "moe_act"], "recompute_layers": None}
    assert "recompute selective (mlp/moe_act), expert exchanges beside computation, HD" in headline(design)
    design["parallelism"] |= {"recompute": "full", "recompute_modules": None, "recompute_layers": 2}
    assert describe(design)["recompute"] == "full (2 layers of a stage)"
    design["parallelism"]["recompute"] = "none"
    assert describe(design)["recompute"] == "none"


def test_a_single_collective_and_a_fabric_have_names_too() -> None:
    design = {
        "workload": {"collective": "all_reduce", "size": "1 GiB"},
        "cluster": {"npu": {"name": "mine"}, "fabric": "dgx-a100-hdr", "npus": 512},
    }
    assert headline(design) == "all_reduce of 1 GiB, 512 x mine, dgx-a100-hdr"


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ([{"name": "one"}, {"kind": "block", "repeat": 3, "layers": [{"m": 1}, {"m": 2}]}], 7),
        ([{"kind": "block", "repeat": "3", "layers": [7, None]}, "row"], 3),
    ],
)
def test_a_table_of_layers_is_said_by_their_number(rows: list[Any], count: int) -> None:
    assert describe({"workload": {"layers": rows}})["workload"] == f"a table of {count} layers"


def test_what_is_common_is_said_once_and_what_differs_becomes_a_column() -> None:
    compared = compare([studies.design(8, 25), studies.design(4, 100), studies.design(4, 25)])
    assert compared.columns == ("bandwidth", "degrees")
    assert compared.rows == (
        ("300/25 GB/s", "t8 p16 d8"),
        ("300/100 GB/s", "t4 p16 d16"),
        ("300/25 GB/s", "t4 p16 d16"),
    )
    assert compared.phrases[0] == ("300/25 GB/s", "t8 p16 d8")
    assert "GB/s" not in compared.common
    assert "SW(8)_SW(128)" in compared.common


def test_a_single_design_differs_from_nothing() -> None:
    compared = compare([studies.design()])
    assert (compared.columns, compared.rows, compared.phrases) == ((), ((),), ((),))


def test_a_key_nobody_knows_is_a_column_as_soon_as_it_differs() -> None:
    first, second = studies.design(), studies.design()
    second["system"] = {**second["system"], "novelty": {"depth": 3}}
    compared = compare([first, second])
    assert compared.columns == ("system.novelty.depth",)
    assert compared.rows == (("–",), ("3",))
    assert compare([second, second]).columns == ()


def test_parts_of_an_npu_that_is_spelled_out_go_without_saying_where_its_name_tells_it_apart() -> None:
    plain, other = studies.design(), studies.design()
    other["cluster"]["npu"] = {"name": "h100-160gb", "price": "35000 $", "peak": {"fp32": "67 TFLOP/s"}}
    assert compare([plain, other]).columns == ("NPUs",)
    third = studies.design()
    third["cluster"]["npu"] = {**other["cluster"]["npu"], "price": "40000 $"}
    assert compare([other, third]).columns == ("cluster.npu.price",)


def test_extras_of_a_dimension_are_said_unless_they_are_defaults() -> None:
    first, second = studies.design(), studies.design()
    second["cluster"]["dimensions"][1]["oversubscription"] = 2.0
    assert compare([first, second]).rows == (("1/1",), ("1/2",))
    assert "uplinks 2:1" in compare([second]).common
    second["cluster"]["dimensions"][1]["oversubscription"] = [2.0, 4.0]
    assert "uplinks 2:1 then 4:1" in compare([second]).common


def test_nics_are_counted_and_what_each_bandwidth_has_of_its_own_is_not_said() -> None:
    first, second = studies.design(outer=25), studies.design(outer=50)
    for design, nics, share in ((first, 4, 0.5), (second, 1, 0.7)):
        design["cluster"]["dimensions"][1] |= {"nics": nics, "efficiency": share}
    found = compare([first, second])
    assert [phrases[-1] for phrases in found.phrases] == ["4 NICs", "1 NIC"]
    assert "efficiency" not in found.columns
    third = studies.design(outer=50)
    third["cluster"]["dimensions"][1] |= {"nics": 1, "efficiency": 0.6}
    assert "efficiency" in compare([first, second, third]).columns
    assert "oversubscription" not in compare([first]).common


def test_designs_that_are_unknown_are_no_reason_to_fail() -> None:
    assert compare([None, studies.design()]).rows[0][0] == "–"
    assert headline(None) == "design unknown"
    assert compare([]).common == ""


@pytest.mark.parametrize(
    ("section", "wrong"),
    [("cluster", None), ("cluster", {"dimensions": "x"}), ("parallelism", [1]), ("system", "x"), ("workload", 3)],
)
def test_a_section_of_another_shape_is_passed_over_and_the_rest_said(section: str, wrong: Any) -> None:
    whole = studies.design()
    rest = {key: value for key, value in whole.items() if key != section}
    assert headline({**whole, section: wrong}) == headline(rest)
    assert 0 < len(headline(rest)) < len(headline(whole))
    assert headline({section: wrong}) == headline({})


def test_every_aspect_has_a_name_of_its_own() -> None:
    names = [aspect.name for aspect in ASPECTS]
    assert len(set(names)) == len(names)


def test_the_breakdown_sums_to_the_iteration() -> None:
    outcome = studies.outcome(5.0, 2e7)
    assert sum(breakdown(outcome).values()) == pytest.approx(5.0)


def test_a_reason_names_what_bounds_memory_and_money() -> None:
    assert describe_reason(studies.outcome(5.0, 2e7).document()) == (
        "Bound by compute (60 %), then tensor communication (15 %) and bubble (12 %); memory 76 % full; "
        "network 30 % of cost."
    )
    assert describe_bound(studies.outcome(5.0, 2e7).document()) == "compute 60 %, tensor communication 15 %"


def test_a_reason_leaves_out_what_does_not_apply() -> None:
    text = describe_reason(studies.collective_outcome(1e-3, 1e6).document())
    assert text == "Bound by data communication (100 %); network 100 % of cost."
    assert describe_reason(None) == ""


def test_a_reason_says_by_how_much_memory_overflows() -> None:
    assert "memory 25 % over its capacity" in describe_reason(studies.outcome(5.0, 2e7, peak=100 * 2**30).document())


@pytest.mark.parametrize(
    ("tensor", "changes", "said"),
    [
        (8, {}, "tensor 8 x"),
        (16, {}, "tensor 16 (over 2 nodes) x"),
        (12, {}, "tensor 12 (over 2 nodes) x"),
        (16, {"placement": ["pipeline", "tensor", "context", "data"]}, "tensor 16 x"),
    ],
)
def test_a_tensor_group_of_several_nodes_is_said(tensor: int, changes: dict[str, Any], said: str) -> None:
    design = studies.design()
    design["cluster"] |= changes
    design["parallelism"]["tensor"] = tensor
    trial = replace(studies.simulated(0, 1.0, 2e7), design=design)
    assert f"with {said} pipeline 16" in describe_build(trial)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("26179.869184 $", "26,180 $"),
        ("85.018877624 GB", "85.02 GB"),
        ("3350 GB/s", "3350 GB/s"),
        ("1.23 us", "1.23 us"),
    ],
)
def test_a_calculated_quantity_has_few_digits(value: str, said: str) -> None:
    assert shorten_value(value) == said
