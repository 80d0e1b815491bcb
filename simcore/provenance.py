"""Where the numbers behind a prediction come from: measured on this device, on its generation, or a data sheet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from simcore.design.design import Design
from simcore.design.library import Library
from simcore.design.npu import Npu
from simcore.design.once import once_for
from simcore.design.same import Same
from simcore.design.software import Software, usual_software
from simcore.design.transport import Transport
from simcore.design.usual_library import is_usual
from simcore.design.variation import is_itself, name_as_it_is
from simcore.workload.base import kind_of

AS_DESIGNED = "as the design says it"
"""Where nothing but the document stands behind a number."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What stands behind a prediction."""

    device: Literal["kernels", "generation", "data sheet"]
    """Kernels of this device were measured, kernels of another one of its generation, or none."""
    software: bool
    """Whether measured iterations decided the numbers of the software, or stand beside its predictions."""
    iterations: bool
    """Whether these ran on this device."""


def evidence(design: Design) -> Evidence:
    """What stands behind the prediction of a design."""
    return evidence_of(design.cluster.npu, design.software)


def evidence_of(npu: Npu, software: Software) -> Evidence:
    """What stands behind the predictions of a stack on a device."""
    if npu.curve is None or (npu.curve.name and not npu.curve.measured_on):  # that of a generation, and assumed
        device: Literal["kernels", "generation", "data sheet"] = "data sheet"
    else:
        device = "kernels" if is_itself(npu) and npu.name in npu.curve.measured_on else "generation"
    known = (*software.measured_on, *software.compared_on)
    return Evidence(device, bool(known), is_itself(npu) and npu.name in known)


def _usual_elsewhere(npu: Npu) -> str:
    return (
        f", which it is not made for: name one that is with 'software', such as {usual_software(npu.programmed).name}"
    )


def _never_measured(design: Design) -> str:
    """What of a design none of the measured iterations of its stack has: its kind of model, else its sharding."""
    software, zero = design.software, design.parallelism.zero
    if not software.measured_on or not design.workload.computes:
        return ""
    if design.workload.measured_as not in (software.interval or {}):
        return ", none of such a workload"
    return "" if has_fitted_zero(design) else f", none with ZeRO-{zero}"


def has_fitted_zero(design: Design) -> bool:
    """Whether some of the iterations that its stack was fitted to had its ZeRO stage, as far as theirs are known.

    Also where nothing was fitted to such a workload, or there is nobody to shard with.
    """
    known, fitted = design.software.measured_zero, design.software.interval or {}
    if not known or design.workload.measured_as not in fitted:
        return True
    return design.parallelism.zero in known or design.sharding_npus == 1


def _what_is_known(software: Software) -> str:
    if software.measured_on:
        return f"fitted on iterations on {', '.join(software.measured_on)}"
    return "assumed" + (f", compared on {', '.join(software.compared_on)}" if software.compared_on else "")


def _how_it_runs(design: Design) -> str:
    running, routed = design.running_software, design.workload.measured_as == "moe"
    graphs = "; graphs replay its kernels" + (", but for routed experts" if routed else "")
    moved = design.parallelism.expert > 1 and design.parallelism.dispatch == "node"
    return (graphs if running.execution == "graph" else "") + (
        "; Hybrid-EP moves tokens to experts" if moved and running.exchange == "hybridep" else ""
    )


def _asked(design: Design) -> tuple[Any, ...]:
    """What `provenance` looks at."""
    workload, p = design.workload, design.parallelism
    needed = workload.tokens_needed
    its = kind_of(workload).trained, workload.computes, workload.measured_as, needed and needed.why
    return Same(design.cluster), Same(design.software), *its, p.expert > 1, p.dispatch, _never_measured(design)


@once_for(_asked, 4096)
def provenance(design: Design) -> dict[str, str]:
    """For each part of a design where its numbers come from, in words."""
    found, npu, software = evidence(design), design.cluster.npu, design.software
    curve = npu.curve.name or "its own curve" if npu.curve is not None else ""
    name = software.name or "software"
    trained, its = kind_of(design.workload).trained, name_as_it_is(npu)
    told = {
        "operators": {
            "kernels": f"fitted on kernels of {npu.name} ({curve})",
            "generation": f"fitted on kernels of its generation ({curve}), by the data sheet of {its}",
            "data sheet": f"data sheet of {npu.name} alone" + (f", by an assumed curve ({curve})" if curve else ""),
        }[found.device],
        "software": f"{name}: "
        + _what_is_known(software)
        + ("" if found.iterations or not found.software else f", not on {its or 'this device'}")
        + _never_measured(design)
        + ("" if software.is_made_for(npu.programmed) else _usual_elsewhere(npu))
        + (", which serves alone: nobody trains with it" if trained and not software.trains else "")
        + _how_it_runs(design),
        "interval": _of_interval(found, software)
        + ("" if has_fitted_zero(design) else ", wider by those of a ZeRO stage left out"),
    }
    for index, dimension in enumerate(design.cluster.dimensions):
        told[f"network {index}"] = _of_links(design.library_of(dimension))
    if (transport := design.cluster.transport) is not None:
        told["transport"] = _of_transport(transport)
    if npu.curve is not None:
        told["sustained"] = npu.sources.get("sustained", AS_DESIGNED)
    if (needed := design.workload.tokens_needed) is not None and needed.why:
        told["tokens"] = needed.why
    if design.cluster.power_cap is not None:
        told["power cap"] = "clocks by measurements on an H100 under caps (simcore/design/power_cap.py)"
    return told


def _of_links(library: Library | None) -> str:
    if library is None:
        return AS_DESIGNED
    if is_usual(library):
        return "links as the design says, a library as on measured devices, by the memory's bandwidth: assumed"
    return f"{library.name or 'library'}: fitted on measured collectives"


def _of_transport(transport: Transport) -> str:
    if transport.efficiency is not None:
        return AS_DESIGNED
    point, low, high = transport.reached
    return f"{transport.control}: {point:.3f} of the rate ({low:.3f} to {high:.3f}), collectives played by packets"


def _of_interval(found: Evidence, software: Software) -> str:
    if found.device == "data sheet":
        return "errors of a device known by its data sheet alone"
    if not found.software:
        return "errors of software with the numbers of other software"
    of, on = ("jobs left out of the fit", "fitted to") if software.measured_on else ("published figures", "compared on")
    if not found.iterations:
        return f"errors of this software on devices that it was {on}, wider by those of a device left out"
    return f"errors of {of}, of this software on this device"
