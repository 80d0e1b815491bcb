"""A long run of fast = reference: `python tests/longrun/agreement.py 100000 [SEED]` draws so many designs in all.

Prints a line per family with the designs drawn, the events the reference engine took, and the disagreements; exits
with 1 where there are any. The same seed draws the same designs.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "simcore" / "engine"))

from agreement import differences
from drawn_designs import FAMILIES
from hypothesis import HealthCheck, Phase, given, seed, settings

from simcore.design.design import Design
from simcore.engine.reference import estimate_events


def run(family: str, examples: int, first_seed: int) -> int:
    """Draw `examples` designs of a family; the number of disagreements."""
    disagreements: list[tuple[Design, list[str]]] = []
    count = events = 0

    @seed(first_seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(FAMILIES[family])
    def agree(design: Design) -> None:
        nonlocal count, events
        count += 1
        events += estimate_events(design)
        found = differences(design)
        if found:
            disagreements.append((design, found))

    begin = time.perf_counter()
    agree()
    took = time.perf_counter() - begin
    lines = [f"{family}: {count} designs, {events:.3g} events, {len(disagreements)} disagreements, {took:.0f} s"]
    for design, found in disagreements[:5]:
        lines += [str(design.document()), *found]
    sys.stdout.write("\n  ".join(lines) + "\n")
    sys.stdout.flush()
    return len(disagreements)


def main() -> int:
    """The command line."""
    examples = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    first_seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    each = -(-examples // len(FAMILIES))
    return 1 if sum(run(family, each, first_seed) for family in FAMILIES) else 0


if __name__ == "__main__":
    sys.exit(main())
