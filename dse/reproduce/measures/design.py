"""One design, simulated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.reproduce.measures.base import Case, Measure, Numbers, changed_design
from simcore.document.problem import Refusal, suggest_nearest
from simcore.engine.registry import BUILT_IN

if TYPE_CHECKING:
    from simcore.design.design import Design


class SimulateDesign(Measure):
    """`run: {design: FILE, engine: E}`: every metric of the design's result, and `network_utilization`.

    Of engine `packets` also the counters of its packets (`traffic.pauses` …).
    """

    def read(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Case:
        """See `Measure.read`."""
        engine = run.get("engine", "auto")
        if engine not in BUILT_IN:
            raise Refusal(f"an engine: {', '.join(BUILT_IN)}", f"'{engine}'", suggest_nearest(str(engine), BUILT_IN))
        design = changed_design(folder, run["design"], changes)
        return Case(f"{design.key} {engine}", lambda: _simulate(design, engine))


def _simulate(design: Design, engine: str) -> Numbers:
    from simcore.metrics import metrics
    from simcore.simulate import simulate

    result = simulate(design, engine)
    found = {**metrics(result), "network_utilization": result.network_utilization}
    packets: Numbers = {} if result.traffic is None else {"traffic": result.traffic.counters}
    return {name: value for name, value in found.items() if value is not None} | packets
