"""Stated probabilities that one configuration beats another, against how often it did, for `docs/accuracy.md`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from iterations_section import TABLES  # beside this file

from dse.measured.measured import read_tables
from dse.measured.pairs import PairCalibration, StatedPair, calibrate_pairs, log_score, state_pairs
from dse.whatif.scenarios import COUNT
from simcore.uncertainty.draws import Scenarios
from simcore.uncertainty.parameters import REST

SHARES = tuple(place / 20 for place in range(2, 15))
"""Among which the share of the spread that is a design's own was chosen: 0.1 to 0.7."""

TEXT = """\
Of {pairs:,} pairs in {jobs} jobs, where two configurations of one job were measured: how sure the scenarios were that
the one predicted to be faster is faster, and how often it was. A job counts as many times as it has configurations less
one. *Limit* is by how much the shares may differ by chance, if pairs of one job are one observation.

| stated | pairs | jobs | mean stated, % | happened, % | limit, points |
|---|--:|--:|--:|--:|--:|
{bins}

Brier score {brier:.3f} (0.25 knows nothing), expected calibration error {error:.1f} points. By stack and device:

| stack, device | pairs | jobs | mean stated, % | happened, % | Brier |
|---|--:|--:|--:|--:|--:|
{groups}

One number was fitted to these pairs: the share of an interval's spread that is a design's own, {rest:g}, by the least
log score. Without any one of the {jobs} jobs it is {least:g} to {most:g}. With the share that is found without a job,
the job's own pairs have a Brier score of {left:.3f}."""


def pairs_section() -> str:
    """The table, its figures, and what leaving jobs out changes."""
    rows, draws = read_tables(TABLES), Scenarios(COUNT)
    tried = {share: list(state_pairs(rows, draws, share)) for share in SHARES}
    chosen = _leave_out(tried)
    pairs = tried[REST.spread]
    found = calibrate_pairs(pairs)
    left = calibrate_pairs([pair for job, share in chosen.items() for pair in tried[share] if pair.job == job])
    return TEXT.format(
        pairs=found.pairs,
        jobs=found.jobs,
        bins="\n".join(_bins(found)),
        brier=found.brier,
        error=100 * found.expected_error,
        groups="\n".join(_groups(pairs)),
        rest=REST.spread,
        least=min(chosen.values()),
        most=max(chosen.values()),
        left=left.brier,
    )


def best_share(tried: dict[float, list[StatedPair]]) -> float:
    """The share with the least surprise."""
    return min(tried, key=lambda share: log_score(tried[share]))


def _leave_out(tried: dict[float, list[StatedPair]]) -> dict[Hashable, float]:
    """By job, the share that is found without it."""
    whole = {share: log_score(pairs) for share, pairs in tried.items()}
    own: dict[Hashable, dict[float, float]] = defaultdict(lambda: dict.fromkeys(tried, 0.0))
    for share, pairs in tried.items():
        for pair in pairs:
            own[pair.job][share] += log_score([pair])
    return {job: min(tried, key=lambda share: whole[share] - lost[share]) for job, lost in own.items()}


def _bins(found: PairCalibration) -> Iterator[str]:
    for one in found.bins:
        stated, observed = 100 * one.stated, 100 * one.observed
        where = f"{100 * one.low:.0f} to {100 * one.high:.0f} %"
        yield f"| {where} | {one.pairs:,} | {one.jobs} | {stated:.1f} | {observed:.1f} | {100 * one.limit:.1f} |"


def _groups(pairs: Sequence[StatedPair]) -> Iterator[str]:
    groups: dict[str, list[StatedPair]] = defaultdict(list)
    for pair in pairs:
        assert isinstance(pair.job, tuple)
        stack, device, *_ = pair.job
        groups[f"{stack}, {device}"].append(pair)
    for name, inside in sorted(groups.items()):
        found = calibrate_pairs(inside)
        weight = sum(pair.weight for pair in inside)
        stated = sum(pair.weight * pair.stated for pair in inside) / weight
        right = sum(pair.weight * pair.right for pair in inside) / weight
        yield (
            f"| {name} | {found.pairs:,} | {found.jobs} | {100 * stated:.1f} | {100 * right:.1f} | {found.brier:.3f} |"
        )
