"""How senders react to congestion: one file per control, loaded when it is first used."""

from simcore.engine.packets.control.base import Control
from simcore.family import Family

CONTROLS: Family[Control] = Family("simcore.controls", Control, {"none": "simcore.engine.packets.control.none:NONE"})

__all__ = ["CONTROLS", "Control"]
