"""Several NPUs that send to one, packet by packet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.reproduce.files import inside
from dse.reproduce.measures.base import Measure, Numbers
from simcore.document.problem import InputError, Problem

if TYPE_CHECKING:
    from simcore.design.design import Design

_OWN = "incast."


class PlayIncast(Measure):
    """`run: {incast: FILE, senders: N, size: BYTES}`: `seconds`, and the counters of its packets (`traffic.pauses` …).

    Senders stand evenly on the outermost dimension of the design, whose first NPU receives. Keys that an alternative
    sets are those of the design, or `incast.senders` and `incast.size`.
    """

    def numbers(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Numbers:
        """See `Measure.numbers`."""
        from simcore.engine.packets.counters import traffic_of
        from simcore.engine.packets.incast import play_incast
        from simcore.system.chunks import PICOSECONDS

        played = play_incast(_design(folder, run, changes), *_load(run, changes))
        return {"seconds": played.now / PICOSECONDS, "traffic": traffic_of(played).counters}

    def identity(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
        """See `Measure.identity`."""
        return f"{_design(folder, run, changes).key} {_load(run, changes)}"


def _design(folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Design:
    from simcore.check.load import load_design

    design = load_design(inside(folder, run["incast"]))
    changed = {path: value for path, value in changes.items() if not path.startswith(_OWN)}
    return design.with_(changed) if changed else design


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
