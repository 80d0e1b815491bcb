"""Exact fronts against brute force: `python tests/longrun/exact_fronts.py [SPACES] [SEED] [MOST]` draws so many spaces.

Of each kind of space that `exact` takes, in turn, with two to four objectives or expressions; spaces of more than MOST
combinations are passed over. Prints a line for each, and exits with 1 where a front differs. The same seed draws the
same spaces.
"""

from __future__ import annotations

import sys
import time
from itertools import count, product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "dse"))
sys.path.insert(0, str(Path(__file__).parents[1] / "dse" / "search"))

from kinds_of_space import KINDS, WANTED, drawn_space
from test_exact import brute_force, exact


def main() -> int:
    """The command line."""
    spaces, seed, most = (int(arg) for arg in [*sys.argv[1:], *("30", "0", "50000")[len(sys.argv) - 1 :]])
    differ = done = 0
    cases = list(product(WANTED, KINDS))
    for number in count():
        if done == spaces:
            break
        wanted, kind = cases[number % len(cases)]
        given = drawn_space(kind, wanted, seed + number)
        if given.count() > most:
            continue
        done += 1
        began = time.process_time()
        front, proof = exact(given, 32)
        proved = time.process_time()
        same = front == brute_force(given) and proof["complete"]
        differ += not same
        asked = ", ".join(objective.name for objective in given.objectives)
        took = f"{proved - began:.1f} s, brute force {time.process_time() - proved:.1f} s{'' if same else ': DIFFERS'}"
        counted = f"{given.count():,.0f} designs, {len(front)} on the front, {proof['simulated']} simulated"
        print(f"{kind} ({asked}): {counted}, {took}", flush=True)
    print(f"{done} spaces, {differ} fronts differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
