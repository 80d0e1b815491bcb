"""The disk cache of compiled kernels follows what a kernel calls, not only its own file."""

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from simcore.compiled import borrowing, compiled, content, inlined  # noqa: E402

STEP = 1


@inlined
def _inner(x: int) -> int:
    return x + STEP


def _outer(x: int) -> int:
    return _inner(x) * 2


def test_the_stamp_changes_with_a_called_kernel_and_with_a_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    before = content(_outer)
    assert content(_outer) == before
    monkeypatch.setitem(globals(), "STEP", 2)
    with_other_constant = content(_outer)
    monkeypatch.setitem(globals(), "_inner", inlined(lambda x: x - STEP))
    assert len({before, with_other_constant, content(_outer)}) == 3


def test_numba_takes_the_stamp() -> None:
    """The stamp stands where numba looks: an upgrade that moves it must be noticed here."""
    kernel = compiled(_outer)
    assert kernel(3) == 8
    assert kernel._cache._cache_file._source_stamp == content(kernel)  # type: ignore[attr-defined]


def test_the_stamp_changes_with_how_a_kernel_is_compiled() -> None:
    assert len({content(compiled(_outer)), content(borrowing(_outer)), content(inlined(_outer))}) == 3


def test_a_kernel_that_makes_an_array_cannot_borrow() -> None:
    @borrowing
    def make(length: int) -> int:
        return len(np.zeros(length))

    with pytest.raises(numba.core.errors.NumbaError, match="zeros"):
        make(3)
