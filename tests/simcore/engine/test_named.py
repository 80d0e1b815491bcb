"""Engines by name."""

from __future__ import annotations

import pytest

from simcore.document.problem import InputError
from simcore.engine.registry import BUILT_IN, engine_named


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_engine_is_its_name(name: str) -> None:
    assert engine_named(name) == name


def test_an_engine_of_a_module_is_the_function() -> None:
    from simcore.simulate import simulate

    assert engine_named("simcore.simulate:simulate") is simulate


@pytest.mark.parametrize(
    "name", ["", "slow", "no_such_module_at_all:run", "simcore.simulate:nothing", "simcore.simulate:", "math:pi"]
)
def test_what_is_no_engine_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        engine_named(name)
