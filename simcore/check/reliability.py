"""What of a design's reliability makes no sense: nothing that fails, failures without a restart, late checkpoints."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.document.problem import Path, Problem
from simcore.reliability.counts import mtbf_of


def reliability_problems(design: Design) -> Iterator[Problem]:
    """A section of which nothing fails, but for `none`; failures without a checkpoint or a restart."""
    reliability = design.reliability
    if not reliability.fails and reliability.name != "none":
        path: Path = ("reliability", "mtbf")
        fix = "reliability: {base: llama3, …}, or reliability: none, which leaves failures out"
        yield Problem(path, "what fails", "nothing", fix)
    for key in ("checkpoint", "restart") if reliability.fails else ():
        if getattr(reliability, key) is None:
            yield Problem(
                ("reliability", key),
                "this section where something fails",
                "nothing",
                "e.g. reliability: {base: llama3, …}",
            )


def reliability_warnings(design: Design) -> Iterator[str]:
    """What can be meant, and hardly is."""
    checkpoint, between = design.reliability.checkpoint, mtbf_of(design)
    interval = None if checkpoint is None else checkpoint.interval
    if interval is not None and between is not None and interval > between:
        told = f"{interval / 3600:.3g} h, and the cluster fails every {between / 3600:.3g} h"
        yield f"reliability.checkpoint.interval: {told}: most work is lost; leave it out for the best interval"
