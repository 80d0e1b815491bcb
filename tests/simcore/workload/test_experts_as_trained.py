"""Experts as stacks train them: dispatch, folding, modules recomputed, overlap, further tokens, every n-th layer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from designs import dimension, model, training
from test_experts import MOE, flops, issued, one

from simcore.bounds.design import bound
from simcore.catalog.preset import preset
from simcore.check.load import design_from, load_design
from simcore.collective.routed import Routing
from simcore.design.design import Design
from simcore.document.problem import InputError, InputWarning
from simcore.engine.fast.iteration import time_program
from simcore.memory.footprint import footprint, stage_memory
from simcore.memory.plan import memory_of
from simcore.program import Compute, Start, Waits
from simcore.schedule import SCHEDULES
from simcore.schedule.base import ALONE, WEIGHTS
from simcore.simulate import simulate
from simcore.system.placement import place
from simcore.traces.export import export
from simcore.workload.transformer.activations import RECOMPUTED, layer_kept
from simcore.workload.transformer.counts import forward_flops
from simcore.workload.transformer.layer import LayerKind, layer_passes
from simcore.workload.transformer.model import Transformer
from simcore.workload.transformer.program import shapes_of, transformer_program
from simcore.workload.transformer.stages import stage_runs

LATENT = {"q_lora_rank": 96, "kv_lora_rank": 64, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32}


def experts(**more: Any) -> dict[str, Any]:
    return model(bias=False, gated=True, position="rotary", mixture_of_experts={**MOE, **more})


def refused(design: dict[str, Any]) -> str:
    with pytest.raises(InputError) as found:
        design_from(design)
    return str(found.value)


# Dispatch


def test_by_node_a_token_is_one_row_of_a_collective_that_copies_it_on_its_way() -> None:
    design = one({"data": 8, "expert": 8, "dispatch": "node"}, npus=8, model=experts())
    (part,) = transformer_program(design).parts
    routing = Routing(16, 2)
    for segments in (part.forward, part.backward):
        for way in ("dispatch", "combine"):
            assert issued(segments, routing.kind(way), "expert") == 8 * 128 * 512 * 2  # type: ignore[arg-type]
        assert issued(segments, "all_to_all", "expert") == 0


def test_by_node_takes_less_time_where_several_experts_of_a_token_share_a_node() -> None:
    nodes = [dimension(size=4, bandwidth="400 GB/s"), dimension(size=4, bandwidth="20 GB/s")]

    def seconds(dispatch: str, top_k: int) -> float:
        shape = experts(top_k=top_k)
        parallelism = {"data": 16, "expert": 16, "dispatch": dispatch}
        return simulate(
            design_from(training(parallelism, nodes, workload={"model": shape, "global_batch": 16}))
        ).iteration_time_s

    assert seconds("node", 8) < 0.8 * seconds("rank", 8)
    assert seconds("node", 1) == pytest.approx(seconds("rank", 1), rel=0.1)


@pytest.mark.parametrize("overlap", [False, True])
def test_both_engines_play_the_kernels_that_move_tokens(overlap: bool) -> None:
    parallelism = {
        "tensor": 2, "data": 4, "expert": 8, "expert_tensor": 1, "sequence_parallel": True, "dispatch": "node",
        "expert_overlap": overlap,
    }  # fmt: skip
    dimensions = [dimension(size=4, bandwidth="400 GB/s"), dimension(size=2, bandwidth="40 GB/s")]
    document = training(parallelism, dimensions, workload={"model": experts(top_k=4), "global_batch": 16})
    document["cluster"]["npu"] = "h100-80gb"
    document["system"] = {"chunks": 4}
    design = design_from(document)
    starts = [op for s in transformer_program(design).parts[0].forward for op in s.operators if isinstance(op, Start)]
    assert Routing(16, 4).kind("dispatch", 1024) in {op.kind for op in starts}
    fast, slow = (simulate(design, engine=engine) for engine in ("fast", "reference"))
    assert fast.iteration_time_s == slow.iteration_time_s
    assert fast.exposed_communication_s == slow.exposed_communication_s


def test_traces_have_no_collective_that_sends_one_copy_to_a_node(tmp_path: Path) -> None:
    design = one({"data": 8, "expert": 8, "dispatch": "node"}, npus=8, model=experts())
    with pytest.raises(InputError, match=r"parallelism\.dispatch: expected rank"):
        export(design, tmp_path)


# Folding


def folded(expert_tensor: int, expert: int, zero: int = 0, **more: Any) -> Design:
    parallelism = {
        "tensor": 4, "data": 4, "expert": expert, "expert_tensor": expert_tensor, "sequence_parallel": True,
        "zero": zero, "bucket": "1 B", **more,
    }  # fmt: skip
    dimensions = [dimension(size=4), dimension(size=4)]
    return design_from(training(parallelism, dimensions, workload={"model": experts(), "global_batch": 16}))


def test_experts_that_are_not_cut_take_npus_of_the_tensor_group() -> None:
    design = folded(1, 16)
    (part,) = transformer_program(design).parts
    assert part.expert_parameters == 8 * 1 * 3 * 512 * 256  # one whole expert a layer
    assert design.expert_copies == 1
    assert issued(part.last_backward, "all_reduce", "expert_data") == 0
    assert issued(part.forward, "all_reduce", "expert_tensor") == 0
    placed = place(design)[0]
    assert [where.part.members for where in placed["expert"]] == [4, 4]
    rows = 128 / 4 * 2 * 512 * 2
    assert issued(part.forward, "all_to_all", "expert") == 8 * 2 * rows


def test_experts_cut_over_half_of_the_tensor_group_are_gathered_and_reduced_over_their_own_groups() -> None:
    design = folded(2, 4, zero=1)
    program = transformer_program(design)
    (part,) = program.parts
    assert design.expert_copies == 4 * 4 // 8
    assert part.expert_parameters == 8 * 16 / 4 * 3 * 512 * 256 / 2
    assert issued(part.last_backward, "reduce_scatter", "expert_data") == pytest.approx(2 * part.expert_parameters)
    arrived = 128 / 4 * 2 * 512 * 2  # of one NPU
    assert issued(part.forward, "all_gather", "expert_tensor") == 8 * arrived
    assert issued(part.forward, "reduce_scatter", "expert_tensor") == 8 * 2 * arrived
    placed = place(design)[0]
    assert [(w.dimension, w.part.members, w.part.stride) for w in placed["expert_tensor"]] == [(0, 2, 1)]
    assert [(w.dimension, w.part.members, w.part.stride) for w in placed["expert"]] == [(0, 2, 2), (1, 2, 1)]
    assert [(w.dimension, w.part.members, w.part.stride) for w in placed["expert_data"]] == [(1, 2, 2)]
    held = footprint(design, program)
    own = part.parameters - part.expert_parameters
    assert held.optimizer == pytest.approx(12 * (own / 4 + part.expert_parameters / 2))


def test_a_tensor_degree_of_experts_that_is_the_tensor_degree_says_nothing() -> None:
    plain = folded(4, 4).document()
    assert "expert_tensor" not in plain["parallelism"]
    again = folded(2, 4).document()
    assert again["parallelism"]["expert_tensor"] == 2
    assert load_design(again).document() == again


@pytest.mark.parametrize("expert_tensor", [1, 2, 4])
def test_all_flops_are_those_of_the_model_however_experts_are_cut(expert_tensor: int) -> None:
    design = folded(expert_tensor, 4)
    (part,) = transformer_program(design).parts
    found = design.microbatches * design.cluster.npus * flops(part.forward)
    assert found == pytest.approx(forward_flops(design.workload, flash=True))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parallelism", "message"),
    [
        ({"expert_tensor": 3}, "parallelism.expert_tensor"),
        ({"expert_tensor": 1, "sequence_parallel": False}, "use sequence_parallel: true"),
        ({"expert_tensor": 2, "expert": 16}, "tensor x context x data / expert_tensor (4 x 1 x 4 / 2)"),
        ({"expert": 8}, "data x context (4 x 1)"),
        ({"recompute": "selective", "recompute_modules": ["mla_up_proj"]}, "no latent_attention"),
        ({"recompute": "selective", "recompute_modules": ["shared_experts"]}, "no shared experts"),
        ({"expert": 1, "expert_overlap": True}, "without expert parallelism"),
        ({"schedule": "gpipe", "expert_overlap": True}, "with schedule gpipe"),
        ({"schedule": "zero_bubble", "expert_overlap": True}, "use schedule 1f1b or dualpipe-v"),
        ({"recompute": "full", "expert_overlap": True}, "with recompute full"),
        ({"pipeline": 2, "data": 2, "expert": 2, "expert_overlap": True}, "under a pipeline without interleave"),
    ],
)
def test_what_is_wrong_is_said(parallelism: dict[str, Any], message: str) -> None:
    given = {"tensor": 4, "data": 4, "expert": 4, "sequence_parallel": True, **parallelism}
    dimensions = [dimension(size=4), dimension(size=4)]
    assert message in refused(training(given, dimensions, workload={"model": experts(), "global_batch": 16}))


def test_groups_of_experts_hold_what_a_token_takes() -> None:
    shape = experts(groups=8, top_groups=1, top_k=3)
    assert "groups that have the 3 experts of a token, got 1" in refused(
        training({}, [dimension(size=1)], workload={"model": shape})
    )


# Modules that are recomputed


def recomputed(*modules: str, **more: Any) -> Design:
    shape = experts(shared_feed_forward=128) | {"latent_attention": LATENT}
    chosen = {"recompute": "selective", "recompute_modules": list(modules)} if modules else {}
    return one({"data": 8, "expert": 8, **chosen, **more}, npus=8, model=shape)


@pytest.mark.parametrize("module", sorted(set(RECOMPUTED) - {"mlp"}))
def test_what_is_recomputed_is_computed_again_and_not_kept(module: str) -> None:
    plain, again = recomputed(), recomputed(module)
    kept, less = (layer_kept(shapes_of(d), LayerKind(True, d.parallelism.recompute)) for d in (plain, again))
    assert sum(less.values()) < sum(kept.values())
    assert set(kept) - set(less) <= set(RECOMPUTED[module])
    ops = [layer_passes(shapes_of(d), LayerKind(True, d.parallelism.recompute))[1] for d in (plain, again)]
    extra = ops[1][: len(ops[1]) - len(ops[0])]
    assert extra
    assert ops[1][len(extra) :] == ops[0]
    named = {op.name for op in extra if isinstance(op, Compute)}
    expected = {
        "core_attn": "flash-attention", "mla_up_proj": "kv-up", "layernorm": "norm", "moe": "expert-in",
        "moe_act": "activation", "shared_experts": "shared-expert-in",
    }  # fmt: skip
    assert expected[module] in named
    assert sum(isinstance(op, Start) for op in extra) == (2 if module == "moe" else 0)


def test_modules_add_up_and_their_order_says_nothing() -> None:
    both, other = recomputed("moe_act", "layernorm"), recomputed("layernorm", "moe_act", "layernorm")
    assert both.key == other.key
    assert recomputed("core_attn").key == recomputed("core_attn").with_({"parallelism.recompute": "selective"}).key
    assert "recompute_modules" not in recomputed("core_attn").document()["parallelism"]
    memory = [memory_of(d, transformer_program(d)).activations for d in (recomputed(), recomputed("moe_act"), both)]
    assert memory == sorted(memory, reverse=True)
    assert len(set(memory)) == 3


@pytest.mark.parametrize("way", ["none", "full"])
def test_modules_say_nothing_where_none_is_recomputed(way: str) -> None:
    plain = design_from(training({"data": 4, "recompute": way}, [dimension(size=4)], workload={"model": experts()}))
    parallelism = {"data": 4, "recompute": way, "recompute_modules": ["moe", "layernorm"]}
    with pytest.warns(InputWarning, match=f"recompute_modules: says nothing beside recompute: {way}"):
        named = design_from(training(parallelism, [dimension(size=4)], workload={"model": experts()}))
    assert named.key == plain.key
    assert simulate(named) == simulate(plain)


# Overlap of the all-to-alls


def in_pairs(schedule: str, overlap: bool, bandwidth: str = "1000 GB/s", microbatches: int = 16) -> Design:
    parallelism = {
        "data": 4, "expert": 4, "pipeline": 2, "interleave": 2, "schedule": schedule, "expert_overlap": overlap,
    }  # fmt: skip
    dimensions = [dimension(size=4, bandwidth=bandwidth), dimension(size=2)]
    workload = {"model": experts(), "global_batch": 4 * microbatches}
    return design_from(training(parallelism, dimensions, workload=workload))


PAIRING = [name for name, schedule in SCHEDULES.items() if schedule.pairs is not None]


@pytest.mark.parametrize("bandwidth", ["1000 GB/s", "20 GB/s"])
@pytest.mark.parametrize("schedule", PAIRING)
def test_all_to_alls_are_exposed_where_a_pipeline_fills_and_drains(schedule: str, bandwidth: str) -> None:
    apart, beside = (simulate(in_pairs(schedule, on, bandwidth)) for on in (False, True))
    exposed = [result.exposed_communication_s.expert for result in (apart, beside)]
    assert beside.iteration_time_s < apart.iteration_time_s
    order = SCHEDULES[schedule].order(2, 16, 2)
    passes = order[order >> 1 & WEIGHTS == 0].reshape(2, -1)
    alone = (passes >> 1 & ALONE > 0).mean(axis=1)
    if bandwidth == "1000 GB/s":  # all that is in pairs is hidden; under 1f1b not the first and last of each chunk
        assert alone.min() - 0.01 <= exposed[1] / exposed[0] <= alone.max() + 0.04
    assert exposed[1] >= alone.min() * exposed[0]


@pytest.mark.parametrize("schedule", PAIRING)
def test_a_pair_keeps_a_chunk_more_unless_the_schedule_counts_it(schedule: str) -> None:
    apart, beside = (in_pairs(schedule, on) for on in (False, True))
    program = transformer_program(beside)
    kept, less = (stage_memory(design, transformer_program(design), 0).activations for design in (beside, apart))
    chunk = max(program.parts[part].activations for part in program.part_of[::2])  # of stage 0
    assert kept - less == pytest.approx((SCHEDULES[schedule].pairs or 0) * chunk)


@pytest.mark.parametrize("bandwidth", ["1000 GB/s", "20 GB/s"])
@pytest.mark.parametrize("engine", ["reference", "flow"])
@pytest.mark.parametrize("schedule", PAIRING)
def test_all_engines_play_pairs(schedule: str, bandwidth: str, engine: str) -> None:
    design = in_pairs(schedule, True, bandwidth)
    fast, other = (simulate(design, engine=name) for name in ("fast", engine))
    assert fast.iteration_time_s == pytest.approx(other.iteration_time_s, rel=1e-12 if engine == "reference" else 0.01)
    assert bound(design)["iteration_time"] <= fast.iteration_time_s


@pytest.mark.parametrize("schedule", PAIRING)
def test_pairs_are_skipped_in_the_steady_phase_as_they_are_played(schedule: str) -> None:
    design = in_pairs(schedule, True, "20 GB/s", microbatches=60)
    program, placement = transformer_program(design), place(design)[0]
    skipped, played = (time_program(design, program, placement, trace)[0] for trace in (False, True))
    assert skipped == played


def overlapped(overlap: bool, microbatches: int = 8, bandwidth: str = "100 GB/s", **more: Any) -> Design:
    parallelism = {"data": 8, "expert": 8, "expert_overlap": overlap, **more}
    workload = {"model": experts(), "global_batch": 8 * microbatches}
    return design_from(training(parallelism, [dimension(size=8, bandwidth=bandwidth)], workload=workload))


def test_beside_another_microbatch_an_all_to_all_costs_what_it_exceeds_half_a_layer_by() -> None:
    for bandwidth in ("1000 GB/s", "1 GB/s"):
        apart, beside = (simulate(overlapped(on, bandwidth=bandwidth)) for on in (False, True))
        exposed = [result.exposed_communication_s.expert for result in (apart, beside)]
        assert beside.iteration_time_s < apart.iteration_time_s
        hidden = exposed[0] - exposed[1]
        assert apart.iteration_time_s - beside.iteration_time_s == pytest.approx(hidden, rel=0.05)
        if bandwidth == "1000 GB/s":  # all of it, of all but the first forward and the last backward pass
            assert exposed[1] == pytest.approx(exposed[0] / 8, rel=0.15)


def test_the_first_forward_and_the_last_backward_pass_run_beside_nothing() -> None:
    assert simulate(overlapped(True, 1)).iteration_time_s == simulate(overlapped(False, 1)).iteration_time_s
    (part,) = transformer_program(overlapped(True)).parts
    (plain,) = transformer_program(overlapped(False)).parts
    assert (part.first_forward, part.last_backward) == (plain.forward, plain.last_backward)
    starts = [op for segment in part.forward for op in segment.operators if isinstance(op, Start)]
    assert {op.waits for op in starts} == {Waits.EXCHANGE}
    for which in ("forward", "backward"):
        mine, theirs = (
            [op for segment in getattr(it, which) for op in segment.operators if isinstance(op, Compute)]
            for it in (part, plain)
        )
        assert mine == theirs


def test_one_microbatch_more_is_kept() -> None:
    designs = [overlapped(on) for on in (False, True)]
    apart, beside = (memory_of(design, transformer_program(design)) for design in designs)
    assert beside.activations == 2 * apart.activations


# Further tokens


def test_a_further_token_takes_a_projection_a_layer_and_a_head() -> None:
    shape = experts()
    plain, more = (one({}, model={**shape, "multi_token_prediction": n}, global_batch=1) for n in (0, 2))
    (before,), (after,) = (transformer_program(design).parts for design in (plain, more))
    for design, part in ((plain, before), (more, after)):
        assert flops(part.forward) == pytest.approx(forward_flops(design.workload, flash=True))  # type: ignore[arg-type]
    layer = before.expert_parameters / 8
    assert after.expert_parameters - before.expert_parameters == 2 * layer
    assert after.activations > before.activations
    assert simulate(more).iteration_time_s > simulate(plain).iteration_time_s


def test_deepseek_v3_predicts_a_further_token_with_11_and_a_half_billion_parameters() -> None:
    parts = [
        transformer_program(one({}, model={"base": "deepseek-v3", "multi_token_prediction": n}, global_batch=1)).parts[
            0
        ]
        for n in (0, 1)
    ]
    # published weights: 685 billion, 671 of the model and 14 of the module with its copies of embedding and output
    assert (parts[1].parameters - parts[0].parameters) / 1e9 == pytest.approx(11.6, abs=0.1)


def test_the_last_stage_has_the_further_layers_and_a_copy_of_the_embedding() -> None:
    shape = {**experts(), "multi_token_prediction": 1}
    design = one({"pipeline": 2}, npus=2, model=shape, global_batch=4)
    program = transformer_program(design)
    plain = transformer_program(one({"pipeline": 2}, npus=2, model=experts(), global_batch=4))
    assert program.parts[0] == plain.parts[0]
    assert program.parts[1].parameters > plain.parts[1].parameters + plain.parts[1].expert_parameters / 4 + 1024 * 512


# Every n-th layer


def test_every_second_layer_has_experts() -> None:
    design = one({"pipeline": 2}, npus=2, model=experts(every=2, dense_layers=1), global_batch=4)
    shape = design.workload.model  # type: ignore[attr-defined]
    runs = stage_runs(shape, design.parallelism, design.workload.sequence)
    layers = [kind.experts for run in runs for kind, count in run for _ in range(count)]
    assert layers == [False, False, True, False, True, False, True, False]
    assert shape.expert_layers == sum(layers)
    assert sum(part.expert_parameters for part in transformer_program(design).parts) == 3 * 16 * 3 * 512 * 256


def test_the_routers_of_deepseek_keep_to_groups() -> None:
    for name, groups in (("deepseek-v2", (8, 3)), ("deepseek-v3", (8, 4))):
        moe = preset(Transformer, "models", name).mixture_of_experts
        assert moe is not None
        assert (moe.groups, moe.top_groups) == groups
