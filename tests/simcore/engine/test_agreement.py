"""fast = reference, to the picosecond and in every part of the breakdown, on drawn designs.

`AGREEMENT_EXAMPLES` sets how many designs each family draws; `tests/longrun/agreement.py` runs far more of them.
"""

from __future__ import annotations

import os

import pytest
from agreement import differences
from drawn_designs import collectives, trainings
from hypothesis import given, settings

from simcore.design import Design

EXAMPLES = int(os.environ.get("AGREEMENT_EXAMPLES", "450"))

FAMILIES = {
    "one collective": collectives(),
    "data parallel": trainings(tensor=1, pipeline=1, data=6),
    "tensor and data parallel": trainings(tensor=4, pipeline=1, data=4),
    "pipeline": trainings(tensor=1, pipeline=4, data=2),
    "everything": trainings(),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_fast_and_reference_agree_to_the_picosecond(family: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(FAMILIES[family])
    def agree(design: Design) -> None:
        assert differences(design) == []

    agree()
