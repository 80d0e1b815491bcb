"""What must be reserved beside what is allocated, and what of a card is usable."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, npu, software, training

from simcore import catalog
from simcore.bounds.design import bound
from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.design.npu import parse_npu
from simcore.design.software import Software
from simcore.memory.reserved import count_communicators
from simcore.metrics import metrics
from simcore.result import Memory
from simcore.simulate import simulate

STACK = software(memory={"slack": 1.25, "context": "500 MB", "communicator": "100 MB"})


def design(parallelism: dict[str, Any] | None = None, memory: Any = None, card: Any = None) -> Design:
    network = [dimension(size=4), dimension(size=4)]
    its = {} if card is None else {"memory": card}
    document = training(parallelism or {}, network, accelerator=npu(**its), stack=STACK)
    if memory is not None:
        document["cluster"]["memory"] = memory
    return design_from(document)


def memory_of(its: Design) -> Memory:
    found = simulate(its).memory_bytes
    assert found is not None
    return found


def test_states_are_reserved_whole_and_the_rest_with_slack() -> None:
    memory = memory_of(design({"tensor": 4}))
    states = memory.weights + memory.gradients + memory.optimizer
    assert memory.reserved == pytest.approx(states + 1.25 * (memory.peak - states) + 500e6 + 2 * 100e6)


@pytest.mark.parametrize(
    ("parallelism", "groups"),
    [
        ({}, 1),
        ({"tensor": 4}, 2),
        ({"tensor": 4, "pipeline": 2}, 3),
        ({"tensor": 2, "pipeline": 2, "context": 2}, 4),
        ({"zero": 1, "shard_group": 4}, 2),
    ],
)
def test_every_group_of_more_than_one_npu_has_buffers(parallelism: dict[str, Any], groups: int) -> None:
    assert count_communicators(design(parallelism)) == groups


def test_a_fragmentation_that_is_given_takes_the_place_of_the_slack() -> None:
    memory = memory_of(design(memory={"fragmentation": 0.1}))
    assert memory.reserved == memory.peak + 500e6 + 100e6
    assert simulate(design(memory={"fragmentation": 0.1})).memory_capacity_bytes == pytest.approx(72e9)


def test_what_is_allocated_may_fit_and_what_must_be_reserved_not() -> None:
    allocated = memory_of(design()).peak
    card = {"capacity": f"{allocated / 0.99!r} B", "bandwidth": "1 TB/s"}
    assert simulate(design()).fits
    assert not simulate(design(card=card)).fits


def test_only_the_usable_part_of_a_card_counts() -> None:
    card = {"capacity": "80 GB", "bandwidth": "1 TB/s", "usable": "79 GB"}
    its = design_from(training({}, [dimension(size=4)], accelerator=npu(memory=card)))
    assert simulate(its).memory_capacity_bytes == 79e9
    more = training({}, [dimension(size=4)], accelerator=npu(memory=card))
    more["cluster"]["memory"] = {"capacity": "160 GB"}
    assert simulate(design_from(more)).memory_capacity_bytes == pytest.approx(158e9)


@pytest.mark.parametrize("name", catalog.section("npus"))
def test_every_npu_of_the_catalogue_keeps_a_little_for_itself(name: str) -> None:
    memory = parse_npu(name).memory
    assert memory.usable is not None
    assert 0.93 * memory.capacity < memory.usable < memory.capacity


def test_reserved_memory_is_known_before_simulation() -> None:
    its = design({"tensor": 2, "pipeline": 2})
    assert bound(its)["memory.reserved"] == metrics(simulate(its))["memory.reserved"]


def test_the_stack_is_part_of_the_document() -> None:
    assert design_from(design().document()).key == design().key
    assert design().document()["software"]["memory"]["slack"] == 1.25


@pytest.mark.parametrize(
    ("card", "fabric", "beside"), [("h100-80gb", "dgx-h100", True), ("tpu-v5p", "tpu-v5p-pod", False)]
)
def test_a_process_takes_memory_of_a_gpu_and_nothing_that_a_tpu_has_left(card: str, fabric: str, beside: bool) -> None:
    document = {
        "workload": {"model": "llama3-8b", "global_batch": 64, "precision": "bf16"},
        "parallelism": {"zero": 3},
        "cluster": {"npu": card, "fabric": fabric, "npus": 64},
        "software": "maxtext",
    }
    found, stack = design_from(document), preset(Software, "software", "maxtext").memory
    needed = simulate(found).memory_bytes
    assert isinstance(needed, Memory)
    taken = stack.context + stack.communicator * count_communicators(found) if beside else 0.0
    assert needed.reserved - needed.peak == pytest.approx(taken)
    partial = {**document, "parallelism": {}, "cluster": {"npu": card, "npus": 64}}
    reserved, peak = (bound(partial)[f"memory.{name}"] for name in ("reserved", "peak"))
    assert reserved is not None
    assert peak is not None
    assert reserved - peak == pytest.approx(stack.context if beside else 0.0)
