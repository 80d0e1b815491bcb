"""The split of a bandwidth budget over dimensions: LIBRA's closed form, and what the simulator makes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.reproduce.measures.base import Case, Measure, Numbers, changed_design

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dse.space.split.closed_form import ClosedForm
    from simcore.design.design import Design

_OPTIONS = ("split", "solved_for", "budget", "simulator")


class SplitBandwidth(Measure):
    """`run: {split: DESIGN, budget: B, solved_for: DESIGN, simulator: true}`: a budget shared in several ways.

    `split` and `solved_for` may be lists of designs on one network. `budget` (unless given: what the first design has)
    is shared by all dimensions in ways that are each a group of numbers: `equal`; `time` and `time_cost`, the best of
    the closed form (`dse.space.split.closed_form`) for the designs of `solved_for` (unless given, all); with
    `simulator`, `solved`, the best that the simulator finds for one design (`dse.space.split.solve`). Each has
    `closed`, the closed form's time of all designs of `split` [s], `network`, the price of the bandwidth [$],
    `simulated`, the simulator's time of all of them [s], and `share.d0`, … the bandwidth of each dimension [GB/s].
    Keys that an alternative sets are these or, all others, those of the designs.
    """

    def read(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Case:
        """See `Measure.read`."""
        asked = _Asked.read(folder, run, changes)
        keys = [[design.key for design in designs] for designs in (asked.designs, asked.solved_for)]
        return Case(json.dumps([keys, asked.budget, asked.simulator]), asked.numbers)


@dataclass(frozen=True)
class _Asked:
    designs: list[Design]
    solved_for: list[Design]
    budget: float
    """[B/s]."""
    simulator: bool

    @classmethod
    def read(cls, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> _Asked:
        from simcore.document.quantity import parse_quantity

        options = {**run, **{key: value for key, value in changes.items() if key in _OPTIONS}}
        own = {key: value for key, value in changes.items() if key not in _OPTIONS}

        def designs(named: Any) -> list[Design]:
            return [changed_design(folder, name, own) for name in ([named] if isinstance(named, str) else named)]

        asked = designs(options["split"])
        whole = sum(dimension.bandwidth for dimension in asked[0].cluster.dimensions)
        budget = parse_quantity(options["budget"], "bandwidth") if "budget" in options else whole
        solved_for = designs(options["solved_for"]) if "solved_for" in options else asked
        return cls(asked, solved_for, budget, bool(options.get("simulator", False)))

    def numbers(self) -> Numbers:
        import numpy as np

        from dse.space.split.bandwidth import optimal_split
        from dse.space.split.closed_form import closed_form, together

        form = together([closed_form(design) for design in self.solved_for])
        price, dims = _prices(self.designs[0]), len(self.designs[0].cluster.dimensions)
        best = {
            goal: optimal_split(form.table, self.budget, form.compute, goal, price, weights=form.often)
            for goal in ("time", "time_cost")
        }
        shares = {"equal": np.full(dims, self.budget / dims), **best}
        if self.simulator:
            shares["solved"] = self._solved()
        own = [closed_form(design) for design in self.designs]
        return {name: self._of(split, own, price) for name, split in shares.items()}

    def _of(self, shares: NDArray[Any], forms: list[ClosedForm], price: NDArray[Any]) -> Numbers:
        from dse.space.split.solve import with_bandwidths
        from simcore.simulate import simulate

        every = range(len(shares))
        return {
            "closed": sum(form.seconds(shares) for form in forms),
            "network": float(price @ shares),
            "simulated": sum(simulate(with_bandwidths(d, every, shares)).iteration_time_s for d in self.designs),
            "share": {f"d{d}": float(share) / 1e9 for d, share in enumerate(shares)},
        }

    def _solved(self) -> NDArray[Any]:
        import numpy as np

        from dse.space.hole import SolvedSplit
        from dse.space.split.solve import solve_shares, with_bandwidths
        from simcore.document.problem import InputError, Problem
        from simcore.document.quantity import parse_quantity, write_quantity

        if len(self.designs) > 1:
            raise InputError(
                [Problem(("run", "simulator"), "one design whose shares are solved", f"{len(self.designs)}")]
            )
        dims = len(self.designs[0].cluster.dimensions)
        even = with_bandwidths(self.designs[0], range(dims), [self.budget / dims] * dims)
        budget = write_quantity(self.budget, "bandwidth")
        split = SolvedSplit(tuple(range(dims)), budget, self.budget / 1000, "time")
        return np.array([parse_quantity(share, "bandwidth") for share in solve_shares(split, even.document())])


def _prices(design: Design) -> NDArray[Any]:
    """Price of the bandwidth of each dimension [$ per B/s]."""
    import numpy as np

    from simcore.cost.linear import unit_price

    return np.array([design.cluster.npus * unit_price(design.cost, d) for d in design.cluster.dimensions])
