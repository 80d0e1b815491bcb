"""One design, simulated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.reproduce.files import inside
from dse.reproduce.measures.base import Measure, Numbers

if TYPE_CHECKING:
    from simcore.design.design import Design


class SimulateDesign(Measure):
    """`run: {design: FILE, engine: E}`: every metric of the design's result, and `network_utilization`."""

    def numbers(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Numbers:
        """See `Measure.numbers`."""
        from simcore.metrics import metrics
        from simcore.simulate import simulate

        result = simulate(_design(folder, run, changes), run.get("engine", "auto"))
        found = {**metrics(result), "network_utilization": result.network_utilization}
        return {name: value for name, value in found.items() if value is not None}

    def identity(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
        """See `Measure.identity`."""
        return f"{_design(folder, run, changes).key} {run.get('engine', 'auto')}"


def _design(folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Design:
    from simcore.check.load import load_design

    design = load_design(inside(folder, run["design"]))
    return design.with_(dict(changes)) if changes else design
