"""An NPU under a power cap: what it loses of its clock, and what it draws.

Dynamic power grows with the clock, and with the square of the voltage, which has to rise with the clock once that is
high. Of an H100 that runs matrix products, what it draws beyond idle follows (x + x^5) / 2 at a share x of its clock:
within 0.03 of the clocks that Ujeniya et al. 2026 (arXiv 2604.11391, figures 6b and 9b) measured under caps of 200 to
700 W, and the training that follows within 0.04 of Mayr et al. 2026 (arXiv 2603.16164, table 4). Our own fit; other
devices are taken to be alike between their own idle and their own full draw.

Products lose as much of their rate as of their clock. What memory bounds draws less, so its clock falls later: only a
cap below its own draw costs it bandwidth. Collectives keep theirs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from simcore.design.npu import Npu
from simcore.design.same import Same

STEEP = 5
"""Power of the clock with which the second half of the draw grows."""


def clock_share(cap: float, idle: float, draw: float) -> float:
    """Share of its clock that an NPU keeps under a cap in what draws `draw` without one [W]."""
    if cap >= draw:
        return 1.0
    wanted, low, high = 2.0 * (cap - idle) / (draw - idle), 0.0, 1.0
    while high - low > _CLOSE:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle + middle**STEEP <= wanted else (low, middle)
    return low


_CLOSE = 1e-12


def capped(npu: Npu, cap: float) -> Npu:
    """The NPU under a cap [W]; itself where the cap is not between idle and its maximum, which the door refuses."""
    return _capped(Same(npu), cap) if npu.power.idle < cap < npu.power.max else npu


@lru_cache(maxsize=256)
def _capped(same: Same[Npu], cap: float) -> Npu:
    npu, draws = same.value, same.value.power.draws
    slowed = clock_share(cap, draws.idle, draws.tensor)
    starved = clock_share(cap, draws.idle, draws.memory)
    memory = npu.memory.model_copy(update={"bandwidth": npu.memory.bandwidth * starved})
    below = {name: min(watts, cap) for name, watts in draws._asdict().items()}
    power = npu.power.model_copy(update={**below, "max": cap})
    changed: dict[str, Any] = {"sustained": npu.sustained * slowed, "memory": memory, "power": power}
    if npu.compute is not None and npu.compute.systolic is not None:
        array = npu.compute.systolic
        slower = array.model_copy(update={"clock": array.clock * slowed})
        changed["compute"] = npu.compute.model_copy(update={"systolic": slower})
    return npu.model_copy(update=changed)
