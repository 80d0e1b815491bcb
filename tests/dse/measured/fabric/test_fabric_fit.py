"""Fitting a network: a known one is found again, the closed form is the simulator's, the catalogue comes out."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from nccl_logs import TABLE

from dse.measured.fabric import MeasuredCollective, fit_fabric
from dse.measured.fabric.fit import times_between, times_in_node
from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.design.dimension import Dimension
from simcore.design.fabric import fabric_dimensions
from simcore.design.library import Library
from simcore.simulate import simulate

KIND = {"alltoall": "all_to_all"}
MACHINES = {"a100-80gb": "dgx-a100", "h100-80gb": "dgx-h100", "b200": "dgx-b200"}
SIZES = [4**exponent for exponent in range(5, 15)]


def node(fabric: str) -> Dimension:
    return Dimension.model_validate(fabric_dimensions(fabric, 8)[0])


def measured(device: str) -> list[MeasuredCollective]:
    with TABLE.open(newline="", encoding="utf-8") as stream:
        return [
            MeasuredCollective(
                KIND.get(row["operation"], row["operation"]),
                int(row["gpus"]),
                int(row["nodes"]),
                int(row["bytes"]),
                float(row["time_us"]) / 1e6,
                "table",
            )
            for row in csv.DictReader(stream)
            if row["device"] == device
        ]


def with_times(rows: list[MeasuredCollective], times: np.ndarray) -> list[MeasuredCollective]:
    return [row._replace(seconds=float(time)) for row, time in zip(rows, times, strict=True)]


def rows_of(npus: tuple[int, ...], nodes: int, *kinds: str) -> list[MeasuredCollective]:
    return [MeasuredCollective(kind, n, nodes, size, 1.0, "made") for kind in kinds for n in npus for size in SIZES]


@pytest.mark.parametrize(("device", "fabric"), MACHINES.items())
def test_the_closed_form_is_what_the_simulator_plays(device: str, fabric: str) -> None:
    rows = [row for row in measured(device) if row.npus == 8][::5]
    for row, time in zip(rows, times_in_node(node(fabric), rows), strict=True):
        size = row.size / 8 if row.kind == "all_gather" else row.size
        workload = {"collective": row.kind, "size": f"{size} B"}
        cluster = {"npu": device, "fabric": fabric, "npus": 8}
        played = simulate(design_from({"workload": workload, "cluster": cluster})).iteration_time_s
        assert time == pytest.approx(played, rel=1e-4)  # each of 64 chunks is rounded


@pytest.mark.parametrize(("device", "fabric"), MACHINES.items())
def test_the_catalogue_has_what_is_fitted_and_sizes_left_out_are_within_ten_percent(device: str, fabric: str) -> None:
    (fit,) = fit_fabric(measured(device), [node(fabric)])
    library = fit.dimension.library
    assert library is not None
    known = preset(Library, "libraries", node(fabric).library.name)  # type: ignore[union-attr]
    for kind in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all"):
        for whole in (False, True):
            assert library.kernel(kind, whole) == pytest.approx(known.kernel(kind, whole), rel=0.02)
    assert fit.dimension.latency == pytest.approx(node(fabric).latency, rel=0.02)
    assert np.abs(fit.errors(fit.left_out)).mean() < 0.102


def test_a_known_node_is_found_again() -> None:
    known = node("dgx-a100")
    rows = rows_of((2, 4, 8), 1, "all_reduce", "all_to_all")
    (fit,) = fit_fabric(
        with_times(rows, times_in_node(known, rows)), [node("dgx-h100").model_copy(update={"bandwidth": 3e11})]
    )
    assert np.abs(fit.errors(fit.predicted)).max() < 0.01
    assert fit.dimension.latency == pytest.approx(known.latency, rel=0.02)
    assert fit.dimension.library is not None
    assert known.library is not None
    assert fit.dimension.library.all_to_all == known.library.all_to_all
    assert fit.dimension.library.all_gather == node("dgx-h100").library.all_gather  # type: ignore[union-attr]  # no rows


def test_a_step_has_the_latency_of_the_base_where_rows_cannot_tell_it_from_a_launch() -> None:
    rows = rows_of((8,), 1, "all_reduce")
    (fit,) = fit_fabric(with_times(rows, times_in_node(node("dgx-a100"), rows)), [node("dgx-h100")])
    assert fit.dimension.latency == node("dgx-h100").latency


def test_a_known_network_between_nodes_is_found_again() -> None:
    inside, outside = (Dimension.model_validate(d) for d in fabric_dimensions("dgx-b200-nccl", 32))
    rows = rows_of((32,), 4, "all_reduce")
    (fit,) = fit_fabric(with_times(rows, times_between((inside, outside), rows)), [inside, outside])
    assert fit.dimension.efficiency == pytest.approx(0.8, rel=0.02)
    assert np.abs(fit.errors(fit.predicted)).max() < 0.01
