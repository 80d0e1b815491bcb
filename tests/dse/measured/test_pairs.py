"""How sure scenarios are of two configurations of a job, against measured pairs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dse.measured.measured import MeasuredIteration, read_tables
from dse.measured.pairs import StatedPair, calibrate_pairs, log_score, state_pairs
from simcore.uncertainty.draws import Scenarios
from simcore.uncertainty.parameters import REST

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests" / "accuracy"))

from iterations_section import TABLES  # noqa: E402  # the tables lie with the page that they are for


@pytest.fixture(scope="module")
def rows() -> list[MeasuredIteration]:
    return read_tables(TABLES)


@pytest.fixture(scope="module")
def pairs(rows: list[MeasuredIteration]) -> list[StatedPair]:
    return list(state_pairs(rows, Scenarios(256)))


def test_figures_by_hand() -> None:
    found = calibrate_pairs([StatedPair("a", 0.75, True, 1.0), StatedPair("b", 0.75, False, 3.0)])
    assert (found.pairs, found.jobs) == (2, 2)
    assert found.brier == pytest.approx((0.25**2 + 3 * 0.75**2) / 4)
    (only,) = found.bins
    assert (only.pairs, only.jobs, only.stated, only.observed) == (2, 2, 0.75, 0.25)
    assert found.expected_error == pytest.approx(0.5)
    assert only.limit == pytest.approx(1.96 * (0.75 * 0.25 / 2) ** 0.5, rel=1e-3)


def test_what_is_stated_is_what_happens_within_what_so_many_jobs_can_tell(pairs: list[StatedPair]) -> None:
    found = calibrate_pairs(pairs)
    assert (found.pairs, found.jobs) == (5139, 111)
    for one in found.bins:
        assert abs(one.stated - one.observed) < one.limit + 0.005, one
    assert found.brier < 0.05
    assert found.expected_error < 0.02


def test_the_share_that_is_a_designs_own_is_the_least_surprised_by_the_pairs(
    rows: list[MeasuredIteration], pairs: list[StatedPair]
) -> None:
    """Neither none nor more: so it fails if intervals or spreads move and the share does not."""
    none, more = (list(state_pairs(rows, Scenarios(256), share)) for share in (0.0, REST.spread + 0.2))
    assert log_score(pairs) < min(log_score(none), log_score(more))
    boldest = calibrate_pairs(none).bins[-1]
    assert boldest.stated - boldest.observed > boldest.limit


def test_a_page_that_says_it_has_todays_figures(pairs: list[StatedPair]) -> None:
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    found = calibrate_pairs(pairs)
    assert f"Of {found.pairs:,} pairs in {found.jobs} jobs" in page
    assert f"Brier score {found.brier:.3f}" in page
    for one in found.bins:
        assert f"| {one.pairs:,} | {one.jobs} | {100 * one.stated:.1f} | {100 * one.observed:.1f} |" in page
