"""The largest kernels are compiled beside a search that begins on a new machine."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from dse.execute import ahead
from simcore.check.load import design_from
from simcore.engine.flow.links import find_sharing
from simcore.simulate import simulate


def test_the_smallest_design_plays_what_it_is_to_compile() -> None:
    design = design_from(ahead.SHARING)
    assert find_sharing(design)
    assert simulate(design, "flow").iteration_time_s == pytest.approx(
        simulate(design, "reference_links").iteration_time_s, rel=0.05
    )
    assert ahead.is_compiled()


@pytest.mark.parametrize(("engine", "cores", "known"), [("fast", 2, False), ("auto", 1, False), ("auto", 2, True)])
def test_no_process_begins_where_it_gains_nothing(
    monkeypatch: pytest.MonkeyPatch, engine: str, cores: int, known: bool
) -> None:
    monkeypatch.setattr(ahead, "cores", lambda: cores)
    monkeypatch.setattr(ahead, "is_compiled", lambda: known)
    monkeypatch.setattr(ahead, "subprocess", None)
    with ahead.compiled_ahead(engine):
        pass


def test_the_process_ends_with_what_is_done_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[subprocess.Popen[bytes]] = []

    class Noted:
        PIPE, DEVNULL = subprocess.PIPE, subprocess.DEVNULL

        @staticmethod
        def Popen(*arguments: Any, **more: Any) -> subprocess.Popen[bytes]:  # as in `subprocess`
            began.append(subprocess.Popen(*arguments, **more))
            return began[-1]

    monkeypatch.setattr(ahead, "cores", lambda: 2)
    monkeypatch.setattr(ahead, "is_compiled", lambda: False)
    monkeypatch.setattr(ahead, "subprocess", Noted)
    with pytest.raises(KeyboardInterrupt), ahead.compiled_ahead("auto"):
        raise KeyboardInterrupt
    assert began[0].returncode is not None
