"""A matrix that the first and the last stage both have: they add its gradients up, on every engine."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, model, training

from simcore import Design, bound, simulate
from simcore.check.load import design_from
from simcore.program import TO_OTHER_END, Start
from simcore.workload.transformer.program import transformer_program

VOCABULARY, HIDDEN = 50304, 512
NETWORK = [dimension(size=4), dimension(size=4)]


def design(tied: bool = True, system: dict[str, Any] | None = None, **parallelism: Any) -> Design:
    """Two tensor ranks, four stages, two copies."""
    shape = model(vocabulary=VOCABULARY, hidden=HIDDEN, layers=8, tied=tied)
    sections = {"tensor": 2, "pipeline": 4, "data": 2, **parallelism}
    document = training(sections, NETWORK, workload={"model": shape})
    return design_from({**document, "system": {**document.get("system", {}), **(system or {})}})


def sent(given: Design) -> list[list[tuple[str, float]]]:
    """What each stage sends to the other end after its last microbatch."""
    return [
        [(op.kind, op.size) for s in final for op in s.operators if isinstance(op, Start) and op.kind in TO_OTHER_END]
        for final in transformer_program(given).final
    ]


@pytest.mark.parametrize(("zero", "share"), [(0, 1), (1, 1), (3, 2)])
def test_the_ends_send_each_other_its_gradients(zero: int, share: int) -> None:
    size = VOCABULARY * HIDDEN / 2 / share * 2
    assert sent(design(zero=zero)) == [[("to_last_stage", size)], [], [], [("to_first_stage", size)]]


def test_nothing_is_sent_where_it_is_not_shared_or_both_ends_are_on_one_stage() -> None:
    assert sent(design(tied=False)) == [[], [], [], []]
    assert sent(design(schedule="zbv", interleave=2)) == [[], [], [], []]
    assert sent(design(pipeline=1, data=8)) == [[]]


@pytest.mark.parametrize("parallelism", [{}, {"interleave": 2}, {"schedule": "gpipe"}, {"pipeline": 2, "data": 4}])
def test_engines_agree_and_it_takes_what_its_bytes_take(parallelism: dict[str, Any]) -> None:
    given, apart = design(**parallelism), design(tied=False, **parallelism)
    fast = simulate(given)
    for engine in ("reference", "flow"):
        assert simulate(given, engine=engine).iteration_time_s == fast.iteration_time_s
    least = bound(given)["iteration_time"]
    assert least is not None
    assert least <= fast.iteration_time_s
    longer = fast.iteration_time_s - simulate(apart).iteration_time_s
    slowest = min(d.bandwidth for d in given.cluster.dimensions)
    assert longer >= VOCABULARY * HIDDEN / 2 * 2 / slowest * 0.99


def test_messages_on_links_take_what_phases_do() -> None:
    """In eight chunks, of which one goes on while the next one comes in."""
    both = [design(tied, system={"chunks": 8}) for tied in (True, False)]
    longer = [
        simulate(both[0], engine=engine).iteration_time_s - simulate(both[1], engine=engine).iteration_time_s
        for engine in ("fast", "reference_links")
    ]
    assert longer[1] == pytest.approx(longer[0], rel=1e-6)
