"""What a fit leaves behind: a device, or a software stack, as a document with the source of each fitted number."""

from __future__ import annotations

from typing import Any

from dse.measured.calibrate.parameters import PARAMETERS, Values, put
from simcore.catalog.preset import preset
from simcore.design.npu import Npu
from simcore.design.software import Software

Document = dict[str, Any]


def written_device(described: Document, npu: Npu, values: Values, origin: str) -> Document:
    """The device `npu`, described as it was given, with the numbers fitted of it; `origin` says on what."""
    own = {PARAMETERS[name].path: value for name, value in values.items() if PARAMETERS[name].of == "device"}
    document = dict(described)
    sources = dict(npu.sources)
    for path, value in own.items():
        npu = put(npu, path, value)
    if any(path[0] == "curve" for path in own):
        assert npu.curve is not None
        curve = npu.curve.model_dump(mode="json", exclude={"name"}, exclude_none=True)
        curve["sources"] = {**npu.curve.sources, **{path[1]: origin for path in own if path[0] == "curve"}}
        document["curve"] = curve
    if ("sustained",) in own:
        document["sustained"] = own[("sustained",)]
        sources["sustained"] = origin
    return {**document, "sources": sources}


def written_software(stack: str, device: str, values: Values, origin: str, ratios: dict[str, list[float]]) -> Document:
    """The stack of the catalogue with the numbers fitted of it on a device; `origin` says on what.

    `ratios` are the intervals of its predictions by kind of model (`dse.measured.calibrate.quantiles`).
    """
    software = preset(Software, "software", stack)
    own = {PARAMETERS[name].path: value for name, value in values.items() if PARAMETERS[name].of == "software"}
    for path, value in own.items():
        software = put(software, path, value)
    document = software.model_dump(mode="json", exclude={"sources", "measured_zero"}, exclude_none=True)
    sources = {**software.sources, **{path[0]: origin for path in own}, "interval": origin}
    measured_on = sorted({*software.measured_on, device})
    return {
        **document,
        "measured_on": measured_on,
        "interval": {**document.get("interval", {}), **ratios},
        "sources": sources,
    }
