"""Trials of a slow engine with and without the fast view: `python tests/benchmarks/bench_fidelity.py [SEEDS] [N]`.

Every design of a space is played by the slow engine first, which gives its front. Then each sampler searches it with N
trials. Printed are the trials of each seed until the hypervolume reached shares of that of the front (reference point
1.1 x its nadir), and the sampler's own CPU time a trial. `congested` stands for an engine of 200 ms a design: it does
not really take them, because trials are counted. First the share that the designs on the fast engine's front have.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path[:0] = [str(Path(__file__).parent)]

from dse.evaluate.evaluate import Evaluator, Outcome  # noqa: E402  # after the path
from dse.evaluate.pareto import front_mask, hypervolume, reference_point  # noqa: E402
from dse.search import make_sampler  # noqa: E402
from dse.space.objective import losses  # noqa: E402
from dse.space.space import Space, load_space  # noqa: E402

SPACES = {"congested": "congested_engine:congested", "links": "reference_links"}
SAMPLERS = ("multi-fidelity", "guided", "nsga2", "random")
SHARES = (0.9, 0.99, 0.999)
MOST_REPEATS = 300


class Played:
    """What an engine says of every design of a space."""

    def __init__(self, space: Space, engine: str) -> None:
        evaluator = Evaluator(space.objectives, space.constraints, engine)
        self.space, self._known = space, dict[str, Outcome]()
        for filled in space.enumerate():
            self._known.setdefault(space.key(filled), evaluator(filled.document))
        self.rows = np.array([self.losses(key) for key in self.feasible()])
        front = self.rows[front_mask(self.rows)]
        self.members = len(np.unique(front, axis=0))
        self._reference = reference_point(front)
        self._whole = hypervolume(front, self._reference)

    def __getitem__(self, key: str) -> Outcome:
        return self._known[key]

    def feasible(self) -> list[str]:
        """Keys of the feasible designs."""
        return [key for key, outcome in self._known.items() if outcome.state == "feasible"]

    def losses(self, key: str) -> tuple[float, ...]:
        """Values of a design, to be minimised."""
        return tuple(map(float, losses(self.space.objectives, [self._known[key].values])[0]))

    def share(self, rows: NDArray[np.float64]) -> float:
        """Hypervolume of points as a share of that of the front."""
        return hypervolume(rows, self._reference) / self._whole if len(rows) else 0.0


def search(played: Played, name: str, seed: int, trials: int) -> tuple[list[float], float]:
    """The share of the front after each trial, and the CPU seconds of the sampler."""
    space, found = played.space, list[tuple[float, ...]]()
    sampler, shares, seen = make_sampler(name, space, seed), list[float](), set[str]()
    begun, spent = time.process_time(), 0.0

    def batch() -> Iterator[tuple[object, str]]:
        repeats, wanted = 0, sampler.next_batch(min(space.settings.batch, trials - len(shares)))
        while wanted and repeats < MOST_REPEATS and (proposal := sampler.ask()) is not None:
            key = proposal.key or space.key(proposal.filled)
            if key in seen:
                sampler.reject(proposal)
                repeats += 1
                continue
            seen.add(key)
            repeats, wanted = 0, wanted - 1
            yield proposal, key

    while len(shares) < trials and (proposed := list(batch())):
        spent += time.process_time() - begun
        for _, key in proposed:
            found += [played.losses(key)] if played[key].state == "feasible" else []
            shares.append(played.share(np.array(found)))
        begun = time.process_time()
        for proposal, key in proposed:
            sampler.tell(proposal, played.losses(key), played[key].violations)
    return shares, spent


def main() -> None:
    """Print the tables."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    for name, engine in SPACES.items():
        space = load_space(Path(__file__).parent / "search_spaces" / f"{name}.yaml")
        slow, fast = Played(space, engine), Played(space, "auto")
        keys = slow.feasible()
        both = np.array([[slow.losses(key)[0], fast.losses(key)[0]] for key in keys])
        ratio = both[:, 0] / both[:, 1]
        best = np.array([slow.losses(key) for key, kept in zip(keys, front_mask(fast.rows), strict=True) if kept])
        print(
            f"\n{name}, {engine}: {len(keys):,} feasible designs, {slow.members} on the front; its times are "
            f"{ratio.min():.2f} to {ratio.max():.2f} times those of the fast engine (median {np.median(ratio):.2f}); "
            f"the {len(best)} designs of the fast engine's front come to {slow.share(best):.3f} of the hypervolume"
        )
        print(f"{'sampler':>15} " + " ".join(f"{f'to {share}':>20}" for share in SHARES) + f" {'CPU ms/trial':>13}")
        for sampler in SAMPLERS:
            runs = [search(slow, sampler, seed, trials) for seed in range(seeds)]
            cells = []
            for share in SHARES:
                reached = [next((n + 1 for n, now in enumerate(run) if now >= share), None) for run, _ in runs]
                cells.append(", ".join("-" if n is None else str(n) for n in reached))
            cpu = sum(spent for _, spent in runs) / sum(len(run) for run, _ in runs) * 1e3
            print(f"{sampler:>15} " + " ".join(f"{cell:>20}" for cell in cells) + f" {cpu:>13.0f}", flush=True)


if __name__ == "__main__":
    main()
