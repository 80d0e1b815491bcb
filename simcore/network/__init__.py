"""Over which links: one file per topology block. A torus is several ring dimensions."""

from simcore.network.base import Block, Exchange, Pattern, Send, Shift, Slice, Spread, StepCost, Tree
from simcore.network.fully_connected import FullyConnected
from simcore.network.ring import Ring
from simcore.network.switch import Switch

BLOCKS: dict[str, Block] = {"ring": Ring(), "fully_connected": FullyConnected(), "switch": Switch()}

__all__ = ["BLOCKS", "Block", "Exchange", "Pattern", "Send", "Shift", "Slice", "Spread", "StepCost", "Tree"]
