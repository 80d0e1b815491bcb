"""The instructions of a job on a network, kept from design to design.

Designs that differ in their batch alone have the same types of collectives, and these go the same. So do those that
differ in their price list, or in what fails.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simcore.design.design import Design
from simcore.design.same import Same
from simcore.engine.fast.instructions import Instructions
from simcore.engine.fast.state import Ints
from simcore.system.interference import slowdowns
from simcore.system.known_phases import KnownPhases, known_phases, network_of
from simcore.system.phase import Chunks
from simcore.system.placement import GroupSlice, Placement

_KEPT = 128
"""Pairs of a job and a network that are kept, some 50 KB each."""

Counted = list[tuple[int, int, int, float]]
"""See `Chunks.count_phases`."""
Types = list[tuple[str, Chunks]]
"""The group of each type of collective, and how it goes."""


@dataclass(eq=False)
class OnNetwork:
    """What is known of instructions on a network, found when it is first asked for; nobody changes what he finds."""

    types: Types = field(default_factory=list)
    packed: Ints | None = None
    """See `Lowering.network`."""
    serial: NDArray[np.float64] | None = None
    """See `Lowering.serial`."""
    phases: dict[int, Counted] = field(default_factory=dict)
    """See `Lowering.phases`."""


@dataclass(frozen=True)
class _Alike:
    """Designs are alike in what `Lowering` finds where these are equal."""

    instructions: Same[Instructions]
    network: Same[KnownPhases]
    placement: tuple[tuple[str, tuple[GroupSlice, ...]], ...]
    intra_dimension: str
    active_chunks: int | str
    priority: tuple[str, ...]
    slowdowns: tuple[int, ...]


def on_network(design: Design, instructions: Instructions, placement: Placement) -> OnNetwork | None:
    """What is known of instructions that others have, too; None where networks share nothing (`known_phases`)."""
    if network_of(design) is None:
        return None
    system, its = design.system, (*placement.items(),)
    policies = system.intra_dimension, system.active_chunks, system.priority
    return _known(_Alike(Same(instructions), Same(known_phases(design)), its, *policies, slowdowns(design)))


@lru_cache(maxsize=_KEPT)
def _known(alike: _Alike) -> OnNetwork:
    return OnNetwork()
