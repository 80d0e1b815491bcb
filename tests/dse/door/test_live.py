"""The picture of a front in characters."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console
from rich.text import Text

from dse.door.live import HEIGHT, WIDTH, LiveFront, scatter
from dse.space.objective import Objective

TIME, COST = Objective("iteration_time", "minimize", "s"), Objective("cost.total", "minimize", "$")
RATE = Objective("throughput", "maximize", "tokens/s")


def drawn(front: LiveFront) -> list[str]:
    console = Console(file=io.StringIO(), width=80, height=24)
    console.print(front.draw(Text("searching: 3 trials")))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_points_stand_where_their_values_are() -> None:
    rows = scatter(np.array([[0.5, 0.5]]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 1.0]]))
    assert (len(rows), {len(row) for row in rows}) == (HEIGHT, {WIDTH})
    assert (rows[0][0], rows[-1][-1]) == ("●", "●")
    assert sum(row.count("·") for row in rows) == 1


@pytest.mark.parametrize("objectives", [(TIME, COST), (RATE, COST), (TIME,), (TIME, COST, RATE)])
def test_it_fits_eighty_columns_and_twenty_four_lines(objectives: tuple[Objective, ...]) -> None:
    front = LiveFront(objectives)
    signs = [objective.sign for objective in objectives]
    for number in range(3000):
        losses = np.array([sign * (1.0 + (number * 7919 + i * 13) % 1009) for i, sign in enumerate(signs)])
        front.add(losses, losses[None, :])
    lines = drawn(front)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert lines[-1].strip() == "searching: 3 trials"
    assert any("●" in line for line in lines)
    assert any("·" in line for line in lines[1:])


def test_ends_of_the_axes_are_values_with_units() -> None:
    front = LiveFront((TIME, COST))
    for losses in ([10.0, 3e6], [20.0, 1e6]):
        front.add(np.array(losses), np.array([[10.0, 3e6], [20.0, 1e6]]))
    said = "\n".join(drawn(front))
    assert all(value in said for value in ("10 s", "20 s", "3 M$", "1 M$", "iteration_time", "cost.total"))


def test_before_the_first_feasible_trial_there_is_the_line_alone() -> None:
    assert drawn(LiveFront((TIME, COST))) == ["searching: 3 trials"]
