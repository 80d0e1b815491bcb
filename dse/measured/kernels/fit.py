"""The curve of a generation from kernels of one of its devices: products, attention, casts and streaming, each alone.

Residuals are logarithms of predicted over measured times. One beyond `SCALE` pulls with constant force (soft L1), as a
library now and then takes a kernel that no model of tiles takes. What is fitted keeps the form of the curve that it
starts from: which precisions there are, whether k is cut, and which tiles are taken by rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dse.measured.kernels.kernel import Attention, Cast, Kernel, Product
from simcore.compute.attention import attention_machine, attention_times
from simcore.compute.matmul import machine_of, product_times
from simcore.design.curve import AttentionCurve, CastCurve, Curve, ProductCurve
from simcore.design.npu import Npu
from simcore.document.field import BYTES, NARROW
from simcore.document.problem import InputError, Problem
from simcore.program import Compute

Floats = NDArray[np.float64]
Values = Mapping[str, float]

SCALE = 0.05
"""Residual from which on a row pulls with constant force."""
PRIOR = 0.02
"""Weight of the prior, in residuals of a row for a factor e: it holds what the rows say nothing about."""
ROWS_A_NUMBER = 4
"""Fewer rows than this for each fitted number of a part of the curve leave it as it was."""
FOLDS = 5
"""Parts of the shapes, each of which is predicted by a fit to the others."""
STEPS = (3e-2, 1e-2, 2e-3)
"""Steps of the differences that stand for derivatives, one fit after the other: times jump with the tile taken."""

SHARES = {
    "limit": (0.5, 0.98),
    "attention": (0.5, 0.99),
    "wave": (0.0, 1.0),
    "memory": (0.02, 1.0),
    "cast": (0.02, 1.0),
}
"""Numbers that lie between two others."""


@dataclass(frozen=True)
class CurvePart:
    """A part of the curve that one kind of kernels determines."""

    name: str
    rows: tuple[Kernel, ...]
    start: Values
    predict: Callable[[Values, Sequence[int]], Floats]
    """Times of the rows of these places [s]."""


@dataclass(frozen=True)
class PartFit:
    """A fitted part, and its errors."""

    name: str
    values: Values
    rows: int
    fitted: float
    """Mean |ln(predicted / measured)| of the rows [%]."""
    left_out: float
    """The same, each row by a fit without a fifth of the shapes, which has it [%]."""


@dataclass(frozen=True)
class KernelFit:
    """A curve, and what of it was fitted."""

    curve: Curve
    parts: tuple[PartFit, ...]


def fit_curve(npu: Npu, kernels: Sequence[Kernel], folds: bool = True) -> KernelFit:
    """Fit the NPU's curve to the kernels of its own; the backward pass of attention to any of its curve's devices.

    Raises `InputError` where the NPU has no curve to start from, or no kernel is its own.
    """
    if npu.curve is None:
        raise InputError([Problem(("device",), "an NPU with a curve to start from", f"'{npu.name}'")], "kernels")
    own = [kernel for kernel in kernels if kernel.device == npu.name]
    if not own:
        raise InputError([Problem(("device",), f"kernels of '{npu.name}'", "none in the tables")], "kernels")
    npu = npu.model_copy(update={"sustained": 1.0})  # kernels are measured in milliseconds
    assert npu.curve is not None
    curve, fitted = npu.curve, []
    for make in (_streaming, _products, _attention):
        for part in make(npu, curve, own):
            if len(part.rows) < ROWS_A_NUMBER * len(part.start):
                continue
            found = _fit(part, folds)
            fitted.append(found)
            curve = _with_part(curve, found)
    return KernelFit(_with_backward(npu, curve, kernels), tuple(fitted))


def _fit(part: CurvePart, folds: bool) -> PartFit:
    everything = range(len(part.rows))
    values = _least_squares(part, everything)
    measured = np.log([row.seconds for row in part.rows])
    errors = np.abs(np.log(part.predict(values, everything)) - measured)
    left_out = np.full(len(measured), np.nan)
    fold = np.array([_fold(row) for row in part.rows])
    for held in range(FOLDS if folds else 0):
        inside, outside = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
        found = _least_squares(part, cast("Sequence[int]", inside))
        left_out[outside] = np.abs(np.log(part.predict(found, cast("Sequence[int]", outside))) - measured[outside])
    mean = 100 * float(left_out.mean())
    return PartFit(part.name, values, len(measured), 100 * float(errors.mean()), mean)


def _fold(row: Kernel) -> int:
    return hashlib.sha256(repr(row.shape).encode()).digest()[0] % FOLDS


def _least_squares(part: CurvePart, places: Sequence[int]) -> dict[str, float]:
    """The numbers that fit the rows of these places, to three digits."""
    from scipy.optimize import least_squares

    measured = np.log([part.rows[i].seconds for i in places])
    names = list(part.start)
    origin = np.array([_encode(name, value) for name, value in part.start.items()])
    point = origin

    def residuals(point: Floats) -> Floats:
        errors = np.log(part.predict(_values(names, point), places)) - measured
        return np.concatenate([errors, PRIOR * (point - origin)])

    for step in STEPS:
        found = least_squares(
            residuals, point, loss="soft_l1", f_scale=SCALE, diff_step=[step], max_nfev=60, bounds=(-60.0, 25.0)
        )
        point = found.x
    return {name: float(f"{value:.3g}") for name, value in _values(names, point).items()}


def _encode(name: str, value: float) -> float:
    bounds = SHARES.get(name)
    if bounds is None:
        return float(np.log(value))
    share = min(max((value - bounds[0]) / (bounds[1] - bounds[0]), 0.02), 0.98)
    return float(np.log(share / (1 - share)))


def _values(names: Sequence[str], point: Floats) -> dict[str, float]:
    values = {}
    for name, x in zip(names, point, strict=True):
        bounds = SHARES.get(name)
        values[name] = float(np.exp(x)) if bounds is None else bounds[0] + (bounds[1] - bounds[0]) / (1 + np.exp(-x))
    return values


def _streaming(npu: Npu, curve: Curve, own: Sequence[Kernel]) -> list[CurvePart]:
    """Streaming operators, of casts with a given scale: nothing but bytes."""
    rows = tuple(row for row in own if isinstance(row, Cast) and row.kind == "static per tensor")
    moved = np.array([row.moved for row in rows])

    def predict(values: Values, places: Sequence[int]) -> Floats:
        times: Floats = moved[list(places)] / (npu.memory.bandwidth * values["memory"]) + values["kernel"]
        return times

    return [CurvePart("streaming", rows, {"memory": curve.memory, "kernel": curve.kernel}, predict)]


def _products(npu: Npu, curve: Curve, own: Sequence[Kernel]) -> list[CurvePart]:
    """Products at each precision that the curve has."""
    return [
        _product_part(npu, curve, precision, [row for row in own if isinstance(row, Product)])
        for precision in curve.products
        if npu.computes(precision)
    ]


def _product_part(npu: Npu, curve: Curve, precision: str, products: Sequence[Product]) -> CurvePart:
    start, casting = curve.product(precision), curve.cast(precision)
    rows = tuple(row for row in products if row.precision == precision)
    shapes = np.array([(1.0, row.m, row.n, row.k) for row in rows])
    moved = np.array([row.operator.bytes for row in rows])
    cast_bytes = np.array([row.m * row.k * (BYTES["bf16"] + BYTES[precision]) for row in rows])
    names = ("limit", "depth", "load", "wave", "memory", "kernel", "reduce")
    given = {name: value for name in names if (value := getattr(start, name)) is not None}
    given |= {"most": max(start.throttle.most, 1e-3), "after": start.throttle.after}
    if precision in NARROW:
        given |= {"cast": casting.memory}

    def predict(values: Values, places: Sequence[int]) -> Floats:
        at = list(places)
        machine = machine_of(npu, _with_product(start, values), npu.rate(precision))
        times = product_times(machine, shapes[at], moved[at])
        if precision in NARROW:
            times = times + cast_bytes[at] / (npu.memory.bandwidth * values["cast"]) + values["kernel"]
        return times

    return CurvePart(precision, rows, given, predict)


def _with_product(start: ProductCurve, values: Values) -> ProductCurve:
    throttle = start.throttle.model_copy(update={"most": values["most"], "after": values["after"]})
    own = {name: value for name, value in values.items() if name in ProductCurve.__pydantic_fields__}
    return start.model_copy(update={**own, "throttle": throttle})


def _attention(npu: Npu, curve: Curve, own: Sequence[Kernel]) -> list[CurvePart]:
    """Attention, forward."""
    rows = tuple(row for row in own if isinstance(row, Attention) and not row.backward)
    shapes, moved = _attention_shapes(rows)
    start = curve.attention
    names = ("softmax", "depth", "wave", "memory", "kernel")
    given = {"attention": start.limit, **{name: max(getattr(start, name), 1e-9) for name in names}}

    def predict(values: Values, places: Sequence[int]) -> Floats:
        machine = attention_machine(npu, _with_attention(start, values), curve.memory, npu.rate("bf16"))
        return attention_times(machine, shapes[list(places)], moved[list(places)])

    return [CurvePart("attention", rows, given, predict)]


def _with_attention(start: AttentionCurve, values: Values) -> AttentionCurve:
    renamed = {"limit" if name == "attention" else name: value for name, value in values.items()}
    return start.model_copy(update=renamed)


def _attention_shapes(rows: Sequence[Attention]) -> tuple[Floats, Floats]:
    shapes, moved = [], []
    for row in rows:
        operator: Compute = row.operator
        heads, queries, keys, _ = operator.fused[0]
        shapes.append((heads, queries, keys, operator.flops / (2 * heads * queries * keys), float(row.backward)))
        moved.append(operator.bytes)
    return np.array(shapes).reshape(-1, 5), np.array(moved)


def _with_part(curve: Curve, found: PartFit) -> Curve:
    """The curve with a fitted part."""
    values, update = found.values, cast("dict[str, Any]", {})
    if found.name == "streaming":
        update = {"memory": values["memory"], "kernel": values["kernel"]}
    elif found.name == "attention":
        update = {"attention": _with_attention(curve.attention, values)}
    else:
        own = _with_product(curve.product(found.name), values)
        update = {"products": {**curve.products, found.name: own}}
        if "cast" in values:
            made = CastCurve.model_construct(memory=values["cast"], kernel=values["kernel"])
            update["casts"] = {**curve.casts, found.name: made}
    return curve.model_copy(update=update)


def _with_backward(npu: Npu, curve: Curve, kernels: Sequence[Kernel]) -> Curve:
    """The curve with the backward rate at which backward and forward passes are equally far from what was measured.

    So the speed of the machine that measured both cancels out. The curve as it is, where none measured backward passes.
    """
    from simcore import catalog
    from simcore.catalog.preset import preset

    assert npu.curve is not None
    known = catalog.section("npus")
    devices = {}
    for name in {row.device for row in kernels if isinstance(row, Attention) and row.backward} & set(known):
        other: Npu = preset(Npu, "npus", name)
        if name == npu.name or (other.curve is not None and other.curve.name == npu.curve.name):
            devices[name] = other.model_copy(update={"sustained": 1.0})
    rows = [row for row in kernels if isinstance(row, Attention) and row.device in devices]
    work = [_attention_shapes([row]) for row in rows]
    if len(rows) < 2 * ROWS_A_NUMBER:
        return curve
    share = 1.0
    for _ in range(20):
        tried = curve.attention.model_copy(update={"backward": share})
        lead = _backward_lead(rows, work, devices, curve.model_copy(update={"attention": tried}))
        share = min(1.0, share * float(np.exp(lead)))
    return curve.model_copy(
        update={"attention": curve.attention.model_copy(update={"backward": float(f"{share:.3g}")})}
    )


def _backward_lead(
    rows: Sequence[Attention], work: Sequence[tuple[Floats, Floats]], devices: Mapping[str, Npu], curve: Curve
) -> float:
    """Mean logarithm of predicted over measured time of backward passes, less that of forward passes."""
    means: dict[bool, list[float]] = {False: [], True: []}
    for row, (shapes, moved) in zip(rows, work, strict=True):
        npu = devices[row.device]
        machine = attention_machine(npu, curve.attention, curve.memory, npu.rate("bf16"))
        means[row.backward].append(float(np.log(attention_times(machine, shapes, moved)[0] / row.seconds)))
    return float(np.mean(means[True]) - np.mean(means[False]))
