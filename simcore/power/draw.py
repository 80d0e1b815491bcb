"""What a cluster draws: while it runs, at the most, and in one rack.

While a job runs an NPU draws by what it does (`simcore.design.npu.Draws`), and all beside it what the bill says: hosts,
NICs, switches, optics, storage. The building adds its cooling and losses (PUE) to all of that. At the most every part
draws what its label says, an NPU no more than its cap. Sources and checks: `docs/power.md`.
"""

from __future__ import annotations

from collections.abc import Callable

from simcore.compute import is_bound_by_arithmetic
from simcore.cost.bill import UNUSED, Item
from simcore.cost.materials import KEPT, asked_of_linear, bill_of
from simcore.cost.rack import npus_per_rack
from simcore.design.design import Design
from simcore.design.node import node_of
from simcore.design.npu import Draws
from simcore.design.once import once_for
from simcore.program import Compute
from simcore.result import Activity, Draw


def draws_of(design: Design) -> Draws:
    """What one NPU of a design draws by what it does [W]."""
    return design.cluster.running_npu.power.draws


def rest_watts(design: Design) -> float:
    """All that is beside the NPUs while a job runs, with PUE [W]."""
    return bill_of(design).watts * design.cost.pue


def host_watts(design: Design) -> float:
    """The hosts alone, whatever the network, with PUE [W]."""
    return _of_nodes(design, lambda item: item.watts) * design.cost.pue


def npus_watts(design: Design, each: float) -> float:
    """All NPUs, where one draws so much, with PUE [W]."""
    return design.cluster.npus * each * design.cost.pue


def joules_above_idle(design: Design, activity: Activity) -> float:
    """What an NPU takes for what it does, beyond what it draws at idle [J]."""
    draws = draws_of(design)
    busy = activity.tensor * (draws.tensor - draws.idle) + activity.memory * (draws.memory - draws.idle)
    return busy + activity.wait * (draws.wait - draws.idle)


def joules_of(design: Design, time: Callable[[Compute], float]) -> Callable[[Compute], float]:
    """The same of one operator, given its time [J]."""
    npu, precision, draws = design.cluster.running_npu, design.workload.precision, draws_of(design)
    above = draws.memory - draws.idle, draws.tensor - draws.idle
    return lambda operator: time(operator) * above[is_bound_by_arithmetic(npu, precision, operator)]


def energy(design: Design, joules: float, seconds: float) -> float:
    """Energy of `seconds` in which every NPU takes so many joules above idle, with all beside the NPUs and PUE [J]."""
    still = npus_watts(design, draws_of(design).idle) + rest_watts(design)
    return still * seconds + design.cluster.npus * design.cost.pue * joules


def draw_of(design: Design, activity: Activity) -> Draw:
    """What a cluster draws if each NPU does this in an iteration."""
    joules = energy(design, joules_above_idle(design, activity), activity.seconds)
    mean, rest = joules / activity.seconds, rest_watts(design)
    return Draw(mean, peak_watts(design), rack_watts(design), npus=mean - rest, rest=rest, activity=activity)


@once_for(asked_of_linear, KEPT)
def peak_watts(design: Design) -> float:
    """Everything at its maximum, NPUs at their cap, with PUE: what the building must give [W]."""
    return (bill_of(design).watts_max - _capped_away(design)) * design.cost.pue


def nodes_peak_watts(design: Design) -> float:
    """The nodes alone at their maximum, whatever the network, with PUE [W]."""
    return (_of_nodes(design, lambda item: item.watts_max) - _capped_away(design)) * design.cost.pue


@once_for(asked_of_linear, KEPT)
def rack_watts(design: Design) -> float:
    """A rack full of nodes at its maximum, without PUE [W]: what its supply and its cooling must give."""
    node, bill, npus = node_of(design.cluster), bill_of(design), design.cluster.npus
    held = npus_per_rack(node, design.cost)
    bought = npus + sum(item.count for item in bill.items if item.where == UNUSED)
    peak = sum(item.count * item.watts_max for item in bill.at_work) - _capped_away(design)
    return peak * min(1.0, held / bought)


def _of_nodes(design: Design, watts: Callable[[Item], float]) -> float:
    return sum(item.count * watts(item) for item in bill_of(design).items if item.group == "npu")


def _capped_away(design: Design) -> float:
    """What a cap takes from the maximum of all NPUs [W]."""
    cluster = design.cluster
    return cluster.npus * (cluster.npu.power.max - cluster.running_npu.power.max)
