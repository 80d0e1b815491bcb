"""Several designs in the same scenarios: by which factor each one's time differs from its prediction.

Three parts add up, as logarithms:

- *parameters*: the estimate of a design with other numbers over that with the model's own (`estimate_times`). Designs
  that rest on the same number are wrong together.
- *rest*: what the model leaves out of a design, one draw for each layout of a job: designs that differ in their cluster
  alone share it, and so do those that the model cannot tell apart. Its spread is the share `REST` of the spread of the
  calibrated interval.
- *level*: how wrong all designs of a stack on a device are together. That was measured, so it is drawn from the
  interval (`simcore.prediction_interval`), less what the other parts have of it. It replaces the mean of what the
  parameters do to the group's designs. It cancels in pairs. Devices of one generation on which the stack was not
  fitted have most of it in common (`OF_GENERATION`), with the one on which it was fitted if that is of theirs. Designs
  with a ZeRO stage that none of its iterations has share it with the others, and among themselves what such a stage
  adds to the interval.

So one design by itself has the spread of its interval, and two designs differ by what they do not share.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.design.design import Design
from simcore.design.npu import Npu
from simcore.design.software import Software
from simcore.design.variation import name_as_it_is
from simcore.design.workload import Workload
from simcore.prediction_interval import Ratios, ratios, ratios_of, uses_expanded_memory
from simcore.provenance import evidence_of, has_fitted_zero
from simcore.uncertainty.draws import Draws, Floats
from simcore.uncertainty.iteration import estimate_times
from simcore.uncertainty.parameters import LEVEL, NINE_OF_TEN, OF_GENERATION, REST, Unknown

_MEANT = (
    *("trains", "like", "transformers_alone", "measured_zero", "compared_on", "graph_dispatch", "graph_zero"),
    *("without_graph", "keeps_gradients", "measured_sequence_parallel"),
    *("made_for", "not_on", "not_in", "only", "only_with", "on", "schedule"),
)
"""Keys of a stack that say what it is made for and was measured with: nothing of its times."""

_KERNELS = ("expert_launch", "expert_tile", "experts", "products")
"""Keys of a stack about the kernels of experts, and about those on a platform: its name says them."""

_PLANS = {"training_precision"}
"""Keys of a workload that decide no time: they came after the draws were fixed."""


_OFTEN_UNSAID = ("weight_precision", "prefill_tokens")
"""Keys of a workload that came after the draws were fixed, and decide times where they are given."""


@dataclass(frozen=True, slots=True)
class Level:
    """The interval of a design's prediction as a normal distribution of logarithms: measured over predicted time."""

    group: str
    """The device, the stack and the kind of model: designs of one group are wrong together."""
    generation: str
    """What groups share: the group of the device of their generation on which the stack was fitted, else the
    generation's kernels, the stack and the kind of model; empty where iterations on the device itself decided the
    numbers, or nothing is known of its kernels."""
    middle: float
    spread: float
    stage: str = ""
    """The stack and the kind of model, where none of its iterations has the ZeRO stage: such designs share more."""
    of_stage: float = 0.0
    """The share of the variance that comes with such a stage."""

    @classmethod
    def of(cls, design: Design) -> Level | None:
        """The level of a design's prediction; None of a collective alone, which has no interval."""
        if not design.workload.computes:
            return None
        expanded = uses_expanded_memory(design)
        known = cls.of_stack(design.cluster.npu, design.software, design.workload, expanded)
        if has_fitted_zero(design):
            return known
        middle, spread = _middle_and_spread(ratios(design))
        stage = f"ZeRO-{design.parallelism.zero} of {design.software.name} {design.workload.measured_as}"
        of_stage = max(0.0, 1.0 - (known.spread / spread) ** 2)
        return replace(known, middle=middle, spread=spread, stage=stage, of_stage=of_stage)

    @classmethod
    def of_stack(cls, npu: Npu, software: Software, workload: Workload, expanded: bool = False) -> Level:
        """The error of all designs of a stack on a device with such a workload; see `ratios_of`."""
        middle, spread = _middle_and_spread(ratios_of(npu, software, workload.measured_as, expanded))
        beside = " with expanded memory" if expanded else ""
        of = f"{software.name} {workload.measured_as}{beside}"
        alone = npu.curve is None or not npu.curve.name or evidence_of(npu, software).iterations
        generation = "" if alone else f"{_fitted_relative(npu, software)} {of}"
        return cls(f"{name_as_it_is(npu)} {of}", generation, middle, spread)


def _middle_and_spread(ends: Ratios) -> tuple[float, float]:
    low, high = map(log, ends)
    return (low + high) / 2, (high - low) / (2 * NINE_OF_TEN)


def _fitted_relative(npu: Npu, software: Software) -> str:
    """The device of an NPU's generation on which a stack was fitted, by name; else the generation's curve."""
    assert npu.curve is not None
    known = (name for name in software.measured_on if name in catalog.section("npus"))
    curves = ((name, preset(Npu, "npus", name).curve) for name in known)
    same = (name for name, curve in curves if curve is not None and curve.name == npu.curve.name)
    return next(same, npu.curve.name)


def rest_of(design: Design, level: Level, share: float = REST.spread) -> Unknown:
    """What the model leaves out of a design's layout: of its job, its degrees, its stack and device.

    Its spread is this `share` of the level's.
    """
    degrees = design.parallelism.model_dump_json(exclude={"data", "microbatch"})
    sizes = f"data {design.data}, microbatch {design.microbatch}, {design.cluster.npus} NPUs"
    # What a stack computes again, how it launches experts' products, and what it does on its NPUs, the names of a stack
    # and of a device say, too.
    launched = design.software.execution or "eager"
    unnamed = {key for key in ("exchange", "reduces_apart_on") if not getattr(design.software, key)}
    stack = design.software.model_copy(update={"execution": launched}).model_dump_json(
        exclude={
            **dict.fromkeys({*_MEANT, *_KERNELS, "recomputes", *unnamed}, True),
            "memory": {"left_out_on"},
            "sources": {*_MEANT, *_KERNELS, "left_out_on", "reduces_apart_on"},
        }
    )
    unsaid = {key for key in _OFTEN_UNSAID if getattr(design.workload, key, None) is None}
    workload = design.workload.model_dump_json(exclude=_PLANS | unsaid)
    layout = f"{level.group}, {sizes} {degrees} {stack} {workload}"
    return Unknown(replace(REST, spread=share * level.spread), layout)


def draw_times(
    designs: Sequence[Design],
    draws: Draws,
    share: float = REST.spread,
    on_design: Callable[[int], None] = lambda number: None,
    alike: Sequence[Hashable] | None = None,
) -> Floats:
    """Time of each checked design over its predicted time, `[designs, count]`; see `rest_of` for `share`.

    `on_design` is told how many designs are done before each one. Designs with equal `alike` `[designs]` are one to the
    model: what it leaves out is the first one's in all of them.
    """
    first: dict[Hashable, Design] = {}
    stand_ins = [
        first.setdefault(key, design) for key, design in zip(alike or range(len(designs)), designs, strict=True)
    ]
    levels = [Level.of(design) for design in designs]
    found = []
    for number, design in enumerate(designs):
        on_design(number)
        found.append(_parameter_errors(design, draws))
    errors = np.array(found)
    rest = np.array(
        [
            np.zeros(draws.count) if level is None else draws.error(rest_of(design, level, share))[1:]
            for design, level in zip(stand_ins, levels, strict=True)
        ]
    )
    for level in dict.fromkeys(level for level in levels if level is not None):
        rows = [row for row, other in enumerate(levels) if other == level]
        apart = errors[rows] - errors[rows].mean(axis=0) + rest[rows]
        errors[rows] = apart + level.middle + _common_spread(level, apart) * _level_draws(level, draws)
    times: Floats = np.exp(errors)
    return times


def draw_time_alone(design: Design, draws: Draws) -> Floats:
    """Time of one checked design over its predicted time `[count]`: its interval, and nothing of its parts."""
    level = Level.of(design)
    if level is None:
        return np.ones(draws.count)
    time: Floats = np.exp(level.middle + level.spread * _level_draws(level, draws))
    return time


def _parameter_errors(design: Design, draws: Draws) -> Floats:
    times = estimate_times(design, draws)
    errors: Floats = np.log(times[1:] / times[0])
    return errors


def _common_spread(level: Level, apart: Floats) -> float:
    """What is left of the interval's spread for all designs of a group, beside what they differ by."""
    return sqrt(max(0.0, level.spread**2 - float(np.square(apart).mean())))


def _level_draws(level: Level, draws: Draws) -> Floats:
    """Standard normal draws of how wrong a group is `[count]`, part of them those of its generation and ZeRO stage."""
    own, common = 1.0 - level.of_stage, OF_GENERATION if level.generation else 0.0
    shares = {level.group: own * (1.0 - common), level.generation: own * common, level.stage: level.of_stage}
    return draws.mixed(
        {Unknown(replace(LEVEL, spread=sqrt(share) * level.spread), of): share for of, share in shares.items() if share}
    )[1:]
