"""Pictures of studies: what a reader must be able to tell apart."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dse.reproduce.part import Alternative, Part, Plot
from dse.reproduce.picture import draw_plot
from dse.reproduce.play import Player, Value
from dse.reproduce.study import find_studies

STUDIES = Path(__file__).parents[3] / "studies"
TOPOLOGIES = [
    "2D-SW_SW",
    "3D-SW_SW_SW_homo",
    "3D-SW_SW_SW_hetero",
    "3D-FC_Ring_SW",
    "4D-Ring_SW_SW_SW",
    "4D-Ring_FC_Ring_SW",
]
DEGREES = [f"MP{2**k}_DP{2 ** (10 - k)}" for k in range(11)]


@pytest.mark.parametrize("kind", ["bars", "lines"])
@pytest.mark.parametrize("names", [TOPOLOGIES, DEGREES])
def test_names_below_the_axis_do_not_touch(names: list[str], kind: Any) -> None:
    axes = {"names": {name: Alternative() for name in names}}
    part = Part(name="part", run={"design": "a.yaml"}, axes=axes, obtained="1")
    study: Any = SimpleNamespace(rows=[], title="Study")
    player = cast(Player, SimpleNamespace(value=lambda part, place, text: Value(1.0)))
    figure = draw_plot(study, part, Plot(file="a", kind=kind, x="names"), player)
    labels = [label.get_window_extent() for label in figure.axes[0].get_xticklabels()]
    assert len(labels) == len(names)
    point = figure.dpi / 72
    assert all(right.x0 - left.x1 > 2 * point for left, right in pairwise(labels))


def test_no_two_pictures_of_a_study_have_one_title() -> None:
    for study in find_studies(STUDIES, []):
        titles = [plot.title or row.part.name for row in study.rows for plot in row.part.plots]
        pictures = {plot.file for row in study.rows for plot in row.part.plots}
        assert len(set(titles)) == len(pictures), study.name
