"""Exact fronts against brute force: `exact_fronts.py [SPACES] [SEED] [MOST] [LEAST]` draws so many spaces.

Of each kind of space that `exact` takes, in turn, with two to four objectives or expressions; spaces of more than MOST
combinations are passed over. With LEAST they are wider: more parameters of the network, of the machines and of how
these are used (`kinds_of_space.wide_space`), and in turn with them the spaces of models and networks that are sold
(`tests/benchmarks/drawn_spaces.py`); those of fewer combinations than LEAST are passed over. Each is proved as it is,
and with a drawn limit on an objective that a third of its designs meet; its certificate must hold, too. Without LEAST,
buying for several workloads is in turn with them: clusters by nested brute force, software tuned by `exact`. Prints a
line for each, and exits with 1 where something differs. The same seed draws the same spaces.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import count, product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "dse"))
sys.path.insert(0, str(Path(__file__).parents[1] / "dse" / "search"))
sys.path.insert(0, str(Path(__file__).parents[1] / "dse" / "buy"))
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import bought
from drawn_spaces import drawn_document
from kinds_of_space import KINDS, WANTED, drawn_limit, drawn_space, wide_space
from test_brute_force import same_as_brute_force
from test_exact import exact, feasible, nondominated

from dse.proof.certificate import certify
from dse.space.space import Space, load_space

Rows = dict[str, tuple[float, ...]]
_ROUNDING = 1e-9
BUDGETS = (("2 GB/s", "20 GB/s"), ("5 GB/s", "300 GB/s"), ("1 GB/s", "100 GB/s"))


def differs(given: Space, rows: Rows) -> str:
    """What of the exact front or of the certificate of a space is not as its feasible designs are; empty: nothing."""
    front, proof = exact(given, 32)
    if front != nondominated(rows):
        return "the FRONT differs"
    if not proof["complete"]:
        return "the proof is NOT COMPLETE"
    found, values = certify(given, "auto"), np.array([*rows.values()]).reshape(-1, len(given.objectives))
    for column, objective in enumerate(given.objectives if rows else ()):
        bound, best = found.limits[objective.name].value, float(values[:, column].min())
        if bound is not None and objective.sign * bound > best + _ROUNDING * abs(best):
            return f"the BOUND of {objective.name} is {bound}, and {objective.sign * best} is attained"
    if found.corners is not None and rows:
        corners = np.array(found.corners).reshape(-1, values.shape[1])
        beyond = values + _ROUNDING * abs(values)
        if not all((corners <= row).all(axis=1).any() for row in beyond):
            return "a CORNER is better than its designs"
    return ""


def draw(kind: str, wanted: str, seed: int, most: int, least: int, *limits: str) -> Space:
    """The space of a case, with more limits."""
    if kind == "models":
        document = drawn_document(seed)
        return load_space({**document, "constraints": [*document["constraints"], *limits]})
    return wide_space(kind, wanted, seed, most, *limits) if least else drawn_space(kind, wanted, seed, *limits)


def compare(kind: str, wanted: str, seed: int, most: int, least: int) -> str | None:
    """A line on a drawn space, with what differs in capitals; None where it is too large, or too small."""
    given = draw(kind, wanted, seed, most, least)
    if not least <= given.count() <= most:
        return None
    began = time.process_time()
    rows = feasible(given)
    tried = time.process_time()
    limit, place, top = drawn_limit(given, [*rows.values()], seed)
    why = [differs(given, rows)]
    if limit:
        kept = {key: row for key, row in rows.items() if row[place] <= top}
        why.append(differs(draw(kind, wanted, seed, most, least, limit), kept))
    asked = ", ".join(objective.name for objective in given.objectives)
    took = f"brute force {tried - began:.1f} s, twice exact and certificate {time.process_time() - tried:.1f} s"
    found = f"{given.count():,} designs, {len(rows):,} feasible, front {len(nondominated(rows)):,}"
    return f"{kind} {seed} ({asked}): {found}; {took}; {limit or 'no limit'}; {' '.join(why).strip()}"


def compare_bought(seed: int) -> str:
    """As `compare`, of clusters that are bought for two workloads."""
    document = bought.two(study={"decide": ["cluster"], "tune_sampler": "exact", "batch": 3})
    for dimension in document["cluster"]["dimensions"]:
        dimension["bandwidth"] = {"choice": [*BUDGETS[seed % len(BUDGETS)]]}
    with tempfile.TemporaryDirectory() as folder:
        try:
            clusters = same_as_brute_force(document, bought.run(bought.space(document), Path(folder) / "run"))
        except AssertionError as error:
            return f"bought: the FRONT differs: {error}"
    return f"bought for two workloads: {clusters} clusters; "


def main() -> int:
    """The command line."""
    spaces, seed, most, least = (int(arg) for arg in [*sys.argv[1:], *("30", "0", "50000", "0")[len(sys.argv) - 1 :]])
    wrong = done = 0
    cases = list(product(WANTED, [*KINDS, "models" if least else "bought"]))
    for number in count():
        if done == spaces:
            break
        wanted, kind = cases[number % len(cases)]
        line = compare_bought(seed + number) if kind == "bought" else compare(kind, wanted, seed + number, most, least)
        if line is not None:
            done, wrong = done + 1, wrong + (not line.endswith("; "))
            print(line, flush=True)
    print(f"{done} spaces, {wrong} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
