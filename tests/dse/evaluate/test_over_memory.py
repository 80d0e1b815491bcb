"""How far a design is from fitting, and what would help, in bytes."""

from __future__ import annotations

from typing import Any

from dse.evaluate.over_memory import overflow
from simcore.check.load import design_from
from simcore.memory.expanded import capacity
from simcore.memory.plan import memory_needed

CLUSTER = {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 16}


def document(model: str, **parallelism: Any) -> dict[str, Any]:
    workload = {"model": model, "global_batch": 64, "sequence_length": 8192, "precision": "bf16"}
    return design_from({"workload": workload, "parallelism": parallelism, "cluster": CLUSTER}).document()


def reserved(whole: dict[str, Any], **parallelism: Any) -> float:
    memory = memory_needed(design_from({**whole, "parallelism": {**whole["parallelism"], **parallelism}}))
    assert memory is not None
    return memory.reserved


def test_a_design_that_fits_has_no_overflow() -> None:
    assert overflow(document("llama3-8b", tensor=8)) is None


def test_each_remedy_is_what_the_design_would_need_with_that_change_alone() -> None:
    whole = document("llama3-8b", tensor=1)
    found = overflow(whole)
    assert found is not None
    assert found.needed == reserved(whole) > found.capacity == capacity(design_from(whole))
    remedies = dict(found.remedies)
    assert remedies["recompute: full"] == reserved(whole, recompute="full")
    assert remedies["tensor: 2, data: 8"] == reserved(whole, tensor=2, data=8)
    assert list(remedies.values()) == sorted(remedies.values())
    text = str(found)
    assert f"{(found.needed - found.capacity) / 2**30:.4g} GiB an NPU: it needs" in text
    assert "what would do: " in text


def test_where_no_single_change_does_it_says_which_saves_most() -> None:
    found = overflow(document("llama3-405b", tensor=8))
    assert found is not None
    assert f"no single change of its parallelism would do (most saves {found.remedies[0][0]}: " in str(found)
    assert "NPUs with more memory" in str(found)


def test_an_invalid_design_and_one_without_memory_have_no_overflow() -> None:
    broken = document("llama3-8b", tensor=1)
    broken["parallelism"]["microbatch"] = 7
    assert overflow(broken) is None
    alone = {"workload": {"collective": "all_reduce", "size": "1 GiB"}, "cluster": CLUSTER}
    assert overflow(design_from(alone).document()) is None
