"""Serving a transformer: closed forms of prefill and decode, memory of the cache, what pipelines and batches do."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, npu, software

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.memory.plan import program_of
from simcore.program import Compute
from simcore.simulate import simulate
from simcore.workload.serving.program import served_flops

SMALL = {"hidden": 512, "layers": 8, "heads": 8, "vocabulary": 1024, "sequence_length": 4096}


def design(npus: int = 1, model: Any = None, parallelism: Any = None, **its: Any) -> Design:
    workload = {"model": model or SMALL, "global_batch": 4, "prompt_length": 256, "output_length": 16, **its}
    return design_from(
        {
            "workload": workload,
            "parallelism": parallelism or {},
            "cluster": {"npu": npu(peak={"fp16": "100 TFLOP/s", "fp8": "200 TFLOP/s"}),
                        "dimensions": [dimension(size=npus, latency="0 s")]},
            "system": {"chunks": 1},
            "software": software(),
        }
    )  # fmt: skip


def test_the_flops_of_the_program_are_those_of_the_closed_form() -> None:
    served = design()
    program = program_of(served)
    done = 0.0
    for k in range(program.chunks):
        part = program.parts[program.part_of[k]]
        done += sum(op.flops * s.repeat for s in part.forward for op in s.operators if isinstance(op, Compute))
    assert done == pytest.approx(program.model_flops)
    h, layers, s, batch, out, vocabulary = 512, 8, 256, 4, 16, 1024
    prefill = batch * (layers * (24 * s * h * h + 4 * s * s * h) + 2 * h * vocabulary)
    decode = sum(batch * (layers * (24 * h * h + 4 * (s + i) * h) + 2 * h * vocabulary) for i in range(1, out))
    assert served_flops(served.workload) == pytest.approx(prefill + decode)  # type: ignore[arg-type]


def test_a_decode_of_few_requests_reads_weights_and_cache_at_the_memory_bandwidth() -> None:
    served = design(global_batch=1, output_length=2)
    result = simulate(served)
    h, layers, context, vocabulary = 512, 8, 257, 1024
    weights = 2 * (layers * 12 * h * h + vocabulary * h)
    cache = 2 * 2 * layers * context * h
    assert result.time_per_output_token_s is not None
    assert result.time_per_output_token_s == pytest.approx((weights + cache) / 1e12, rel=0.03)
    assert result.time_per_output_token_s > (weights + cache) / 1e12


def test_the_times_of_a_request_sum_to_the_whole() -> None:
    result = simulate(design())
    assert result.time_to_first_token_s is not None
    assert result.time_per_output_token_s is not None
    assert result.iteration_time_s == pytest.approx(result.time_to_first_token_s + 15 * result.time_per_output_token_s)
    assert result.throughput_tokens_per_s == pytest.approx(4 * 16 / result.iteration_time_s)
    assert result.time_to_first_token_s == pytest.approx(simulate(design(output_length=1)).iteration_time_s)
    alone = simulate(design(output_length=1))
    assert alone.time_to_first_token_s == alone.iteration_time_s
    assert alone.time_per_output_token_s is None


def test_a_continuous_batch_reads_prompts_in_passes_and_a_first_token_takes_one_of_them() -> None:
    long = {"prompt_length": 2048, "output_length": 3}
    one, four = (simulate(design(global_batch=n, **long)) for n in (1, 4))
    static = simulate(design(global_batch=4, batching="static", **long))
    first, later = one.time_to_first_token_s, four.time_per_output_token_s
    assert first is not None
    assert later is not None
    assert static.time_per_output_token_s is not None
    assert four.time_to_first_token_s == first
    assert 2 * later == pytest.approx(3 * first + 2 * static.time_per_output_token_s)
    assert static.time_to_first_token_s == pytest.approx(4 * first, rel=0.05)
    assert four.iteration_time_s == pytest.approx(static.iteration_time_s, rel=0.05)


def test_short_prompts_share_a_pass() -> None:
    short = {"prompt_length": 512, "output_length": 2}
    four, eight, twelve = (simulate(design(global_batch=n, **short)).time_to_first_token_s for n in (4, 8, 12))
    assert four == eight == twelve
    assert four == simulate(design(global_batch=4, batching="static", **short)).time_to_first_token_s
    one = simulate(design(global_batch=1, **short)).time_to_first_token_s
    assert one is not None
    assert four is not None
    assert four > 3 * one


def test_requests_that_no_pass_divides_leave_a_smaller_one() -> None:
    short = {"prompt_length": 512, "output_length": 2}
    four, seven, eight = (simulate(design(global_batch=n, **short)) for n in (4, 7, 8))
    assert four.time_to_first_token_s == seven.time_to_first_token_s
    assert four.iteration_time_s < seven.iteration_time_s < eight.iteration_time_s
    assert program_of(design(global_batch=7, **short)).parts[0].forward[1].repeat == 8  # layers, in one full pass


def test_a_prompt_of_a_continuous_batch_takes_the_work_space_of_a_pass() -> None:
    long = {"prompt_length": 2048, "output_length": 2, "global_batch": 4}
    passes, whole = (simulate(design(batching=its, **long)).memory_bytes for its in ("continuous", "static"))
    assert passes is not None
    assert whole is not None
    assert passes.activations < whole.activations / 3
    assert passes.kv_cache == whole.kv_cache


def test_training_has_no_first_token_and_serving_no_gradients() -> None:
    trained = {
        "workload": {"model": SMALL, "global_batch": 1},
        "cluster": {"npu": npu(), "dimensions": [dimension(size=1)]},
        "software": software(),
    }
    training = simulate(design_from(trained))
    assert training.time_to_first_token_s is training.time_per_output_token_s is None
    served = simulate(design()).memory_bytes
    assert served is not None
    assert served.gradients == served.optimizer == 0


@pytest.mark.parametrize(("tensor", "kv_heads", "share"), [(1, 8, 1), (4, 8, 1 / 4), (4, 2, 1 / 2), (2, 2, 1 / 2)])
def test_the_cache_holds_prompt_and_output_of_every_request(tensor: int, kv_heads: int, share: float) -> None:
    model = {**SMALL, "kv_heads": kv_heads, "gated": True, "bias": False, "position": "rotary"}
    memory = simulate(design(npus=tensor, model=model, parallelism={"tensor": tensor})).memory_bytes
    assert memory is not None
    assert memory.kv_cache == 2 * 2 * 4 * (256 + 16) * 8 * 64 * kv_heads * share
    halved = simulate(design(npus=tensor, model=model, parallelism={"tensor": tensor}, cache_precision="fp8"))
    assert halved.memory_bytes is not None
    assert halved.memory_bytes.kv_cache == memory.kv_cache / 2


def test_an_eight_gpu_llama_3_70b_has_the_known_cache_and_weights() -> None:
    served = design(
        8, model="llama3-70b", parallelism={"tensor": 8}, global_batch=1, prompt_length=8191, output_length=1
    )
    memory = simulate(served).memory_bytes
    assert memory is not None
    assert 8 * memory.kv_cache == 8192 * 327_680  # 320 KiB a token: 2 x 80 layers x 8 heads x 128 x 2 bytes
    assert 8 * memory.weights / 2 == pytest.approx(70.6e9, rel=0.003)


def test_a_pipeline_of_one_batch_waits_for_its_own_token_and_of_two_does_not() -> None:
    one, two = (
        simulate(design(2, parallelism={"pipeline": 2, "microbatch": m}, global_batch=8, output_length=64))
        for m in (8, 4)
    )
    # One group of requests leaves each stage idle while the other works; two groups keep both at work.
    assert one.bubble_s / one.iteration_time_s == pytest.approx(0.5, abs=0.02)
    assert two.bubble_s / two.iteration_time_s < 0.1


def test_tensor_parallelism_brings_the_first_token_sooner() -> None:
    one, four = (simulate(design(n, parallelism={"tensor": n})).time_to_first_token_s for n in (1, 4))
    assert one is not None
    assert four is not None
    assert one / 4 < four < one


def test_more_replicas_serve_more_requests_at_the_same_times() -> None:
    one, four = simulate(design(1)), simulate(design(4, global_batch=16))
    assert four.time_to_first_token_s == one.time_to_first_token_s
    assert four.throughput_tokens_per_s == pytest.approx(4 * (one.throughput_tokens_per_s or 0))


@pytest.mark.parametrize(
    ("its", "parallelism", "message"),
    [
        ({"output_length": 40000}, {}, r"workload\.output_length: expected at most 32,768 tokens, got 40,000"),
        ({"prompt_length": 4090}, {}, r"prompt and output of at most 4096 tokens together, got 4106"),
        ({"output_length": 0}, {}, r"workload\.output_length: expected greater than 0, got 0"),
        ({}, {"zero": 3}, r"parallelism\.zero: expected 0 \(this kind of workload has no other\), got 3"),
        ({}, {"recompute": "full"}, r"parallelism\.recompute: expected none"),
        ({"outputlength": 3}, {}, r"workload\.outputlength: expected a known key.*did you mean 'output_length'"),
        ({"model": {**SMALL, "heads": 7}}, {}, r"heads that divide the hidden size"),
        ({}, {"microbatch": 2}, r"no more groups of a replica's requests than stages \(1\).*got 2 groups of 2"),
        ({"prefill_tokens": 255}, {}, r"at least the prompt_length \(256\): a pass reads whole prompts, got 255"),
        ({"prefill_tokens": 512, "batching": "static"}, {}, r"nothing beside static batching"),
    ],
)
def test_what_cannot_be_served_is_said(its: Any, parallelism: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        design(parallelism=parallelism, **its)


def test_requests_are_shared_out_over_the_stages_of_a_pipeline() -> None:
    groups = {(1, 8): 8, (2, 8): 4, (4, 8): 2, (8, 8): 1, (8, 4): 1, (4, 6): 2, (4, 7): 7}
    for (stages, requests), each in groups.items():
        assert design(stages, parallelism={"pipeline": stages}, global_batch=requests).microbatch == each


def test_fewer_prompts_a_pass_bring_the_first_token_sooner_and_decode_all_requests_together() -> None:
    short, usual = (
        simulate(design(global_batch=64, **given)) for given in ({"prefill_tokens": 256}, {"prefill_tokens": None})
    )
    assert short.time_to_first_token_s is not None
    assert usual.time_to_first_token_s is not None
    # Eight prompts of 256 tokens are read together unless said otherwise, at the same FLOPs a prompt.
    assert 1 / 9 < short.time_to_first_token_s / usual.time_to_first_token_s < 1 / 3
    assert short.throughput_tokens_per_s == pytest.approx(usual.throughput_tokens_per_s, rel=0.2)


def test_a_passes_prompt_tokens_are_written_out() -> None:
    written = design().document()["workload"]
    assert written["prefill_tokens"] == 2048
    assert design(prompt_length=3000).document()["workload"]["prefill_tokens"] == 3000
    assert "prefill_tokens" not in design(batching="static").document()["workload"]


@pytest.mark.parametrize("tokens", [1024, 2048, 4096])
def test_a_further_token_of_a_long_output_takes_a_pass(tokens: int) -> None:
    model = {**SMALL, "layers": 2, "sequence_length": 8192}
    before, one_more = (simulate(design(model=model, output_length=count)) for count in (tokens, tokens + 1))
    assert one_more.time_per_output_token_s is not None
    further = one_more.iteration_time_s - before.iteration_time_s
    assert one_more.time_per_output_token_s < further < 2 * one_more.time_per_output_token_s  # to a longer cache
