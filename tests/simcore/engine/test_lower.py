"""What the lowering keeps of blocks."""

from __future__ import annotations

from designs import collective, dimension

from simcore.compute import operator_times
from simcore.engine.fast.lower import Lowering
from simcore.engine.fast.pipeline import BLOCKING, COMPUTE, START


def test_an_empty_segment_does_not_hide_what_the_next_one_issues() -> None:
    design = collective("all_reduce", "1 MiB", [dimension()])
    lowering = Lowering(design, {}, operator_times(design.cluster.npu, "fp32", (0.0, 0.0)))
    lowering.operators.extend([(BLOCKING, 3, 0), (COMPUTE, 7, 0), (START, 5, 0)])
    lowering.segments.extend([(0, 0, 4), (0, 3, 2), (3, 3, 1)])
    lowering.blocks.extend([(0, 3)])
    assert lowering.issues(0) == {3: 2, 5: 2}
