"""How senders react to congestion: one file per control, loaded when it is first used."""

from simcore.family import Family
from simcore.policy.control.base import Control, Reached

CONTROLS: Family[Control] = Family(
    "simcore.controls",
    Control,
    {name: f"simcore.policy.control.{name}:{name.upper()}" for name in ("none", "dcqcn", "dctcp", "timely", "hpcc")},
)

__all__ = ["CONTROLS", "Control", "Reached"]
