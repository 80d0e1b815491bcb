"""The front once more on the reference engine: every NPU, every phase, by SimPy instead of the compiled kernel.

What the reference engine cannot afford is reduced first (fewer layers, microbatches, chunks, NPUs), and the default
engine plays the same reduced design, so that the two answer the same question. Says what was reduced.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.execute.leash import hold_signals, tie_to_parent
from simcore.check.check import check
from simcore.check.load import design_from
from simcore.document.named_files import Place, know_places, known_places
from simcore.simulate import simulate

_TRIAL_NPUS = 8
SAFETY = 0.4
"""Share of the time that is planned for: an event of a whole iteration takes longer than one of the trial run."""


@dataclass(frozen=True, slots=True)
class Verified:
    """One front member on both engines."""

    trial: int
    workload: str
    """Its name, where a cluster is bought for several."""
    full_s: float
    """Iteration time of the whole design, as the run has it [s]."""
    fast_s: float
    """Iteration time of what was compared, default engine [s]."""
    reference_s: float | None
    """The same on the reference engine [s]; None where nothing of this design fits the budget."""
    reduced: tuple[str, ...]

    @property
    def difference(self) -> float | None:
        """Relative difference of the two engines."""
        return None if self.reference_s is None else self.reference_s / self.fast_s - 1.0


def verify(record: StudyRecord, seconds: float, jobs: int, links: bool) -> Iterator[Verified]:
    """Verify every member of the front within about `seconds` on `jobs` processes; in the order of the front.

    With `links` the reference engine moves every message over every link, which phases do not claim to match
    where many chunks are in flight.
    """
    parts = [(trial, name, part) for trial in record.front for name, part in trial.parts]
    budget = max(1, int(seconds * SAFETY * jobs / max(1, len(parts)) * events_per_second(links)))
    tasks = [(trial.number, name, _document(part), _time(part), budget, links) for trial, name, part in parts]
    if jobs == 1:
        yield from map(_verify, tasks)
        return
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_begin, initargs=(known_places(),))
    try:
        with hold_signals():
            found = pool.map(_verify, tasks)
        yield from found
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _begin(places: Mapping[str, Place]) -> None:
    """Begin a process, which finds the files of designs where this one did."""
    tie_to_parent()
    know_places(places)


def ranks(values: Sequence[float]) -> list[int]:
    """Rank of each value, 1 for the least."""
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(i) + 1 for i in range(len(values))]


def events_per_second(links: bool) -> float:
    """How fast the reference engine is on this machine, from a small run."""
    from simcore.engine.reference import estimate_events

    design = design_from(
        {
            "workload": {"collective": "all_reduce", "size": "64 MB"},
            "cluster": {
                "npu": "a100-80gb",
                "dimensions": [
                    {
                        "topology": "switch",
                        "size": _TRIAL_NPUS,
                        "bandwidth": "100 GB/s",
                        "latency": "1 us",
                        "tier": "node",
                    },
                    {
                        "topology": "switch",
                        "size": _TRIAL_NPUS,
                        "bandwidth": "25 GB/s",
                        "latency": "1 us",
                        "tier": "pod",
                    },
                ],
            },
        }
    )
    engine = "reference_links" if links else "reference"
    simulate(design, engine)
    begin = time.perf_counter()
    simulate(design, engine)
    return estimate_events(design, links) / (time.perf_counter() - begin)


def _document(trial: TrialRecord) -> dict[str, Any]:
    assert trial.design is not None
    return dict(trial.design)


def _time(trial: TrialRecord) -> float:
    assert trial.metrics is not None
    return float(trial.metrics["iteration_time_s"])


def _verify(task: tuple[int, str, Mapping[str, Any], float, int, bool]) -> Verified:
    from simcore.engine.reference import EventBudgetError, reduce_design

    number, name, document, full, budget, links = task
    design = design_from(document)
    try:
        design, notes = reduce_design(design, check, budget, links)
    except EventBudgetError:
        return Verified(number, name, full, simulate(design).iteration_time_s, None, ("does not fit the budget",))
    engine = "reference_links" if links else "reference"
    fast = simulate(design).iteration_time_s
    return Verified(number, name, full, fast, simulate(design, engine).iteration_time_s, notes)
