"""Devices without a curve: what software and attention cost holds for them too, but for ideal NPUs of papers."""

from __future__ import annotations

from typing import Any

import pytest

from simcore.catalog import entry
from simcore.catalog.preset import preset
from simcore.check.load import design_from, load_design
from simcore.compute import Roofline
from simcore.design.npu import Npu
from simcore.program import Compute
from simcore.simulate import simulate
from simcore.workload.transformer.layers import backwards
from simcore.workload.transformer.program import shapes_of

MI300X: Npu = preset(Npu, "npus", "mi300x")
IDEAL = MI300X.model_copy(update={"overhead": 0.0})
LAUNCH = 80e-6
GRAPH = {"base": "megatron-core", "execution": "graph"}


def product(edge: float) -> Compute:
    return Compute("product", "gemm", 2 * edge**3, 6 * edge**2, shape=(1.0, edge, edge, edge))


def attention(sequence: float, width: float) -> Compute:
    heads, seen = 32.0, sequence / 2
    fused = (heads, sequence, seen, width), (heads, sequence, width, seen)
    flops = 4 * heads * sequence * seen * width
    return Compute("flash-attention", "flash", flops, 8 * heads * sequence * width, fused=fused)


def rate(npu: Npu, operator: Compute) -> float:
    """FLOP/s of both passes."""
    both = [operator, *(op for op in backwards((operator,)) if isinstance(op, Compute))]
    times = Roofline(npu, "bf16", settled=True)
    return sum(op.flops for op in both) / sum(times.seconds(op) for op in both)


@pytest.mark.parametrize("name", ["mi300x", "mi355x", "gaudi3", "tpu-v5p", "h100-80gb"])
def test_a_host_launches_whatever_the_device_is(name: str) -> None:
    times = Roofline(preset(Npu, "npus", name), "bf16", launch=LAUNCH)
    assert times.seconds(product(16.0)) == LAUNCH
    assert times.seconds(Compute("norm", "memory", 0.0, 1e3)) == LAUNCH
    assert times.seconds(product(16.0)._replace(pieces=2)) == LAUNCH / 2


def test_8_bits_reach_a_share_of_their_own_where_that_was_measured() -> None:
    long = product(65536.0)
    reached = {p: long.flops / Roofline(MI300X, p).seconds(long) for p in ("bf16", "fp8", "fp8_block")}
    assert reached["bf16"] == pytest.approx(668e12, rel=0.01)
    assert reached["fp8"] == reached["fp8_block"] == pytest.approx(980e12, rel=0.01)
    plain = MI300X.model_copy(update={"gemm": MI300X.gemm.model_copy(update={"narrow": {}})})
    assert Roofline(plain, "fp8").seconds(long) < Roofline(MI300X, "fp8").seconds(long)
    for precision in reached:  # no bound is above what a product takes
        times = Roofline(MI300X, precision)
        assert times.least(long.flops) <= times.seconds(long)


def test_an_ideal_npu_takes_its_roofline_alone() -> None:
    times = Roofline(IDEAL, "bf16", launch=LAUNCH)
    moved = 1e3
    assert times.seconds(Compute("norm", "memory", 0.0, moved)) == moved / (5.3e12 * 0.8)
    assert rate(IDEAL, attention(8192.0, 128.0)) == pytest.approx(rate(IDEAL, product(8192.0)), rel=0.05)


@pytest.mark.parametrize("sequence", [4096.0, 8192.0])
def test_fused_attention_is_as_far_below_products_as_on_devices_that_were_measured(sequence: float) -> None:
    """Without a kernel of its own a device gets what the others come to, not the rate of its products."""

    def share(npu: Npu) -> float:
        return rate(npu, attention(sequence, 128.0)) / rate(npu, product(8192.0))

    measured = [share(preset(Npu, "npus", name)) for name in ("a100-80gb", "h100-80gb", "b200")]
    assert 0.9 * min(measured) < share(MI300X) < 1.1 * max(measured)


@pytest.mark.parametrize("name", ["a100-80gb", "h100-80gb", "b200"])
@pytest.mark.parametrize("requests", [1, 8, 64])
@pytest.mark.parametrize("context", [512, 2048, 8192])
def test_a_decode_takes_as_long_by_the_data_sheet_as_by_kernels_that_were_measured(
    name: str, requests: int, context: int
) -> None:
    """8 queries a key-value head, heads of 128, 8 heads: the cache is most of what is moved."""
    measured = preset(Npu, "npus", name)
    heads = 8.0 * requests
    fused = (heads, 8.0, float(context), 128.0), (heads, 8.0, 128.0, float(context))
    flops, moved = 2 * 2 * heads * 8 * context * 128, 2 * 2 * heads * context * 128
    operator = Compute("flash-attention", "flash", flops, moved, fused=fused)
    by_sheet = Roofline(measured.model_copy(update={"curve": None}), "bf16", settled=True).seconds(operator)
    assert by_sheet == pytest.approx(Roofline(measured, "bf16", settled=True).seconds(operator), rel=0.5)


def test_a_cache_of_fewer_bits_is_decoded_sooner_by_the_data_sheet_too() -> None:
    def seconds(cache: str) -> float:
        workload = {"model": "llama3-70b", "global_batch": 128, "prompt_length": 2048, "output_length": 512}
        asked = {**workload, "precision": "fp8", "cache_precision": cache}
        design = {"workload": asked, "parallelism": {"data": 8, "microbatch": 16}, "software": GRAPH}
        return simulate(
            load_design({**design, "cluster": {"npu": "mi300x", "fabric": "mi300x-node", "npus": 8}})
        ).iteration_time_s

    assert seconds("fp8") < 0.97 * seconds("bf16")


def document(npu: str, precision: str) -> dict[str, Any]:
    model = {"base": "llama3-8b", "layers": 4}
    return {
        "workload": {"model": model, "global_batch": 16, "sequence_length": 4096, "precision": precision},
        "parallelism": {"zero": 1},
        "cluster": {"npu": npu, "fabric": "mi300x-node", "npus": 8},
    }


@pytest.mark.parametrize(("npu", "counted"), [("h100-80gb", True), ("mi300x", True), ("gaudi3", False)])
def test_kernels_of_a_stack_count_on_gpus_alone(npu: str, counted: bool) -> None:
    shapes = shapes_of(load_design(document(npu, "fp8")))
    assert bool(shapes.cast("qkv", 1e6)) == counted
    unfused = shapes.elementwise("norm", 1e6).bytes / shapes.moves("norm", 1e6).bytes
    assert unfused == (pytest.approx(4.01) if counted else 1)


@pytest.mark.parametrize(
    ("npu", "model", "degrees", "published"),
    [
        ("mi300x", "mixtral-8x7b", {"expert": 8, "expert_tensor": 1, "microbatch": 2, "zero": 1}, 390),
        ("gaudi2", "mpt-7b", {"zero": 1}, 260),
    ],
)
def test_published_rates_lie_in_the_interval(npu: str, model: str, degrees: dict[str, Any], published: float) -> None:
    """TFLOP/s an NPU: AMD-AGI/Primus, pull request 55 (4 nodes); Databricks, January 2024 (8 Gaudi 2)."""
    npus, sequence = (32, 4096) if npu == "mi300x" else (8, 2048)
    given = {
        "workload": {"model": model, "global_batch": 256, "sequence_length": sequence, "precision": "bf16"},
        "parallelism": degrees,
        "cluster": {"npu": npu, "fabric": f"{npu}-node", "npus": npus},
    }
    design = load_design(given)
    found = simulate(design).mfu * design.cluster.npu.rate("bf16") / 1e12
    assert published / 1.25 < found < 1.25 * published


@pytest.mark.parametrize("npu", ["h200", "b200"])
@pytest.mark.parametrize("model", ["llama3-70b", "mixtral-8x7b"])
def test_a_device_serves_about_as_fast_by_its_data_sheet_as_by_its_measured_kernels(npu: str, model: str) -> None:
    """Else a search would take devices of which nothing was measured for mixtures alone."""
    known = entry("npus", npu)
    sheet = {key: known[key] for key in ("peak", "memory", "power")}
    sheet |= {"gemm": {"limit": 0.7, "half": "8 GFLOP"}, "overhead": "2 us", "price": "1 $"}
    node = {"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "1 us", "tier": "node"}
    served = {"model": model, "prompt_length": 1024, "output_length": 64, "precision": "bf16"}
    for requests in (16, 256):
        document = {"workload": {**served, "global_batch": requests}, "parallelism": {"tensor": 8}, "software": "vllm"}
        took = [
            simulate(design_from({**document, "cluster": {"npu": its, "dimensions": [node]}})).time_per_output_token_s
            for its in (npu, sheet)
        ]
        assert took[0] is not None
        assert took[1] is not None
        assert 0.8 < took[1] / took[0] < 1.25


@pytest.mark.parametrize("npu", ["h100-80gb", "h200", "b200"])
def test_fewer_bits_serve_a_mixture_no_slower(npu: str) -> None:
    node = {"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "1 us", "tier": "node"}
    served = {"model": "mixtral-8x7b", "prompt_length": 1024, "output_length": 64}
    for requests in (8, 64, 512):
        took = {}
        for precision in ("bf16", "fp8"):
            workload = {**served, "global_batch": requests, "precision": precision}
            document = {"workload": workload, "parallelism": {"tensor": 8}, "software": "vllm"}
            result = simulate(design_from({**document, "cluster": {"npu": npu, "dimensions": [node]}}))
            assert result.time_per_output_token_s is not None
            took[precision] = result.time_per_output_token_s
        assert took["fp8"] < took["bf16"]
