"""The closed form of goodput against jobs played event by event: `python tests/longrun/weeks.py 500 [SEED]`.

Draws so many jobs whose failures are at least ten times as far apart as a checkpoint and a restart take, plays each
until the standard error of its goodput is at most 0.3 %, and prints a line for each and what they come to; exits with
1 where one is more than 1 % off. The same seed draws the same jobs.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "simcore" / "reliability"))

from drawn_jobs import draw_job

from simcore.reliability.goodput import goodput, waiting
from simcore.reliability.played import play_until

OFF, ERROR = 0.01, 0.003
HEAD = "    job  hours  stall s  write s  restart s  spares  waits  closed  played  off %  error %"


def main() -> int:
    """The command line."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    generator = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    begin, off = time.perf_counter(), []
    sys.stdout.write(HEAD + "\n")
    for number in range(count):
        what, iteration = draw_job(generator)
        closed, played = goodput(what, iteration), play_until(what, iteration, ERROR, seed=number)
        off.append(played.goodput / closed - 1.0)
        spares = "-" if what.spares is None else str(what.spares)
        sys.stdout.write(
            f"{number:7} {1 / what.failures / 3600:6.1f} {what.stall:8.1f} {what.write:8.1f} {what.restart:10.1f} "
            f"{spares:>7} {float(waiting(what)):6.3f} {closed:7.4f} {played.goodput:7.4f} {100 * off[-1]:6.2f} "
            f"{100 * played.error / played.goodput:8.2f}\n"
        )
    most, root = max(map(abs, off)), float(np.sqrt(np.mean(np.square(off))))
    took = time.perf_counter() - begin
    sys.stdout.write(f"{count} jobs, {took:.0f} s: at most {most:.2%} off, {root:.2%} in the root mean square, ")
    sys.stdout.write(f"{np.mean(off):+.3%} on average\n")
    return int(most > OFF)


if __name__ == "__main__":
    sys.exit(main())
