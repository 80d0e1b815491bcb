"""A kernel gets machine code as Python calls it; what it calls is linked into that."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from simcore.compiled import borrowing, compiled, inlined  # noqa: E402
from simcore.kernels.linked import Kernel, _Flags  # noqa: E402

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


def _add(x: int) -> int:
    return x + 1


def _chain() -> tuple[Any, Any, Any]:
    """Three kernels: the last one calls the first one also over the second one."""
    least = borrowing(_add)

    @inlined
    def middle(x: int) -> int:
        return least(x) * 10

    @compiled
    def whole(x: int) -> int:
        return least(x) + middle(x)

    return least, middle, whole


def test_what_a_kernel_calls_is_linked_into_it_in_whatever_order_it_is_called() -> None:
    least, middle, whole = _chain()
    assert whole(2) == 33
    assert not least.overloads
    assert not middle.overloads


def test_a_kernel_that_others_call_can_be_called_from_python_as_well() -> None:
    least, middle, whole = _chain()
    assert (whole(2), least(2), middle(2)) == (33, 3, 30)
    assert len(least.overloads) == len(middle.overloads) == 1


def test_a_kernel_gives_its_callers_arrays_that_outlive_it() -> None:
    @compiled
    def make(length: int) -> Any:
        return np.arange(length)

    @compiled
    def total(length: int) -> int:
        return int(make(length).sum())

    assert total(4) == 6


@pytest.mark.parametrize("text", ["x + 1", "no_such_name"])
def test_garbage_is_looked_for_again_when_a_kernel_is_compiled_or_cannot_be(text: str) -> None:
    kernel = Kernel(eval(f"lambda x: {text}"), {})
    try:
        kernel(1)
    except numba.core.errors.TypingError:
        assert text == "no_such_name"
    assert gc.isenabled()


def test_flags_are_equal_as_those_of_numba_are() -> None:
    flags = numba.core.compiler.Flags()
    flags.nrt = True
    mine, other = _Flags(flags), _Flags(flags)
    assert mine == other == flags
    assert hash(mine) == hash(other)
    other.nrt = False
    assert mine != other
