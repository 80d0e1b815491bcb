"""fast = reference, to the picosecond and in every part of the breakdown, on drawn designs.

`AGREEMENT_EXAMPLES` sets how many designs each family draws; `tests/longrun/agreement.py` runs far more of them.
"""

from __future__ import annotations

import os

import pytest
from agreement import differences
from drawn_designs import FAMILIES
from hypothesis import given, settings

from simcore.design.design import Design

EXAMPLES = int(os.environ.get("AGREEMENT_EXAMPLES", "450"))


@pytest.mark.parametrize("family", FAMILIES)
def test_fast_and_reference_agree_to_the_picosecond(family: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(FAMILIES[family])
    def agree(design: Design) -> None:
        assert differences(design) == []

    agree()
