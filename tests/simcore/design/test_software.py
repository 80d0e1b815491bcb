"""What a stack does otherwise on some NPUs, and that a design which says so itself is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.collective.routed import routed_of
from simcore.compute import times_of
from simcore.design.design import Design
from simcore.design.lacked import lacked_by_libraries
from simcore.design.npu import Npu
from simcore.design.software import Software
from simcore.document.problem import InputError
from simcore.program import Compute, Start
from simcore.workload.transformer.layer import LayerKind, layer_passes
from simcore.workload.transformer.program import shapes_of


def design(npu: str, fabric: str, **software: Any) -> Design:
    """A mixture of experts on eight NPUs."""
    document: dict[str, Any] = {
        "workload": {"model": "qwen3-30b-a3b", "global_batch": 64},
        "parallelism": {"expert": 8},
        "cluster": {"npu": npu, "fabric": fabric, "npus": 8},
    }
    if software:
        document["software"] = {"base": "megatron-core", **software}
    return design_from(document)


@pytest.mark.parametrize(
    ("npu", "fabric", "said", "execution", "exchange"),
    [
        ("gb200", "gb200-nvl72", {}, "graph", "hybridep"),
        ("gb200", "gb200-nvl72", {"execution": "eager"}, "eager", "hybridep"),
        ("gb200", "gb200-nvl72", {"exchange": "deepep"}, "graph", "deepep"),
        ("h100-80gb", "dgx-h100", {}, None, None),
        ("h100-80gb", "dgx-h100", {"execution": "graph", "exchange": "hybridep"}, "graph", "hybridep"),
    ],
)
def test_a_stack_on_its_npus(npu: str, fabric: str, said: Any, execution: Any, exchange: Any) -> None:
    given = design(npu, fabric, **said)
    again = design_from(given.document())
    for running in (given.running_software, again.running_software):
        assert (running.execution, running.exchange) == (execution, exchange)
    assert again.key == given.key


def test_fully_sharded_megatron_launches_its_kernels() -> None:
    for zero, execution in ((1, "graph"), (3, "eager")):
        its = {**design("gb200", "gb200-nvl72").document()["parallelism"], "zero": zero}
        given = design_from({**design("gb200", "gb200-nvl72").document(), "parallelism": its})
        assert given.running_software.execution == execution


def test_equal_stacks_are_equal_after_they_were_asked_how_they_launch() -> None:
    catalogued = preset(Software, "software", "megatron-core")
    for execution in ("eager", "graph"):
        one, other = (catalogued.model_copy(update={"execution": execution}) for _ in range(2))
        assert one is not other
        assert one.launching.execution == other.launching.execution == "eager"
        assert one == other


def _operators(given: Design) -> list[Any]:
    forward, backward = layer_passes(shapes_of(given), LayerKind(experts=True))
    return [*forward, *backward]


def test_a_graph_has_all_of_a_layer_but_routed_experts() -> None:
    given = design("gb200", "gb200-nvl72")
    times, launch = times_of(given), given.software.launch
    computed = [operator for operator in _operators(given) if isinstance(operator, Compute)]
    routed = {operator.name for operator in computed if operator.routed}
    assert {"expert-in", "expert-out", "sort-rows", "expert-in-weight-gradient"} <= routed
    assert not routed & {"router", "routing", "qkv"}
    assert all(times.seconds(operator) >= launch.eager for operator in computed if operator.routed)
    assert any(times.seconds(operator) < launch.eager for operator in computed if not operator.routed)
    eager = times_of(design("gb200", "gb200-nvl72", execution="eager"))
    assert all(eager.seconds(operator) >= launch.eager for operator in computed)


def test_tokens_go_by_the_kernels_of_the_stack() -> None:
    libraries = [
        {routed.library for one in _operators(given) if isinstance(one, Start) and (routed := routed_of(one.kind))}
        for given in (design("gb200", "gb200-nvl72"), design("h100-80gb", "dgx-h100"))
    ]
    assert libraries == [{"hybridep"}, {"deepep"}]


@pytest.mark.parametrize(
    ("npu", "fabric", "software", "algorithm"),
    [
        ("h100-80gb", "dgx-h100", "vllm", "direct"),
        ("h100-80gb", "dgx-h100", "megatron-core", "ring"),
        ("l40s", "pcie-gen4-node", "vllm", "halving_doubling"),
        ("tpu-v6e", "tpu-v6e-pod", "vllm", "ring"),
    ],
)
def test_a_server_has_all_reduces_of_its_own_inside_a_node(
    npu: str, fabric: str, software: str, algorithm: str
) -> None:
    served = {"prompt_length": 64, "output_length": 8, "precision": "bf16"}
    workload = {"model": "llama3-8b", "global_batch": 8, **served}
    cluster = {"npu": npu, "fabric": fabric, "npus": 8}
    design = design_from({"workload": workload, "cluster": cluster, "parallelism": {"tensor": 8}, "software": software})
    assert design.algorithms[0] == algorithm
    assert not list(lacked_by_libraries(design))


@pytest.mark.parametrize(
    ("npu", "fabric", "software", "usual"),
    [
        ("h100-80gb", "dgx-h100", "vllm", "node"),
        ("mi355x", "mi355x-node", "vllm", "node"),
        ("tpu-v6e", "tpu-v6e-pod", "vllm", "rank"),
        ("gaudi3", "gaudi3-node", "vllm", "rank"),
        ("tpu-v6e", "tpu-v6e-pod", "maxtext", "rank"),
    ],
)
def test_tokens_are_sent_once_to_a_node_where_kernels_do_that(npu: str, fabric: str, software: str, usual: str) -> None:
    served = {"prompt_length": 128, "output_length": 8} if software == "vllm" else {}
    document: dict[str, Any] = {
        "workload": {"model": "qwen3-30b-a3b", "global_batch": 64, "precision": "bf16", **served},
        "parallelism": {"expert": 8},
        "cluster": {"npu": npu, "fabric": fabric, "npus": 8},
        "software": software,
    }
    assert design_from(document).parallelism.dispatch == usual
    document["parallelism"]["dispatch"] = "node"
    if usual == "node":
        assert design_from(document).parallelism.dispatch == "node"
    else:
        with pytest.raises(InputError, match=r"parallelism\.dispatch: expected rank"):
            design_from(document)
    document["parallelism"]["expert"] = 1  # nothing is sent
    assert design_from(document).parallelism.dispatch == "node"


@pytest.mark.parametrize(
    ("npu", "fabric", "software", "slower"),
    [
        ("mi300x", "mi300x-node", "pytorch-fsdp", 1 / 0.7),
        ("mi300x", "mi300x-node", "megatron-core", 1.0),
        ("gaudi3", "gaudi3-node", "pytorch-fsdp", 1.0),
        ("h100-80gb", "dgx-h100", "pytorch-fsdp", 1.0),
    ],
)
def test_products_are_slower_where_a_stack_has_not_the_kernels_of_the_data_sheet(
    npu: str, fabric: str, software: str, slower: float
) -> None:
    document: dict[str, Any] = {
        "workload": {"model": "llama3-8b", "global_batch": 64, "precision": "bf16"},
        "parallelism": {"zero": 0},
        "cluster": {"npu": npu, "fabric": fabric, "npus": 8},
        "software": software,
    }
    product = Compute("product", "gemm", 2 * 16384.0**3, 6 * 16384.0**2, shape=(1.0, 16384.0, 16384.0, 16384.0))
    kernel = preset(Npu, "npus", npu).overhead
    took = [
        times_of(design_from({**document, "software": stack})).seconds(product) - kernel
        for stack in (software, {"base": software, "products": {"rocm": 1.0}})
    ]
    assert took[0] / took[1] == pytest.approx(slower)
