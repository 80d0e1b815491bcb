"""What each block of a stage asks of the network: a traced run's blocks, and how long each dimension serves them."""

from __future__ import annotations

from typing import NamedTuple

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.engine.fast.iteration import Trace, stage_use
from simcore.engine.fast.lower import Lowering
from simcore.engine.fast.tables import BLOCK_LEVEL, choose_block
from simcore.engine.unflushed import updated_after
from simcore.memory.plan import program_of
from simcore.system.placement import place


class BlockUse(NamedTuple):
    """A block of a stage; all times are in picoseconds."""

    code: int
    """See `simcore.schedule.base`."""
    begin: int
    end: int
    busy: tuple[int, ...]
    """Time that each dimension serves what the block issues. What nothing waits for in the block may be served after
    its end."""


def block_use(design: Design, log: Trace, stage: int) -> list[BlockUse]:
    """The blocks of a stage in order; `log` is that of `simcore.simulate.simulate_traced`."""
    program = program_of(design)
    lowering = Lowering(design, place(design)[0], times_of(design))
    choices = lowering.add(program)
    packed = lowering.instructions.pack(choices, updated_after(program))
    blocks = [row[2:] for row in log.rows.tolist() if row[0] == BLOCK_LEVEL and row[1] == stage]
    dimensions = len(design.cluster.dimensions)
    known: dict[int, tuple[int, ...]] = {}
    found = []
    for place_in_order, (code, begin, end) in enumerate(blocks, 1):
        last = place_in_order == len(blocks)
        block = int(choose_block(packed, stage, code, program.microbatches, last))
        if block not in known:
            known[block] = tuple(stage_use(lowering, lowering.issues(block), dimensions)[0])
        found.append(BlockUse(code, begin, end, known[block]))
    return found
