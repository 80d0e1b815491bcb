"""What drawn designs take on links: the times that are kept beside the tables, and those played since.

Kept are `data/flow_on_links.csv.gz`: the seed of a draw, what each of its jobs takes on links that serve messages as
they come (`exact`), on links that take connections in turn (`turns`, where that was played), and on those where no
other job is (`alone`), in whole picoseconds; of iterations also on links behind the queues of phases (`queued_links`),
which serve messages as they come (`queued`), or connections in turn (`queued_turns`).
A working file has a JSON line a draw, in seconds, and may end anywhere.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from simcore.design.npu import Npu

KEPT = Path(__file__).parent / "data" / "flow_on_links.csv.gz"
PICOSECONDS = 1e12
WAYS = ("exact", "turns", "alone", "queued", "queued_turns")
Times = dict[str, list[float]]
"""By way of playing links, what each job takes [s]."""


def read_kept() -> dict[int, Times]:
    """The times that are kept, by seed."""
    with gzip.open(KEPT, "rt", encoding="utf-8", newline="") as file:
        return {
            int(row["seed"]): {
                way: [int(time) / PICOSECONDS for time in row[way].split()] for way in WAYS if row.get(way)
            }
            for row in csv.DictReader(file)
        }


def keep(known: Mapping[int, Times]) -> None:
    """Write the times that are to be kept; the same times are the same bytes."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["seed", *WAYS])
    for seed, found in sorted(known.items()):
        rows.writerow([seed, *(" ".join(str(round(t * PICOSECONDS)) for t in found.get(way, ())) for way in WAYS)])
    KEPT.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def read_played(results: Path) -> dict[int, Times]:
    """What a working file has, by seed."""
    if not results.exists():
        return {}
    known: dict[int, Times] = {}
    for line in results.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        known.setdefault(row.pop("seed"), {}).update(row)
    return known


@contextmanager
def operators_as_kept() -> Iterator[None]:
    """Let operators take what they took when the kept times were played: their roofline, with no launch to wait for.

    And let the ends of a pipeline send each other no gradients, as was played then.

    Whatever they take, `flow` and links are played with the same. Their designs share no section with others, of which
    it may be known already what operators take.
    """
    alone = patch("simcore.document.shared._text", lambda value: None)
    ends = patch("simcore.workload.transformer.program.exchanges_of_ends", lambda *_: {})
    with alone, ends, patch.object(Npu, "is_ideal", property(lambda _: True)):
        yield
