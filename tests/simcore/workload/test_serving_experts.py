"""Serving mixtures of experts and latent attention: cache, weights read and FLOPs of a step, in closed form."""

from __future__ import annotations

import random
from typing import Any

import pytest
from designs import dimension, npu, software

from simcore.bounds.design import bound
from simcore.bounds.estimate import estimate
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.memory.expanded import memory_of
from simcore.memory.plan import memory_needed, program_of, sample_of
from simcore.program import Compute, ModelPart, Program, Start
from simcore.simulate import simulate
from simcore.workload.serving.decode import BUSIEST, touched_experts
from simcore.workload.serving.program import served_flops

PLAIN = {"hidden": 512, "layers": 4, "heads": 8, "vocabulary": 1024, "sequence_length": 4096}
GATED = {**PLAIN, "gated": True, "bias": False, "position": "rotary"}
LATENT = {"q_lora_rank": 192, "kv_lora_rank": 128, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 64}
EXPERTS = {"experts": 16, "top_k": 2, "feed_forward": 256, "shared_feed_forward": 256, "dense_layers": 1}
MODELS = {
    "plain": PLAIN,
    "grouped": {**GATED, "kv_heads": 2},
    "wide heads": {**GATED, "head_dim": 96},
    "latent": {**GATED, "latent_attention": LATENT},
    "latent, whole queries": {**GATED, "latent_attention": {**LATENT, "q_lora_rank": None}},
    "experts": {**GATED, "kv_heads": 2, "mixture_of_experts": EXPERTS},
    "both": {**GATED, "latent_attention": LATENT, "mixture_of_experts": EXPERTS},
}


def design(npus: int = 1, model: Any = "both", parallelism: Any = None, cluster: Any = None, **its: Any) -> Design:
    workload = {
        "model": MODELS.get(str(model), model),
        "global_batch": 4,
        "prompt_length": 64,
        "output_length": 5,
        **its,
    }
    rate = "100 TFLOP/s"
    return design_from(
        {
            "workload": workload,
            "parallelism": parallelism or {},
            "cluster": cluster
            or {
                "npu": npu(peak={"bf16": rate, "fp16": rate, "fp8": rate}),
                "dimensions": [dimension(size=npus, latency="0 s")],
            },
            "system": {"chunks": 1},
            "software": software(),
        }
    )


def operators(part: ModelPart) -> list[tuple[Any, int]]:
    return [(op, segment.repeat) for segment in part.forward for op in segment.operators]


def flops(program: Program, tokens: range | None = None) -> float:
    return sum(
        op.flops * repeat
        for k in tokens or range(program.chunks)
        for op, repeat in operators(program.parts[program.part_of[k]])
        if isinstance(op, Compute)
    )


def weights_read(program: Program, token: int) -> float:
    """Bytes of the matrices that are no activations, read in the pass that makes token `token` + 1."""
    read = 0.0
    for op, repeat in operators(program.parts[program.part_of[token]]):
        if isinstance(op, Compute) and op.shape and op.name not in ("scores", "attention"):
            batch, _, n, k = op.shape
            read += 2 * batch * n * k * repeat
    return read


def test_the_last_biases_of_experts_are_part_of_their_kernel() -> None:
    """A trainer adds them one expert after the other."""
    biased = {**MODELS["experts"], "biases": ["experts"]}
    names = [[getattr(op, "name", "") for op, _ in operators(part)] for part in program_of(design(model=biased)).parts]
    assert all("expert-out" in its and "expert-bias" not in its for its in names)


@pytest.mark.parametrize("flash", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_the_flops_of_the_program_are_those_of_the_closed_form(model: str, flash: bool) -> None:
    served = design(model=model, parallelism={"flash_attention": flash})
    program = program_of(served)
    assert flops(program) == pytest.approx(program.model_flops)
    assert served_flops(served.workload, flash) == pytest.approx(program.model_flops)  # type: ignore[arg-type]


def test_the_flops_of_a_decoded_token_of_deepseek_v3_are_those_of_its_shape() -> None:
    program = program_of(design(model="deepseek-v3", global_batch=1, prompt_length=999, output_length=2))
    h, heads, vocabulary, rank, rotary = 7168, 128, 129280, 512, 64
    attention = h * 1536 + 1536 * heads * 192 + h * (rank + rotary) + rank * heads * 256 + heads * 128 * h
    dense, expert = 3 * h * 18432, h * 256 + 3 * h * 2048 * (8 + 1)
    weights = 61 * attention + 3 * dense + 58 * expert + h * vocabulary
    absorbed = 61 * heads * (rank + rotary + rank) * 1000
    assert flops(program, range(1, 2)) == pytest.approx(2 * (weights + absorbed))
    # Published: 37 B parameters activated for a token, one of two embeddings among them.
    assert weights + h * vocabulary == pytest.approx(37.5e9, rel=0.01)


@pytest.mark.parametrize(
    ("model", "a_token"),
    [
        ("deepseek-v2", 69_120),  # 60 layers x (512 + 64) x 2 bytes
        ("deepseek-v3", 70_272),  # 61 layers x (512 + 64) x 2 bytes
        ("deepseek-v2-lite", 27 * 576 * 2),
        ("mixtral-8x7b", 32 * 2 * 8 * 128 * 2),
    ],
)
def test_the_cache_of_a_token_has_the_published_size(model: str, a_token: int) -> None:
    cache = program_of(design(model=model, global_batch=3, prompt_length=90, output_length=10)).cache
    assert cache == (a_token * 300,)


def test_latents_are_whole_on_every_npu_of_a_tensor_group_and_heads_are_not() -> None:
    for model, share in (("both", 1.0), ("experts", 0.5)):
        one, two = (program_of(design(t, model=model, parallelism={"tensor": t})).cache for t in (1, 2))
        assert one is not None
        assert two == (one[0] * share,)
    latents = program_of(design(cache_precision="fp8")).cache
    assert latents == (4 * 4 * 69 * (128 + 32),)


def test_so_many_different_experts_are_touched_on_average() -> None:
    assert touched_experts(256, 8, 1) == pytest.approx(8)
    assert touched_experts(8, 8, 3) == 8
    assert touched_experts(160, 6, 1e5) == pytest.approx(160)
    draw, found = random.Random(0), 0  # an experiment
    for _ in range(4000):
        found += len({expert for _ in range(7) for expert in draw.sample(range(16), 3)})
    assert touched_experts(16, 3, 7) == pytest.approx(found / 4000, rel=0.01)


@pytest.mark.parametrize("requests", [1, 2, 5, 40])
def test_a_decode_reads_the_weights_of_the_experts_that_it_touches(requests: int) -> None:
    program = program_of(design(global_batch=requests))
    h, heads, layers = 512, 8, 4
    attention = h * 192 + 192 * heads * 96 + h * 160 + 128 * heads * 128 + heads * 64 * h
    touched = 16 * (1 - (1 - 2 / 16) ** requests)
    experts = 3 * (h * 16 + 3 * h * 256 + touched * 3 * h * 256)
    read = 2 * (layers * attention + 3 * h * 2048 + experts + h * 1024)
    assert weights_read(program, 1) == pytest.approx(read)


def test_experts_on_several_npus_are_read_where_they_are() -> None:
    alone, spread = design(global_batch=8), design(4, global_batch=8, parallelism={"expert": 4})
    h = 512
    once, fourth = (16 * (1 - (7 / 8) ** 8) * 3 * h * 256 * share for share in (1.0, 0.25))
    difference = weights_read(program_of(alone), 1) - weights_read(program_of(spread), 1)
    assert difference == pytest.approx(2 * 3 * (once - fourth))
    # Two requests an NPU, each row to one of its two experts and back, in three layers.
    exchanged = [(op.size, repeat) for op, repeat in operators(program_of(spread).parts[1]) if isinstance(op, Start)]
    assert exchanged == [(2 * 2 * h * 2, 3), (2 * 2 * h * 2, 3)]
    prompts = [op.size for op, _ in operators(program_of(spread).parts[0]) if isinstance(op, Start)]
    assert prompts == [64 * 2 * 2 * h * 2] * 2


def test_experts_on_several_npus_wait_for_the_busiest() -> None:
    def padding(served: Design) -> set[float]:
        products = [op for op, _ in operators(program_of(served).parts[1]) if isinstance(op, Compute)]
        return {op.padding for op in products if op.name in ("expert-in", "expert-out")}

    (alone,) = padding(design(global_batch=8))
    (spread,) = padding(design(4, global_batch=8, parallelism={"expert": 4}))
    assert spread == pytest.approx(alone / BUSIEST)


@pytest.mark.parametrize("flash", [False, True])
def test_a_decode_of_one_request_takes_the_time_to_read_weights_and_cache(flash: bool) -> None:
    model = {**MODELS["both"], "hidden": 2048}
    served = design(
        model=model, global_batch=1, prompt_length=2000, output_length=2, parallelism={"flash_attention": flash}
    )
    took = simulate(served).time_per_output_token_s
    cache = 2 * 4 * 2001 * (160 if flash else 160 + 128)  # the values are part of the keys: fused, they are read once
    least = (weights_read(program_of(served), 1) + cache) / 1e12
    assert took is not None
    assert least < took < 1.05 * least


def test_a_latent_cache_makes_long_contexts_cheaper_than_one_of_all_heads() -> None:
    long = {"prompt_length": 4000, "global_batch": 16, "output_length": 3, "batching": "static"}
    rotary = {**PLAIN, "gated": True, "bias": False, "position": "rotary"}
    latent, heads = (simulate(design(model=m, **long)).time_per_output_token_s for m in ("latent", rotary))
    assert latent is not None
    assert heads is not None
    assert latent < heads


def test_weights_of_experts_are_spread_and_those_of_latents_copied() -> None:
    def weights(npus: int, **parallelism: Any) -> float:
        memory = simulate(design(npus, parallelism=parallelism)).memory_bytes
        assert memory is not None
        return memory.weights / 2

    h, routed = 512, 3 * 16 * 3 * 512 * 256
    copied = 4 * h * (192 + 128 + 32) + 3 * h * 16
    assert weights(4) == weights(1)
    assert weights(1) - weights(4, expert=4) == pytest.approx(routed * 3 / 4)
    assert weights(2, tensor=2) == pytest.approx((weights(1) + copied) / 2)


def test_bounds_stay_below_and_replicas_serve_alike() -> None:
    one, four = design(1), design(4, global_batch=16)
    assert simulate(four).time_per_output_token_s == simulate(one).time_per_output_token_s
    for served in (
        one,
        four,
        design(4, parallelism={"expert": 4}),
        design(4, parallelism={"pipeline": 2, "expert": 2}),
    ):
        result, proven = simulate(served), bound(served)
        for metric, took in (
            ("iteration_time", result.iteration_time_s),
            ("time_to_first_token", result.time_to_first_token_s),
            ("time_per_output_token", result.time_per_output_token_s),
        ):
            least = proven[metric]
            assert least is not None
            assert took is not None
            assert least <= took * (1 + 1e-12)
        document = served.document()
        cluster = {"npu": document["cluster"]["npu"], "npus": served.cluster.npus}
        loosest = bound({"workload": document["workload"], "cluster": cluster})
        assert (loosest["iteration_time"] or 0) <= result.iteration_time_s
        assert result.memory_bytes is not None
        assert (loosest["memory.peak"] or 0) <= result.memory_bytes.peak


@pytest.mark.parametrize("parallelism", [{}, {"expert": 4}, {"pipeline": 2, "expert": 2}])
@pytest.mark.parametrize("model", ["grouped", "both"])
def test_some_tokens_tell_of_all(model: str, parallelism: dict[str, int]) -> None:
    """A search looks at candidates by the first token, the second and the last; the memory is that of all."""
    parallelism = {name: degree for name, degree in parallelism.items() if model == "both" or name != "expert"}
    served = design(4, model, parallelism, output_length=48)
    known = sample_of(served)
    assert known is not None
    assert (known.program.chunks, sum(known.repeats)) == (3, 48)
    assert memory_needed(served) == memory_of(served, program_of(served))
    near, proven = estimate(served), bound(served)
    for metric in ("iteration_time", "time_to_first_token", "time_per_output_token", "energy"):
        assert near[metric] == pytest.approx(proven[metric], rel=0.01)
    assert near["memory.peak"] == proven["memory.peak"]
    assert sample_of(design(output_length=4)) is None, "of few tokens all are looked at"


def test_fewer_than_all_replicas_touch_fewer_experts() -> None:
    one, eight = (simulate(design(global_batch=requests)).time_per_output_token_s for requests in (1, 8))
    assert one is not None
    assert eight is not None
    assert one < eight < 8 * one


@pytest.mark.parametrize(
    ("npus", "model", "parallelism", "message"),
    [
        (2, "latent", {"expert": 2}, r"parallelism\.expert: expected 1 for a model without experts, got 2"),
        (3, "both", {"expert": 3}, r"parallelism\.expert: expected a degree that divides the experts \(16\), got 3"),
        (4, "both", {"expert": 4, "tensor": 2}, r"parallelism\.expert: expected a degree that divides data x context"),
        (1, "both", {"first_stage_layers": 2}, r"parallelism\.first_stage_layers: expected None"),
        (2, "both", {"tensor": 2, "sequence_parallel": True}, r"parallelism\.sequence_parallel: expected False"),
        (2, "both", {"context": 2}, r"parallelism\.context: expected 1"),
        (1, {**GATED, "kv_heads": 2, "latent_attention": LATENT}, {}, r"kv_heads: expected nothing beside latent"),
        (1, {**GATED, "mixture_of_experts": {**EXPERTS, "top_k": 17}}, {}, r"top_k: expected at most the 16 experts"),
    ],
)
def test_what_cannot_be_served_is_said(npus: int, model: Any, parallelism: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        design(npus, model, parallelism, global_batch=12)


def test_eight_bits_need_sixteen_for_attention() -> None:
    document = design(precision="fp8").document()
    del document["cluster"]["npu"]["peak"]["bf16"]
    with pytest.raises(InputError, match=r"workload\.precision: .*attention stays in bf16 beside fp8, got fp8"):
        design_from(document)


def test_a_graph_has_the_experts_of_a_server_too() -> None:
    def seconds(eager: str) -> float:
        own = design(model="experts", cluster={"npu": npu(overhead="1 us"), "dimensions": [dimension(size=1)]})
        launch = {"eager": eager, "compiled": "0 s", "graph": "2 us"}
        return simulate(own.with_("software", software(launch=launch, execution="graph"))).iteration_time_s

    assert seconds("1 ms") == seconds("1 us")


@pytest.mark.parametrize("model", ["experts", "both"])
def test_a_tensor_group_sums_up_experts_once_a_token(model: str) -> None:
    """Routed and shared ones together (vLLM): a layer reduces its tokens twice, however many experts these have."""
    program = program_of(design(4, model=model, parallelism={"tensor": 4}))
    for token, tokens in ((0, 4 * 64), (1, 4)):
        layers = [its for its in program.parts[program.part_of[token]].forward if its.name == "layer"]
        assert len(layers) == 2  # dense, and with experts
        for layer in layers:
            sent = [(op.kind, op.group, op.size) for op in layer.operators if isinstance(op, Start)]
            assert sent == [("all_reduce", "tensor", tokens * 512 * 2.0)] * 2


def test_heads_fewer_than_a_tensor_group_are_copied_with_their_weights() -> None:
    """A server's NPU computes the whole head (vLLM: QKVParallelLinear), and gathers nothing."""

    def of_layer(tensor: int) -> tuple[float, float]:
        its = design(tensor, model="grouped", parallelism={"tensor": tensor})
        program, memory = program_of(its), simulate(its).memory_bytes
        operators = [op for op, _ in operators_of_layers(program)]
        assert not [op for op in operators if isinstance(op, Start) and op.kind != "all_reduce"]
        (width,) = {op.shape[2] for op in operators if isinstance(op, Compute) and op.name == "qkv" and op.shape}
        assert memory is not None
        return width, memory.weights / 2

    h, head = 512, 64
    (one, alone), (two, halves), (four, quarters) = map(of_layer, (1, 2, 4))
    assert (one, two, four) == (h + 4 * head, h / 2 + 2 * head, h / 4 + 2 * head)
    assert halves == alone / 2
    assert quarters == pytest.approx(alone / 4 + PLAIN["layers"] * h * head)


def operators_of_layers(program: Program) -> list[tuple[Any, int]]:
    return [each for part in program.parts for each in operators(part)]


@pytest.mark.parametrize("flash", [False, True])
def test_whole_experts_of_a_tensor_group_are_read_and_multiplied_as_cut_ones_and_send_nothing_more(flash: bool) -> None:
    cut, whole = (
        design(4, parallelism={"tensor": 4, "flash_attention": flash, **more})
        for more in ({}, {"expert": 4, "expert_tensor": 1})
    )
    programs = program_of(cut), program_of(whole)
    assert flops(programs[1]) == pytest.approx(flops(programs[0]))
    for token in (0, 1, 4):
        assert weights_read(programs[1], token) == pytest.approx(weights_read(programs[0], token))
    sent = [
        [(op.kind, op.group, op.size) for op, _ in operators_of_layers(program) if isinstance(op, Start)]
        for program in programs
    ]
    assert sent[1] == sent[0]
    memories = [simulate(its).memory_bytes for its in (cut, whole)]
    assert memories[0] is not None
    assert memories[1] is not None
    assert memories[1].weights == memories[0].weights


def test_a_cut_expert_has_whole_blocks_of_scales_or_is_not_cut() -> None:
    """As vLLM and SGLang refuse them; 256 wide experts over 4 NPUs would be half a block each."""
    with pytest.raises(InputError, match="tensor: expected a degree that cuts the width of experts"):
        design(4, model="experts", precision="fp8_block", parallelism={"tensor": 4})
    whole = {"tensor": 2, "expert": 2, "expert_tensor": 1}
    assert design(2, model="experts", precision="fp8_block", parallelism=whole).parallelism.folded


@pytest.mark.parametrize("more", [{"expert": 2, "expert_tensor": 1}, {"expert": 4, "expert_tensor": 2}])
def test_experts_that_are_neither_cut_over_the_group_nor_whole_on_it_are_refused(more: dict[str, int]) -> None:
    with pytest.raises(InputError, match="expert_tensor: expected 4, the tensor degree, or 1 beside"):
        design(4, parallelism={"tensor": 4, **more})


def test_rows_go_to_experts_in_eight_bits_with_scales_where_blocks_have_them_and_come_back_in_sixteen() -> None:
    its = design(4, model="experts", precision="fp8_block", parallelism={"expert": 4, "dispatch": "rank"})
    rows = [op.size for op, _ in operators_of_layers(program_of(its)) if isinstance(op, Start)]
    assert rows
    there, back = rows[0::2], rows[1::2]
    assert [size / 512 for size in there] == pytest.approx([size / 1024 * (1 + 4 / 128) for size in back])


@pytest.mark.parametrize(("dispatch", "execution"), [("node", "compiled"), ("rank", "graph")])
def test_a_server_replays_no_graphs_beside_kernels_that_turn_them_off(dispatch: str, execution: str) -> None:
    cluster = {"npu": "h200", "fabric": "dgx-h200", "npus": 16}
    served = {"model": "deepseek-v3", "global_batch": 32, "prompt_length": 64, "output_length": 4}
    parallelism = {"data": 16, "expert": 16, "dispatch": dispatch}
    whole = {"tensor": 8, "data": 2, "expert": 8, "expert_tensor": 1}

    def of(degrees: dict[str, Any]) -> Design:
        workload = {**served, "precision": "fp8_block"}
        return design_from({"workload": workload, "parallelism": degrees, "cluster": cluster, "software": "vllm"})

    assert of(parallelism).running_software.execution == execution
    assert of(whole).running_software.execution == "graph"


def test_experts_held_in_fewer_bits_are_read_sooner_and_multiplied_no_sooner() -> None:
    """By a kernel whose rate nobody has measured: it is not taken to be that of products."""
    cluster = {"npu": "h200", "fabric": "dgx-h200", "npus": 8}
    served = {"model": "mixtral-8x7b", "global_batch": 64, "prompt_length": 1024, "output_length": 2}

    def first(**its: Any) -> float:
        workload = {**served, "precision": "bf16", **its}
        its_design = design_from(
            {"workload": workload, "parallelism": {"tensor": 8}, "cluster": cluster, "software": "vllm"}
        )
        seconds = simulate(its_design).time_to_first_token_s
        assert seconds is not None
        return seconds

    assert 0.9 * first() < first(weight_precision="fp8") < first()


@pytest.mark.parametrize(
    ("npu_name", "held", "allowed"),
    [("h200", "nvfp4", False), ("b200", "nvfp4", True), ("h200", "fp8", True), ("b200", "int8", False)],
)
def test_a_cache_is_held_in_what_servers_have(npu_name: str, held: str, allowed: bool) -> None:
    workload = {"model": "llama3-8b", "global_batch": 8, "prompt_length": 64, "output_length": 4, "precision": "bf16"}
    document = {
        "workload": {**workload, "cache_precision": held},
        "cluster": {"npu": npu_name, "fabric": f"dgx-{npu_name}", "npus": 8},
    }
    if allowed:
        assert design_from(document)
        return
    with pytest.raises(InputError, match="cache_precision: expected bf16, fp16 or fp8"):
        design_from(document)
