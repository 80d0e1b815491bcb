"""Times on links that are kept for the tables of accuracy are those of the designs that are drawn today."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "accuracy"))

from flow_draws import KEPT, keep, operators_as_kept, read_kept
from flow_section import drawn, times_of
from queued_links import times_queued


@pytest.fixture(autouse=True)
def as_kept() -> Iterator[None]:
    with operators_as_kept():
        yield


@pytest.mark.parametrize("kind", [1, 2, 4, 5])
def test_the_first_draws_of_a_kind_take_on_links_what_is_kept(kind: int) -> None:
    kept = read_kept()
    for seed in islice((seed for seed in sorted(kept) if seed % 8 == kind), 3):
        design = drawn(seed)
        assert design is not None
        assert times_of(design, "reference_links") == kept[seed]["exact"]


def test_the_first_iterations_take_behind_the_queues_of_phases_what_is_kept() -> None:
    kept = read_kept()
    for seed in islice((seed for seed, found in sorted(kept.items()) if "queued" in found), 2):
        design = drawn(seed)
        assert design is not None
        assert times_queued(design) == {way: kept[seed][way] for way in ("queued", "queued_turns")}


def test_what_is_kept_is_written_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = read_kept()
    monkeypatch.setattr("flow_draws.KEPT", tmp_path / "kept.csv.gz")
    keep(kept)
    assert read_kept() == kept
    assert KEPT.stat().st_size < 300_000
