"""Several NPUs that send to one, packet by packet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.reproduce.measures.base import Case, Measure, Numbers, changed_design
from simcore.document.problem import InputError, Problem

if TYPE_CHECKING:
    from simcore.design.design import Design

_OWN = "incast."


class PlayIncast(Measure):
    """`run: {incast: FILE, senders: N, size: BYTES}`: `seconds`, and the counters of its packets (`traffic.pauses` …).

    Senders stand evenly on the outermost dimension of the design, whose first NPU receives. Keys that an alternative
    sets are those of the design, or `incast.senders` and `incast.size`.
    """

    def read(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Case:
        """See `Measure.read`."""
        changed = {path: value for path, value in changes.items() if not path.startswith(_OWN)}
        design, load = changed_design(folder, run["incast"], changed), _load(run, changes)
        return Case(f"{design.key} {load}", lambda: _play(design, *load))


def _play(design: Design, senders: int, size: int) -> Numbers:
    from simcore.engine.packets.counters import traffic_of
    from simcore.engine.packets.incast import play_incast
    from simcore.system.chunks import PICOSECONDS

    played = play_incast(design, senders, size)
    return {"seconds": played.now / PICOSECONDS, "traffic": traffic_of(played).counters}


def _load(run: Mapping[str, Any], changes: Mapping[str, Any]) -> tuple[int, int]:
    """Senders, and bytes of each; raises `InputError` where either is no number of at least 1."""
    found = {key: changes.get(_OWN + key, run.get(key)) for key in ("senders", "size")}
    problems = [
        Problem(("run", key), "a number of at least 1", f"{value}")
        for key, value in found.items()
        if not isinstance(value, int) or value < 1
    ]
    if problems:
        raise InputError(problems)
    return found["senders"], found["size"]
