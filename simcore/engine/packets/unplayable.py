"""What the packet engine cannot play of a design, and why."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.collective import FLAT_RING
from simcore.design.design import Design
from simcore.design.transport import Transport
from simcore.document.problem import Path, Problem
from simcore.document.quantity import write_quantity
from simcore.engine.packets.fabric import Fabric
from simcore.engine.packets.pack import TELEMETRY_HEADER, TELEMETRY_HOP, own_bytes
from simcore.engine.packets.run import fabric_of
from simcore.policy.control import CONTROLS
from simcore.system.chunks import block_of
from simcore.system.placement import find_crossing


def packet_problems(design: Design) -> list[Problem]:
    """Problems of a design for engine `packets`; none where it can be played."""
    if design.jobs is not None:
        expected = "one job (engine 'packets')"
        return [Problem(("jobs",), expected, str(len(design.jobs)), "use engine 'flow' or 'reference_links'")]
    problems = [*_check_dimensions(design), *_check_system(design)]
    if not problems:
        problems = list(_check_switches(design))
    return problems


def _check_dimensions(design: Design) -> Iterator[Problem]:
    """The outermost dimension has ports at switches, and nothing that is no packet."""
    outer = len(design.cluster.dimensions) - 1
    dimension, at = design.cluster.dimensions[outer], ("cluster", "dimensions", outer)
    if not block_of(dimension).switched:
        expected = "switches on the outermost dimension, which engine 'packets' plays packet by packet"
        yield Problem((*at, "topology"), expected, f"'{dimension.topology}'", "use engine 'reference_links' or 'flow'")
    if dimension.in_network:
        expected = "an outermost dimension whose switches only forward (engine 'packets')"
        yield Problem((*at, "in_network"), expected, "in_network", "use engine 'reference_links'")
    if (library := design.library_of(dimension)) is not None and library.adds:
        expected = "an outermost dimension without a library (engine 'packets' plays what its links do)"
        yield Problem((*at, "library"), expected, "a library", "write 'library: {}', or use engine 'reference_links'")
    for group, index in find_crossing(design):
        if index == outer:
            expected = "affinity 1 (engine 'packets' plays messages, which do not know whose rings cross)"
            yield Problem((*at, "affinity"), expected, f"{dimension.affinity:g}, and group '{group}' crosses")
    inner = [link for link in design.cluster.failed_links if link.dimension != outer]
    if inner:
        path: Path = ("cluster", "failed_links")
        expected = "failed links of the outermost dimension alone (engine 'packets')"
        yield Problem(path, expected, f"{len(inner)} of others", "use engine 'reference_links'")


def _check_system(design: Design) -> Iterator[Problem]:
    if design.cluster.switching != "cut_through":
        expected = "'cut_through' (engine 'packets' stores packets at switches, not messages)"
        yield Problem(
            ("cluster", "switching"), expected, f"'{design.cluster.switching}'", "use engine 'reference_links'"
        )
    if design.system.active_chunks != "overlap":
        expected = "'overlap' (engine 'packets' lets every chunk send when it can)"
        yield Problem(("system", "active_chunks"), expected, str(design.system.active_chunks), "use engine 'reference'")
    if len(design.cluster.dimensions) > 1 and FLAT_RING in design.algorithms:
        expected = "algorithms of one dimension each (engine 'packets')"
        yield Problem(("system", "collective"), expected, f"'{FLAT_RING}'", "use engine 'reference_links'")


def _check_switches(design: Design) -> Iterator[Problem]:
    """Buffers that hold what ports have to themselves, and no losses where receivers take any order."""
    fabric, transport = fabric_of(design), design.cluster.transport or Transport()
    at = ("cluster", "transport")
    if fabric.block.sprayed and not transport.pfc:
        expected = "packets that keep their order where some may be lost (go-back-N)"
        fix = "turn pfc on, or choose another 'routing' of the dimension"
        yield Problem((*at, "pfc"), expected, "packets sprayed over several ways, without pfc", fix)
    if (origin := CONTROLS.origin(transport.control)) is not None:
        expected = "a control of the project (engine 'packets' compiles these alone)"
        yield Problem((*at, "control"), expected, f"'{transport.control}' of {origin}", "use another engine")
    if fabric.block.sprayed and CONTROLS[transport.control].telemetry:
        expected = f"queue pairs that keep to one way each, which '{transport.control}' measures link by link"
        fix = "choose another 'routing' of the dimension"
        yield Problem((*at, "control"), expected, "packets sprayed over several ways", fix)
    if transport.pfc and transport.acknowledge_every > 1 and CONTROLS[transport.control].acknowledged:
        expected = f"1, where '{transport.control}' waits for acknowledgements, and no timeout helps it on (pfc)"
        yield Problem((*at, "acknowledge_every"), expected, str(transport.acknowledge_every), "acknowledge each packet")
    needed = largest_need(fabric, transport)
    if needed >= transport.buffer:
        expected = f"more than the {write_quantity(needed, 'size')} that a switch's ports have to themselves"
        yield Problem((*at, "buffer"), expected, write_quantity(transport.buffer, "size"), "give a larger buffer")


def largest_need(fabric: Fabric, transport: Transport) -> float:
    """Reserves and headroom of the switch that has most of them, packets with telemetry of eight hops [B]."""
    if CONTROLS[transport.control].telemetry:
        transport = transport.model_copy(update={"header": transport.header + TELEMETRY_HEADER + 8 * TELEMETRY_HOP})
    needs = [sum(own_bytes(fabric.ports[link], transport) for link in into) for into in fabric.into]
    return float(max(needs))
