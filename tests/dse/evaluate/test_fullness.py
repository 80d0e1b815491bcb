"""How full a memory is: of both where one takes what the other does not hold, else of the NPU's own."""

from __future__ import annotations

from typing import Any

import pytest

from dse.evaluate.fullness import memory_shares, spills
from simcore.check.load import design_from
from simcore.simulate import simulate


def simulated(place: list[str], capacity: str) -> Any:
    expanded = {"capacity": capacity, "bandwidth": "500 GB/s", "place": place}
    cluster = {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 64, "memory": {"expanded": expanded}}
    workload = {"model": "gpt3-175b", "global_batch": 64}
    parallelism = {"tensor": 8, "zero": 1, "recompute": "full"}
    return simulate(design_from({"workload": workload, "parallelism": parallelism, "cluster": cluster}))


@pytest.mark.parametrize("capacity", ["100 GB", "400 GB"])
def test_what_spills_has_the_room_of_both_memories(capacity: str) -> None:
    result = simulated(["spill"], capacity)
    memory = result.memory_bytes
    assert memory.expanded > 0
    assert spills(memory)
    assert memory_shares(result) == (memory.reserved / result.memory_capacity_bytes,)


def test_what_is_placed_elsewhere_leaves_the_npus_own_memory_as_full_as_the_rest_makes_it() -> None:
    result = simulated(["optimizer"], "100 GB")
    memory = result.memory_bytes
    assert not spills(memory)
    own, beside = memory_shares(result)
    assert own == pytest.approx((memory.reserved - memory.optimizer) / memory.own)
    assert beside == pytest.approx(memory.optimizer / 100e9)
