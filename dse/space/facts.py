"""What of a space is no decision: facts of the world that it leaves open, and batches that nobody trains with.

A search would take the rosiest of the facts, which nobody can choose. A batch given in tokens where sequences are asked
for is some thousand times too large, and every design of it is sound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.space.batches import Variations, variations_of
from dse.space.fill import template_count
from simcore.design.design import Design
from simcore.workload.base import kind_of

MOST_TOKENS = 5e8
"""Tokens of a batch, several times as many as the largest batches that trainings were reported with."""


def fact_notices(template: Mapping[str, Any], variations: Variations) -> Iterator[str]:
    """A sentence where it is open how often things fail, and one where a batch has more tokens than any training.

    How a job is saved and begun again may well be open.
    """
    found = [*variations_of(template, variations)]
    if template_count(template.get("reliability", {})) > 1 and len({design.reliability.mtbf for design in found}) > 1:
        yield (
            "reliability leaves open how often things fail, and a search takes the value under which they fail least, "
            "which nobody can choose. Write one, and search again with another to see what changes."
        )
    largest = max(found, key=_tokens, default=None)
    if largest is not None and (tokens := _tokens(largest)) > MOST_TOKENS:
        yield (
            f"workload.global_batch counts sequences: {largest.workload.global_batch:,} of them are "
            f"{tokens / 1e9:,.1f} billion tokens, more than any known training has in a batch."
        )


def _tokens(design: Design) -> int:
    """Tokens of a batch; 0 of what is not trained on any."""
    sequence = getattr(design.workload, "sequence", 0)
    return design.workload.global_batch * sequence if sequence and kind_of(design.workload).trained else 0
