"""A search and the certificate beside it share one table of jobs, and prove and propose what they would without it."""

from __future__ import annotations

import gc

import pytest
from tiny_spaces import space, tiny

from dse.proof import job_table, relax
from dse.proof.certificate import certify
from dse.proof.relax import LeastTimes
from dse.space.space import Space
from simcore.check.load import parse_sound
from simcore.design.design import Design


def last_design(given: Space) -> Design:
    """The last design of a space: a certificate begins elsewhere."""
    *_, last = (filled.document for filled in given.enumerate())
    return parse_sound(last)


def test_jobs_are_listed_once_for_a_search_and_its_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    group = relax.group_by_workload
    monkeypatch.setattr(relax, "group_by_workload", lambda *given: listed.append("") or group(*given))
    gc.collect()
    of_others = {*job_table._tables}
    alone = certify(space(), "fast")
    assert listed
    gc.collect()
    assert {*job_table._tables} == of_others  # nothing is kept when nobody asks any more

    listed.clear()
    times = LeastTimes(space())
    queue = times.queue(last_design(space()))
    assert queue is not None
    queue.begin()
    of_search = len(listed)
    assert certify(space(), "fast") == alone
    assert len(listed) == of_search


def test_first_keys_with_joules_are_other_ones() -> None:
    timed = space()
    energetic = space(tiny(objectives={"minimize": ["iteration_time", "energy"]}))
    assert timed.template.keys() == energetic.template.keys()
    its, other = LeastTimes(timed), LeastTimes(energetic)
    assert its._table is LeastTimes(timed)._table
    assert its._table is not other._table
