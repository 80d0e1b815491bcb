"""Samplers at equal trials and at equal CPU seconds.

`python tests/benchmarks/bench_rivals.py [SEEDS] [TRIALS] [SECONDS] [NAME…]`; names are of rivals, and of spaces.

Each rival (`tests/benchmarks/rivals`) searches each space of `tests/benchmarks/rival_spaces` with each seed. In front
of all of them stands the same filter: a design that breaks a rule, does not fit into memory or breaks another
constraint that needs no simulation is told to the rival with its violations, and is no trial; nor is a repeat. CPU
seconds are the rival's own, the filter's, and those of its simulations, each as long as it took the first time. A run
ends once it has both its trials and its seconds, or `MOST` times the seconds.

Printed are mean and, in brackets, least hypervolume over the seeds as a share of that of the front that all runs found
together (reference point 1.1 x its nadir): after TRIALS trials, and after SECONDS CPU seconds; with the trials that it
had by then. `-`: a rival that cannot search the space, or has fewer trials after `MOST` times the seconds.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parent)]

from rivals import RIVALS, UnsuitedError  # noqa: E402  # after the path

from dse.evaluate.evaluate import Evaluator, Outcome  # noqa: E402
from dse.evaluate.pareto import front_mask, hypervolume, reference_point  # noqa: E402
from dse.search.base import Proposal, Sampler  # noqa: E402
from dse.space.draw import RandomDraw  # noqa: E402
from dse.space.objective import losses  # noqa: E402
from dse.space.space import Space, load_space  # noqa: E402
from simcore.bounds.estimate import estimate  # noqa: E402
from simcore.check.load import parse_design  # noqa: E402

SPACES = sorted((Path(__file__).parent / "rival_spaces").glob("*.yaml"))
MOST = 3.0
MOST_REPEATS = 1_000
"""Proposals in a row that are no trials after which a run ends."""

WARMING = 200
"""Random designs that are evaluated before anything is timed."""


class Simulations:
    """Outcomes of a space's designs, and the CPU seconds that each took when it was first asked for."""

    def __init__(self, space: Space) -> None:
        self.space, self._evaluator = space, Evaluator(space.objectives, space.constraints)
        self._known: dict[str, tuple[Outcome, float]] = {}

    def of(self, proposal: Proposal) -> tuple[str, Outcome, float]:
        """The design's key, its outcome, and what that costs."""
        key = proposal.key or self.space.key(proposal.filled)
        if key not in self._known:
            begun = time.process_time()
            outcome = self._evaluator(proposal.filled.document)
            self._known[key] = outcome, time.process_time() - begun
        return key, *self._known[key]

    def losses(self, outcome: Outcome) -> tuple[float, ...]:
        """Values of an outcome, to be minimised."""
        return tuple(map(float, losses(self.space.objectives, [outcome.values])[0]))


@dataclass
class Run:
    """What one rival found in one space with one seed."""

    seconds: list[float] = field(default_factory=list)
    """CPU seconds until each trial had its outcome."""
    found: list[tuple[float, ...] | None] = field(default_factory=list)
    """Its values; None where a constraint on results is broken."""

    def rows(self, count: int) -> list[tuple[float, ...]]:
        """Values of the feasible of the first trials."""
        return [row for row in self.found[:count] if row is not None]

    def trials_in(self, seconds: float) -> int:
        """Trials that had their outcomes after so many CPU seconds."""
        return sum(spent <= seconds for spent in self.seconds)


@dataclass
class _Search:
    """A run that goes on."""

    sampler: Sampler
    simulations: Simulations
    batch: int
    run: Run = field(default_factory=Run)
    spent: float = 0.0
    idle: int = 0
    """Proposals in a row that were no trials."""
    _seen: set[str] = field(default_factory=set)

    def go_on(self) -> bool:
        """One batch; whether the sampler proposed anything."""
        trials = list[tuple[Any, Outcome]]()
        begun = time.process_time()
        wanted = self.sampler.next_batch(self.batch)
        while len(trials) < wanted and self.idle < MOST_REPEATS:
            proposal = self.sampler.ask()
            if proposal is None:
                self.idle = MOST_REPEATS
                break
            self.spent += time.process_time() - begun
            key, outcome, cost = self.simulations.of(proposal)
            begun = time.process_time()
            self.idle += 1
            if key in self._seen:
                self.sampler.reject(proposal)
                continue
            self._seen.add(key)
            self.spent += cost
            if outcome.metrics is None:  # the filter: told, and no trial
                self.sampler.tell(proposal, self.simulations.losses(outcome), outcome.violations)
                continue
            trials.append((proposal, outcome))
            self.idle = 0
        for proposal, outcome in trials:
            self.sampler.tell(proposal, self.simulations.losses(outcome), outcome.violations)
        self.spent += time.process_time() - begun
        for _, outcome in trials:
            self.run.seconds.append(self.spent)
            self.run.found.append(self.simulations.losses(outcome) if outcome.state == "feasible" else None)
        return bool(trials)


def warm_up(space: Space) -> None:
    """Load kernels and fill stores by designs of its own, so that no rival pays for that in its seconds."""
    draw, evaluator = RandomDraw(np.random.default_rng(2026)), Evaluator(space.objectives, space.constraints)
    for _ in range(WARMING):
        design, _ = parse_design(space.fill(draw).document)
        if design is not None and evaluator.evaluate_design(design).metrics is not None:
            estimate(design)


def search(rival: ModuleType, simulations: Simulations, seed: int, trials: int, seconds: float) -> Run | None:
    """A run of a rival; None where it cannot search the space."""
    space = simulations.space
    begun = time.process_time()
    try:
        sampler = rival.make(space, seed)
    except UnsuitedError:
        return None
    one = _Search(sampler, simulations, rival.BATCH or space.settings.batch, spent=time.process_time() - begun)
    while len(one.run.found) < trials or one.spent < seconds:
        if one.spent > MOST * seconds or not one.go_on():
            break
    return one.run


def print_space(runs: dict[str, list[Run | None]], trials: int, seconds: float) -> None:
    """The rows of a space."""
    everything = np.array([row for each in runs.values() for run in each if run for row in run.rows(len(run.found))])
    front = np.unique(everything[front_mask(everything)], axis=0)
    reference = reference_point(front)
    whole = hypervolume(front, reference)
    print(f"{len(front)} designs on the front of all runs")

    def share(rows: list[tuple[float, ...]]) -> float:
        return hypervolume(np.array(rows), reference) / whole if rows else 0.0

    print(
        f"{'rival':>14} {f'{trials} trials':>16} {f'{seconds:g} CPU s':>16} {'trials then':>12} {'CPU s for them':>15}"
    )
    for name, each in runs.items():
        done = [run for run in each if run is not None]
        if not done:
            print(f"{name:>14} {'-':>16} {'-':>16}")
            continue
        full = all(len(run.found) >= trials for run in done)
        at_trials = [share(run.rows(trials)) for run in done]
        at_seconds = [share(run.rows(run.trials_in(seconds))) for run in done]
        first, second = (f"{np.mean(x):.3f} ({min(x):.3f})" for x in (at_trials, at_seconds))
        needed = f"{np.mean([run.seconds[trials - 1] for run in done]):.1f}" if full else "-"
        then = np.mean([run.trials_in(seconds) for run in done])
        print(f"{name:>14} {first if full else '-':>16} {second:>16} {then:>12.0f} {needed:>15}", flush=True)


def main() -> None:
    """Print the tables."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 20.0
    named, rivals = sys.argv[4:], list[ModuleType]()
    for name in [name for name in RIVALS if name in named] or RIVALS:
        try:
            rivals.append(import_module(f"rivals.{name}"))
        except ImportError as error:
            print(f"{name} is left out: {error}")
    for path in [path for path in SPACES if path.stem in named] or SPACES:
        space = load_space(path)
        simulations = Simulations(space)
        warm_up(space)
        print(f"\n{path.stem}: {space.count():,} combinations")
        runs: dict[str, list[Run | None]] = {}
        for rival in rivals:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                runs[rival.NAME] = [search(rival, simulations, seed, trials, seconds) for seed in range(seeds)]
            print(f"searched by {rival.NAME}", file=sys.stderr, flush=True)
        print_space(runs, trials, seconds)


if __name__ == "__main__":
    main()
