"""How senders react to congestion: one file per control, loaded when it is first used."""

from simcore.engine.packets.control.base import Control, Reached
from simcore.family import Family

CONTROLS: Family[Control] = Family(
    "simcore.controls",
    Control,
    {
        name: f"simcore.engine.packets.control.{name}:{name.upper()}"
        for name in ("none", "dcqcn", "dctcp", "timely", "hpcc")
    },
)

__all__ = ["CONTROLS", "Control", "Reached"]
