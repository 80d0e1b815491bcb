"""What is kept from design to design changes no result: each design gets what it would get alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from designs import dimension, model, training

from simcore.bounds import estimate as estimates
from simcore.bounds.estimate import estimate
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.design.once import once_for
from simcore.engine.fast import on_network
from simcore.simulate import simulate
from simcore.system import known_phases as known
from simcore.system.chunks import Chunker
from simcore.system.placement import place

SIZE = 3e6


def forget() -> None:
    known._known.cache_clear()
    on_network._known.cache_clear()


def design(changes: dict[str, Any] | None = None, **system: Any) -> Design:
    dimensions = [dimension("ring", 4, "100 GB/s", tier="node"), dimension("switch", 8, "25 GB/s")]
    document = training(
        {"tensor": 2, "pipeline": 2, "zero": 1},
        dimensions,
        workload={"model": model(layers=8), "global_batch": 64},
        system={"chunks": 4, "inter_dimension": "themis", **system},
    )
    return design_from(document).with_(changes or {})


CHANGES: list[Callable[[], Design]] = [
    design,
    lambda: design({"cluster.dimensions[1].bandwidth": "20 GB/s"}),
    lambda: design({"cluster.dimensions[0].latency": "3 us"}),
    lambda: design(chunks=8),
    lambda: design(inter_dimension="baseline"),
    lambda: design(collective=["direct", "ring"]),
    lambda: design(intra_dimension="fifo"),
    lambda: design(intra_dimension="preemptive"),
    lambda: design(active_chunks=2),
    lambda: design({"software": "megatron-core"}),
    lambda: design({"workload.global_batch": 128}),
    lambda: design({"cluster.dimensions[1].in_network": True}),
    lambda: design({"cluster.dimensions[1].in_network": True, "cluster.dimensions[1].trees": 1}),
]


def test_designs_get_what_they_would_get_if_nothing_were_kept() -> None:
    forget()
    together = [(simulate(make()), estimate(make())) for make in CHANGES]
    for make, found in zip(CHANGES, together, strict=True):
        forget()
        assert (simulate(make()), estimate(make())) == found


def test_collectives_are_shared_by_designs_of_one_network_alone() -> None:
    one, same, other = design(), design({"workload.global_batch": 128}), CHANGES[1]()
    group = place(one)[0]["data"]
    split = Chunker(one).split_collective("all_reduce", group, SIZE)
    assert Chunker(same).split_collective("all_reduce", group, SIZE) is split
    assert Chunker(other).split_collective("all_reduce", group, SIZE) != split


def test_nothing_is_shared_where_the_whole_job_says_who_has_a_tree() -> None:
    found = CHANGES[-1]()
    assert known.network_of(found) is None
    assert known.known_phases(found) is not known.known_phases(CHANGES[-1]())


def test_a_store_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_COLLECTIVES", 2)
    forget()
    chunker, its = Chunker(design()), known.known_phases(design())
    for size in (1e6, 2e6, 3e6):
        chunker.split_collective("all_reduce", place(chunker.design)[0]["data"], size)
    assert len(its.collectives) == 1


def test_estimates_are_the_same_where_their_sums_might_not_fit_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    found = estimate(design())
    monkeypatch.setattr(estimates, "_LARGEST", 0)
    assert estimate(design()) == found


def test_a_function_is_called_once_for_equal_questions() -> None:
    calls = []

    def asked(its: Design) -> Any:
        return None if its.hypothetical else its.workload

    @once_for(asked, most=2)
    def batch(its: Design) -> int:
        calls.append(its)
        return int(its.workload.global_batch)

    designs = [design({"workload.global_batch": size}) for size in (64, 64, 128, 256, 64)]
    assert [batch(each) for each in designs] == [64, 64, 128, 256, 64]
    assert len(calls) == 4  # the third question drops the first two
    alone = design({"hypothetical": True})
    assert batch(alone) == batch(alone) == 64
    assert len(calls) == 5  # kept with the design itself
