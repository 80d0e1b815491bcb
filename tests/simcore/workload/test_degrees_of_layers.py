"""Ranges of layers with tensor and expert degrees of their own: resharding, groups, memory, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from drawn_degrees import drawn

from simcore.bounds.design import bound
from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.engine.anatomy import CollectiveUse, collectives_of
from simcore.engine.reference.cluster import NpuGroups
from simcore.memory.plan import program_of
from simcore.program import Start
from simcore.simulate import simulate
from simcore.system.placement import place
from simcore.workload.transformer.program import shapes_of
from simcore.workload.transformer.ways import resharded, ways_of

Document = dict[str, Any]

HIDDEN, SEQUENCE, VOCABULARY, LAYERS = 512, 128, 1024, 4
LAYER = 12 * HIDDEN**2 + 13 * HIDDEN
ENDS = 2 * VOCABULARY * HIDDEN + 2 * HIDDEN
DOCUMENT: Document = {
    "workload": {
        "model": {
            "hidden": HIDDEN, "layers": LAYERS, "heads": 8, "vocabulary": VOCABULARY, "sequence_length": SEQUENCE,
            "position": "rotary",
        },
        "global_batch": 32,
        "precision": "bf16",
        "gradient_precision": "fp32",
    },
    "parallelism": {"tensor": 2, "zero": 1, "microbatch": 2},
    "cluster": {
        "npu": "a100-80gb",
        "dimensions": [{"topology": "switch", "size": 8, "bandwidth": "300 GB/s", "latency": "1 us", "tier": "node"}],
    },
}  # fmt: skip
HALVES = [{"layers": "0-1"}, {"layers": "2-3", "tensor": 4}]
EXPERTS = {"experts": 8, "top_k": 2, "feed_forward": 256, "dense_layers": 1}


def read(document: Document) -> Design:
    design, problems = parse_design(document)
    assert not problems
    assert design is not None
    return design


def design(layers: list[Document] | None = HALVES, model: Document | None = None, **parallelism: Any) -> Design:
    document = copy.deepcopy(DOCUMENT)
    document["parallelism"] |= {**parallelism, **({} if layers is None else {"layers": layers})}
    document["workload"]["model"] |= model or {}
    return read(document)


def uses(found: Design) -> dict[tuple[str, str], CollectiveUse]:
    return {(use.kind, use.group): use for use in collectives_of(found)}


@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_ranges_with_the_degrees_of_the_section_are_the_plain_design(sequence_parallel: bool) -> None:
    plain = design(None, sequence_parallel=sequence_parallel)
    same = design([{"layers": "0-1", "tensor": 2}, {"layers": "2-3", "expert": 1}], sequence_parallel=sequence_parallel)
    assert simulate(same) == simulate(plain)
    assert same.key == design([{"layers": "0-1"}, {"layers": "2-3"}], sequence_parallel=sequence_parallel).key


def test_all_layers_with_another_degree_are_as_fast_as_a_design_of_that_degree_but_for_its_ends() -> None:
    own = program_of(design([{"layers": "0-3", "tensor": 4}])).parts[0]
    plain = program_of(design(None, tensor=4, microbatch=4)).parts[0]
    mine, theirs = ([s for s in part.forward if s.name == "layer"] for part in (own, plain))
    assert [s.repeat for s in mine] == [s.repeat for s in theirs] == [LAYERS]
    names = {"tensor": "tensor t4"}
    renamed = [op._replace(group=names[op.group]) if isinstance(op, Start) else op for op in theirs[0].operators]
    assert list(mine[0].operators) == renamed


def tokens_of(npu: int, tensor: int, sequences: int, sequence_parallel: bool, among: int) -> set[tuple[int, int]]:
    """What an NPU of tensor groups of `tensor` holds: (sequence, token), where groups of `among` are beside others."""
    group, member = divmod(npu, tensor)
    if tensor > among:  # members of the smaller groups keep their places: a part of what each has
        member = member % among * (tensor // among) + member // among
    mine = range(SEQUENCE)
    if sequence_parallel:
        share = SEQUENCE // tensor
        mine = range(member * share, (member + 1) * share)
    return {(sequence, token) for sequence in range(group * sequences, (group + 1) * sequences) for token in mine}


@pytest.mark.parametrize(("one", "other"), [(1, 2), (2, 4), (2, 8), (4, 2), (8, 2), (4, 1)])
@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_resharding_moves_the_tokens_that_an_npu_lacks_and_its_group_has(
    one: int, other: int, sequence_parallel: bool
) -> None:
    ranges = [{"layers": "0-1", "tensor": one}, {"layers": "2-3", "tensor": other}]
    found = design(ranges, sequence_parallel=sequence_parallel, tensor=8, microbatch=8)
    assert not check(found)
    ways = ways_of(found, shapes_of(found))
    before, after = ({d.tensor: way for d, way in ways.items() if d} | {8: ways[None]})[one], ways
    there = next((way for d, way in after.items() if d and d.tensor == other), ways[None])
    piece = resharded(before.shapes, there.shapes)
    small, cluster = min(one, other), NpuGroups(found, place(found)[0])
    token = HIDDEN * 2
    for operators, (start, end) in ((piece.forward, (one, other)), (piece.backward, (other, one))):
        held, wanted = (
            [tokens_of(npu, t, t, sequence_parallel, small) for npu in range(8)] for t in (start, end)
        )  # a microbatch is one sequence of each NPU
        lacking = {len(wanted[npu] - held[npu]) * token for npu in range(8)}
        assert len(lacking) == 1
        (collective,) = [op for op in operators if isinstance(op, Start)] or [None]
        if lacking == {0}:
            assert collective is None
            continue
        assert collective is not None
        ratio = max(one, other) // small
        received = collective.size * (ratio - 1) * (1 / ratio if sequence_parallel else 1)
        assert {received} == lacking
        for npu in range(8):
            members = cluster.peers(npu, place(found)[0][collective.group][0])
            assert len(members) == ratio
            assert wanted[npu] <= set().union(*(held[member] for member in members))


@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_resharding_happens_once_a_microbatch_at_each_change_and_after_the_last_layer(sequence_parallel: bool) -> None:
    found = design(sequence_parallel=sequence_parallel)
    whole = SEQUENCE * 2 * HIDDEN * 2
    if sequence_parallel:  # to tensor 4 and back for the head, forward and backward
        use = uses(found)["all_to_all", "reshard 2-4"]
        assert (use.count, use.bytes) == (4 * found.microbatches, 4 * found.microbatches * whole / 2)
    else:
        use = uses(found)["all_gather", "reshard 2-4"]
        assert (use.count, use.bytes) == (2 * found.microbatches, 2 * found.microbatches * whole)
    assert use.category.name == "TENSOR"


def test_gradients_of_a_range_are_reduced_over_its_own_copies() -> None:
    found = uses(design(zero=0))
    own = 2 * LAYER
    assert found["all_reduce", "data t4"].bytes == pytest.approx(4 * own / 4)
    assert found["all_reduce", "data"].bytes == pytest.approx(4 * (own + ENDS) / 2)
    groups = place(design(zero=0))[0]
    assert [(its.part.members, its.part.stride) for its in groups["data t4"]] == [(2, 4)]
    assert [(its.part.members, its.part.stride) for its in groups["data"]] == [(4, 2)]


def test_states_are_cut_and_sharded_as_each_range_is() -> None:
    memory = simulate(design()).memory_bytes
    assert memory is not None
    first, second = (2 * LAYER + ENDS) / 2, 2 * LAYER / 4
    assert memory.weights == pytest.approx(2 * (first + second))
    assert memory.gradients == pytest.approx(4 * (first + second))
    assert memory.optimizer == pytest.approx(12 * (first / 4 + second / 2))


@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_a_range_keeps_the_inputs_of_its_own_share_of_the_microbatch(sequence_parallel: bool) -> None:
    ranges = [{**its, "recompute": "full"} for its in HALVES]
    plain = [{"layers": "0-3", "recompute": "full"}]
    found, base = (simulate(design(its, sequence_parallel=sequence_parallel)).memory_bytes for its in (ranges, plain))
    assert found is not None
    assert base is not None
    more = 0 if sequence_parallel else 2 * SEQUENCE * 2 * HIDDEN * 2  # twice the sequences, whole, of two layers
    assert found.activations - base.activations == more


def test_experts_of_a_range_are_spread_as_it_says() -> None:
    ranges = [{"layers": "0", "tensor": 4, "expert": 1}, {"layers": "1-3"}]
    found = design(ranges, {"mixture_of_experts": EXPERTS}, expert=4, dispatch="rank")
    assert not check(found)
    groups = {group for kind, group in uses(found) if kind == "all_to_all"}
    assert groups == {"expert"}
    apart = design([{"layers": "0-1"}, {"layers": "2-3", "expert": 2}], {"mixture_of_experts": EXPERTS}, expert=4)
    assert {group for _, group in uses(apart) if group.startswith("expert ")} == {"expert t2e2"}
    assert {group for _, group in uses(apart) if group.startswith("expert_data")} == {"expert_data t2e2"}
    assert not any(group.startswith("reshard") for _, group in uses(apart))


def test_memory_grows_where_a_range_has_a_smaller_degree() -> None:
    larger, smaller = (
        simulate(design([{"layers": "0-1"}, {"layers": "2-3", "tensor": t}], tensor=4, microbatch=4)).memory_bytes
        for t in (4, 1)
    )
    assert larger is not None
    assert smaller is not None
    assert smaller.weights > larger.weights
    assert smaller.reserved > larger.reserved


@pytest.mark.parametrize("number", range(8))
def test_both_engines_agree_and_no_bound_is_passed(number: int) -> None:
    for found in drawn(25, seed=100 + number):
        seconds = simulate(found, "fast").iteration_time_s
        assert seconds == simulate(found, "reference").iteration_time_s
        least = bound(found)["iteration_time"]
        assert least is not None
        assert least <= seconds * (1 + 1e-9)


def test_drawn_designs_reshard_cut_experts_and_have_pipelines() -> None:
    listed = list(drawn(60, seed=5))
    groups = [{op.group for part in program_of(one).parts for s in part.forward for op in s.operators
               if isinstance(op, Start)} for one in listed]  # fmt: skip
    assert sum(any(group.startswith("reshard") for group in its) for its in groups) > 20
    assert sum(any(group.startswith("expert t") for group in its) for its in groups) > 3
    assert sum(one.parallelism.pipeline > 1 for one in listed) > 10
    assert sum(one.parallelism.zero == 3 for one in listed) > 3


def refused(found: Design) -> list[str]:
    return [str(problem) for problem in check(found)]


@pytest.mark.parametrize(
    ("parallelism", "tensor", "told"),
    [
        ({"tensor": 2}, 3, "parallelism.layers[1].tensor: expected tensor degrees that divide one another"),
        ({"tensor": 2}, 16, "parallelism.layers[1].tensor: expected a degree that divides tensor x data (2 x 4)"),
        (
            {"tensor": 4, "microbatch": 1},
            2,
            "parallelism.layers[1].tensor: expected at least 4, whose groups have whole",
        ),
        ({"context": 2}, 4, "parallelism.context: expected 1: nothing beside layers with tensor or expert degrees"),
        ({"shard_group": 2}, 4, "parallelism.shard_group: expected nothing beside layers"),
        ({"stages": {"solve": True}, "pipeline": 2}, 4, "parallelism.stages: expected numbers beside layers"),
    ],
)
def test_degrees_that_cannot_be_are_told_at_their_place(parallelism: Document, tensor: int, told: str) -> None:
    found = refused(design([{"layers": "0-1"}, {"layers": "2-3", "tensor": tensor}], **parallelism))
    assert any(text.startswith(told) for text in found), found


def test_split_queries_and_weights_that_stream_in_are_refused_beside_ranges() -> None:
    ranges: list[Document] = [{"layers": "0-1"}, {"layers": "2-3", "tensor": 4}]
    (split,) = refused(design(ranges, {"heads": 2, "head_dim": 64}, tensor=2, attention_split="queries"))
    assert split.startswith("parallelism.attention_split: expected heads: nothing beside layers")
    document = design(ranges, zero=3).document()
    document["cluster"]["memory"] = {
        "expanded": {"capacity": "1 TB", "bandwidth": "100 GB/s", "place": ["weights", "optimizer"]}
    }
    assert any("place: expected no weights: nothing beside layers" in text for text in refused(read(document)))


def test_a_range_keeps_the_rules_of_the_section() -> None:
    found = refused(design([{"layers": "0-1"}, {"layers": "2-3", "tensor": 4}], {"heads": 2, "head_dim": 64}))
    assert any(
        "parallelism.layers[1].tensor: expected a degree that divides the attention heads (2)" in t for t in found
    )
    dense = refused(design([{"layers": "0-1"}, {"layers": "2-3", "expert": 2}]))
    assert any(text.startswith("parallelism.layers[1].expert: expected 1 for a model without") for text in dense)


def test_data_inside_of_tensor_is_refused() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["cluster"]["placement"] = ["data", "tensor", "context", "pipeline"]
    document["parallelism"]["layers"] = HALVES
    assert any("cluster.placement: expected tensor further in than data" in text for text in refused(read(document)))


@pytest.mark.parametrize("key", ["context", "expert_tensor", "sequence_parallel", "data"])
def test_what_layers_share_is_refused_in_a_range(key: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    document["parallelism"]["layers"] = [{"layers": "0-3", key: 2}]
    _, problems = parse_design(document)
    assert [problem.path for problem in problems] == [("parallelism", "layers", 0, key)]
