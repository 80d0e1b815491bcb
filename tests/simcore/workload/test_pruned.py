"""Pruned networks over workers: assignments, what crosses, both engines, bounds, bad input."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from designs import dimension, npu

from simcore.bounds.design import bound
from simcore.check.load import design_from, load_design
from simcore.document.problem import InputError
from simcore.metrics import metrics
from simcore.simulate import simulate
from simcore.workload.pruned.document import PrunedWorkload
from simcore.workload.pruned.partition import crossing, given_layers, layers_of, masks_of


def section(**more: Any) -> dict[str, Any]:
    drawn = {"density": 0.25} if "connections" not in more else {}
    return {"widths": [64, 64, 64], "global_batch": 8, **drawn, **more}


def document(topology: str = "switch", tensor: int = 4, **more: Any) -> dict[str, Any]:
    network = [dimension(topology=topology, size=tensor)]
    return {
        "workload": section(**more),
        "parallelism": {"tensor": tensor},
        "cluster": {"npu": npu(), "dimensions": network},
        "cost": "network-only",
    }


def workload(**more: Any) -> PrunedWorkload:
    return PrunedWorkload.model_validate(section(**more))


def test_clusters_in_a_hidden_order_are_found_and_nothing_crosses() -> None:
    hidden = {"clusters": 4, "within": 1.0, "density": 0.125}
    assert crossing(given_layers(workload(**hidden), 4)) > 0
    assert crossing(layers_of(workload(**hidden, partition="repurpose"), 4)) == 0


@pytest.mark.parametrize("seed", range(8))
def test_an_assignment_never_has_more_to_cross(seed: int) -> None:
    drawn = workload(seed=seed, clusters=2, within=0.6, density=0.1, partition="repurpose")
    assert crossing(layers_of(drawn, 4)) <= crossing(given_layers(drawn, 4))


@pytest.mark.parametrize("seed", range(5))
def test_of_a_layer_the_fewest_connections_cross_that_any_assignment_leaves(seed: int) -> None:
    from simcore.workload.pruned.partition import _assigned, _runs

    mask = masks_of(workload(widths=[6, 6], density=0.4, seed=seed))[0]
    before = _runs(6, 3)

    def crossings(owners: Any) -> int:
        return int((mask & (np.asarray(owners)[:, None] != before[None, :])).sum())

    least = min(crossings(owners) for owners in set(permutations((0, 0, 1, 1, 2, 2))))
    assert crossings(_assigned(mask, before, 3)) == least


def test_what_crosses_is_counted_once_for_each_worker_that_needs_it() -> None:
    rows = [{"layer": 1, "neuron": n, "input": 0} for n in (0, 2, 3)] + [{"layer": 1, "neuron": 1, "input": 2}]
    (layer,) = given_layers(workload(widths=[4, 4], connections=rows), 2)
    # Worker 1 (neurons 2 and 3) needs input 0 once; worker 0 (neurons 0 and 1) needs input 2.
    assert (layer.crossing, layer.busiest, layer.largest, layer.inputs) == (2, 1, 1, 2)


@pytest.mark.parametrize("topology", ["switch", "ring", "fully_connected"])
@pytest.mark.parametrize("partition", ["given", "repurpose"])
def test_engines_agree_and_bounds_hold(topology: str, partition: str) -> None:
    design = design_from(document(topology, partition=partition, clusters=4, within=0.75))
    fast, reference = simulate(design, "fast"), simulate(design, "reference")
    assert fast.iteration_time_s == reference.iteration_time_s
    least, value = bound(design)["iteration_time"], metrics(fast)["iteration_time"]
    assert least is not None
    assert value is not None
    assert least <= value * (1 + 1e-12)


def test_the_result_says_what_crosses_before_and_after_and_the_latency_falls() -> None:
    hidden = {"clusters": 4, "within": 1.0, "density": 0.125}
    given, assigned = (simulate(design_from(document(**hidden, partition=name))) for name in ("given", "repurpose"))
    assert given.crossing is not None
    assert assigned.crossing is not None
    assert given.crossing.given == given.crossing.assigned == assigned.crossing.given > 0
    assert assigned.crossing.assigned == 0
    assert assigned.iteration_time_s < given.iteration_time_s
    assert assigned.document()["crossing"] == {"given": given.crossing.given, "assigned": 0.0}


def test_connections_are_read_from_a_table(tmp_path: Path) -> None:
    (tmp_path / "kept.csv").write_text("layer,neuron,input\n1,0,1\n1,1,0\n")
    lines = ["workload: {widths: [2, 2], connections: kept.csv, global_batch: 1}", "parallelism: {tensor: 2}"]
    lines += ["cluster: {npu: a100-80gb, dimensions: [{topology: switch, size: 2, bandwidth: 25 GB/s, latency: 1 us}]}"]
    (tmp_path / "design.yaml").write_text("\n".join([*lines, "cost: network-only"]))
    result = simulate(load_design(tmp_path / "design.yaml"))
    assert result.crossing is not None
    assert result.crossing.given == 2 * 2  # two numbers of 16 bits


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"connections": [{"layer": 3, "neuron": 0, "input": 0}]}, "connections between neurons that 'widths' has"),
        ({"connections": [{"layer": 1, "neuron": 0, "input": 0}], "density": 0.5}, "the 'density' of drawn ones"),
        ({"density": None}, "the 'density' of drawn ones"),
        ({"clusters": 100}, "clusters of at least a neuron"),
        ({"widths": [64, 63]}, "divides the neurons of every layer (63)"),
    ],
)
def test_bad_input_is_one_message(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        design_from(document(**changed))
    assert len(error.value.problems) == 1
    assert said in str(error.value)
