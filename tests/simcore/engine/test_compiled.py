"""The disk cache of compiled kernels follows what a kernel calls, not only its own file."""

from types import ModuleType

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from simcore.compiled import borrowing, compiled, inlined, kernel_digest  # noqa: E402

STEP = 1


@inlined
def _inner(x: int) -> int:
    return x + STEP


def _outer(x: int) -> int:
    return _inner(x) * 2


def test_the_stamp_changes_with_a_called_kernel_and_with_a_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    before = kernel_digest(_outer)
    assert kernel_digest(_outer) == before
    monkeypatch.setitem(globals(), "STEP", 2)
    with_other_constant = kernel_digest(_outer)
    monkeypatch.setitem(globals(), "_inner", inlined(lambda x: x - STEP))
    assert len({before, with_other_constant, kernel_digest(_outer)}) == 3


def test_the_stamp_is_the_same_in_every_process_and_follows_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comprehension's text names an address; a module's number is as good as one's own."""
    source = "def total(xs):\n    return sum([x * numbers.STEP for x in xs])\n"
    numbers = ModuleType("numbers")
    monkeypatch.setattr(numbers, "STEP", 1, raising=False)
    names = [{"__name__": "here", "numbers": numbers} for _ in range(2)]
    for each in names:
        exec(source, each)
    before, again = (kernel_digest(each["total"]) for each in names)
    assert before == again
    monkeypatch.setattr(numbers, "STEP", 2)
    assert kernel_digest(names[0]["total"]) != before


def test_numba_takes_the_stamp() -> None:
    """The stamp stands where numba looks: an upgrade that moves it must be noticed here."""
    kernel = compiled(_outer)
    assert kernel(3) == 8
    assert kernel._cache._cache_file._source_stamp == kernel_digest(kernel)  # type: ignore[attr-defined]


def test_the_stamp_changes_with_how_a_kernel_is_compiled() -> None:
    assert len({kernel_digest(compiled(_outer)), kernel_digest(borrowing(_outer)), kernel_digest(inlined(_outer))}) == 3


def test_a_kernel_that_makes_an_array_cannot_borrow() -> None:
    @borrowing
    def make(length: int) -> int:
        return len(np.zeros(length))

    with pytest.raises(numba.core.errors.NumbaError, match="zeros"):
        make(3)


def test_a_kernel_that_has_moved_to_another_module_is_compiled_anew() -> None:
    source = "def double(x):\n    return 2 * x\n"
    here, there = ({"__name__": name} for name in ("here", "there"))
    exec(source, here)
    exec(source, there)
    assert kernel_digest(here["double"]) != kernel_digest(there["double"])
