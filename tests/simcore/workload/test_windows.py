"""Layers with windows: what they cost in training and in serving, and where they are refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from designs import UNFUSED, dimension, model, training
from hypothesis import given
from hypothesis import strategies as st

from simcore.bounds.design import bound
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.memory.plan import program_of
from simcore.program import Compute, Operator, Segment
from simcore.simulate import simulate
from simcore.workload.serving.program import served_flops
from simcore.workload.transformer.counts import attention_flops, forward_flops
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.model import Transformer
from simcore.workload.transformer.program import transformer_program
from simcore.workload.transformer.stages import stage_runs
from simcore.workload.transformer.window import Window

FLASH = {**UNFUSED, "flash_attention": True}


def one(window: dict[str, Any] | None, parallelism: dict[str, Any] | None = None, npus: int = 1, **its: Any) -> Design:
    sizes = model(layers=6, sequence_length=1024, position="rotary", **({"window": window} if window else {}), **its)
    workload = {"model": sizes, "global_batch": 4, "sequence_length": 1024}
    return design_from(training({**FLASH, **(parallelism or {})}, [dimension(size=npus)], workload=workload))


def flops(operators: Iterable[Operator]) -> float:
    return sum(operator.flops for operator in operators if isinstance(operator, Compute))


def forward(design: Design) -> float:
    """FLOPs of all forward passes of an iteration, over all NPUs."""
    program, p = transformer_program(design), design.parallelism
    segments: list[Segment] = [s for k in program.part_of for s in program.parts[k].forward]
    once = sum(flops(segment.operators) * segment.repeat for segment in segments)
    return once * program.microbatches * design.data * p.tensor * p.context


@given(st.integers(1, 400), st.integers(1, 400), st.booleans())
def test_a_token_sees_what_a_count_of_pairs_says(sequence: int, tokens: int, chunked: bool) -> None:
    """The count has the diagonal, s / 2 more than the continuous one, and nothing else apart."""
    window = Window(tokens=tokens, chunked=chunked)
    first = (lambda i: i - i % tokens) if chunked else (lambda i: max(0, i - tokens + 1))
    pairs = sum(i - first(i) + 1 for i in range(sequence))
    beyond = 0.5 * min(tokens, sequence) / sequence if not chunked and tokens < sequence else 0.5
    assert pairs / sequence == pytest.approx(window.seen(sequence) + 0.5, abs=0.5 - min(beyond, 0.5) + 1e-9)


@pytest.mark.parametrize(
    ("window", "windowed"),
    [
        ({"tokens": 128}, [True] * 6),
        ({"tokens": 128, "full_every": 2}, [True, False] * 3),
        ({"tokens": 128, "full_every": 3, "chunked": True}, [True, True, False] * 2),
        ({"tokens": 128, "full_first": 4}, [False] * 4 + [True] * 2),
        ({"tokens": 1024}, [False] * 6),
    ],
)
def test_layers_with_windows_are_where_the_model_has_them(window: dict[str, Any], windowed: list[bool]) -> None:
    design = one(window, {"pipeline": 2, "microbatch": 1}, npus=2)
    workload = TransformerWorkload.of(design.workload)
    runs = stage_runs(workload.model, design.parallelism, workload.sequence)
    assert [kind.windowed for run in runs for kind, count in run for _ in range(count)] == windowed
    assert workload.model.windowed_layers(1024) == sum(windowed)


@pytest.mark.parametrize(
    "window", [{"tokens": 128}, {"tokens": 300, "full_every": 3}, {"tokens": 256, "chunked": True}]
)
@pytest.mark.parametrize(
    ("parallelism", "npus"),
    [({}, 1), ({"tensor": 2}, 2), ({"pipeline": 3}, 3), ({"context": 2, "context_communication": "all_to_all"}, 2)],
)
def test_the_flops_of_all_operators_are_those_of_the_model(
    window: dict[str, Any], parallelism: dict[str, Any], npus: int
) -> None:
    design = one(window, parallelism, npus)
    workload = TransformerWorkload.of(design.workload)
    assert forward(design) == pytest.approx(forward_flops(workload, flash=True))
    assert transformer_program(design).model_flops == 3 * forward_flops(workload, flash=True)


def test_only_a_fused_kernel_skips_what_lies_outside_a_window() -> None:
    narrow, whole = Transformer(**model(window={"tokens": 64})), Transformer(**model())
    full = attention_flops(whole, 1024, flash=True)
    assert attention_flops(narrow, 1024, flash=True) / full == pytest.approx((64 - 64 * 64 / 2048) / 512)
    assert attention_flops(narrow, 1024) == attention_flops(whole, 1024) == 2 * full
    assert attention_flops(narrow, 64, flash=True) == attention_flops(whole, 64, flash=True)
    unfused = design_from(
        training(UNFUSED, [dimension(size=1)], workload={"model": model(window={"tokens": 64}), "global_batch": 4})
    )
    assert forward(unfused) == pytest.approx(forward_flops(TransformerWorkload.of(unfused.workload)))


def test_windows_save_time_and_the_bounds_stay_below() -> None:
    windowed, whole = one({"tokens": 64}), one(None)
    assert simulate(windowed).iteration_time_s < simulate(whole).iteration_time_s
    for design in (windowed, one({"tokens": 100, "full_every": 2}, {"pipeline": 2}, npus=2)):
        least = bound(design)["iteration_time"]
        assert least is not None
        assert 0 < least <= simulate(design).iteration_time_s


def test_both_engines_agree_on_layers_that_alternate() -> None:
    design = one({"tokens": 100, "full_every": 2}, {"pipeline": 2, "tensor": 2}, npus=4)
    fast, reference = (simulate(design, engine=engine) for engine in ("fast", "reference"))
    assert fast.iteration_time_s == reference.iteration_time_s


def test_a_ring_passes_every_key_and_so_has_no_windows() -> None:
    with pytest.raises(InputError, match="context_communication all_to_all where layers have windows"):
        one({"tokens": 64}, {"context": 2}, npus=2)
    one({"tokens": 1024}, {"context": 2}, npus=2)  # no sequence is longer


def test_stages_are_solved_for_layers_that_alternate_but_not_which_of_them_recompute() -> None:
    design = one({"tokens": 64, "full_every": 2}, {"pipeline": 2, "stages": {"solve": True}}, npus=2)
    even = one({"tokens": 64, "full_every": 2}, {"pipeline": 2}, npus=2)
    assert simulate(design).iteration_time_s <= simulate(even).iteration_time_s
    with pytest.raises(InputError, match="a way that is given where some layers have windows"):
        one({"tokens": 64, "full_every": 2}, {"pipeline": 2, "recompute": "solve"}, npus=2)
    one({"tokens": 64}, {"pipeline": 2, "recompute": "solve"}, npus=2)


def served(window: dict[str, Any] | None, **its: Any) -> Design:
    sizes = {"hidden": 512, "layers": 6, "heads": 8, "kv_heads": 2, "vocabulary": 1024, "position": "rotary"}
    workload = {
        "model": {**sizes, **({"window": window} if window else {})},
        "global_batch": 4,
        "prompt_length": 256,
        "output_length": 16,
        **its,
    }
    document = training({"flash_attention": True}, [dimension(size=1)], workload={})
    return design_from({**document, "workload": workload})


@pytest.mark.parametrize("window", [{"tokens": 64}, {"tokens": 100, "full_every": 3}, {"tokens": 264}])
def test_a_cache_keeps_the_windows_alone(window: dict[str, Any]) -> None:
    design, whole = served(window), served(None)
    program = program_of(design)
    kept = [272 if (i + 1) % window.get("full_every", 7) == 0 else min(272, window["tokens"]) for i in range(6)]
    a_token = 2 * 2 * 64 * 2  # keys and values of two heads in 16 bits
    assert program.cache[0] == 4 * sum(kept) * a_token
    assert program_of(whole).cache[0] == 4 * 6 * 272 * a_token
    done = sum(
        flops(s.operators) * s.repeat for k in range(program.chunks) for s in program.parts[program.part_of[k]].forward
    )
    assert done == pytest.approx(served_flops(design.workload, flash=True))  # type: ignore[arg-type]
    assert simulate(design).iteration_time_s < simulate(whole).iteration_time_s


def test_norms_of_queries_and_after_halves_take_time_and_memory() -> None:
    plain = one(None, bias=False)
    for added in ({"qk_norm": "head"}, {"layer_norms": 4}):
        more = one(None, bias=False, **added)
        assert simulate(more).iteration_time_s > simulate(plain).iteration_time_s
        assert simulate(more).memory_bytes.activations > simulate(plain).memory_bytes.activations
    assert simulate(one(None, bias=False, layer_norms=1)).iteration_time_s < simulate(plain).iteration_time_s


def test_biases_that_are_named_are_those_of_a_gpt_layer() -> None:
    from simcore.workload.transformer.counts import layer_vectors

    gpt, named = (
        Transformer(**model(**its)) for its in ({}, {"bias": False, "biases": ["qkv", "projection", "mlp", "norms"]})
    )
    assert layer_vectors(gpt, False) == layer_vectors(named, False) == 13 * gpt.hidden
