"""Every measured run, to the nanosecond."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import astra_cases
import pytest

from simcore import astra
from simcore.astra.files.chakra import CommType, TraceNode, collective_node, compute_node

NOT_MODELLED = {"X_sharedbus"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return astra_cases.unpack(tmp_path_factory.mktemp("astra"))


def runs(suite: str, backend: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [
        (case, output)
        for case in astra_cases.GOLDEN
        if case["suite"] == suite
        for output in case["outputs"]
        if output.get("backend", "1.0") == backend
    ]


SUITES = sorted(
    {(case["suite"], output.get("backend", "1.0")) for case in astra_cases.GOLDEN for output in case["outputs"]}
)


def differences(result: astra.AstraResult, output: dict[str, Any]) -> list[str]:
    """Return what a result has other than measured."""
    measured = {
        "finish_ns": result.finish_ns,
        "finish_min_ns": min(result.finish_ns_per_npu),
        "finish_per_npu": list(result.finish_ns_per_npu),
        "exposed_comm_max_ns": result.exposed_communication_ns,
        "total_compute_ns": result.compute_ns,
        "total_exposed_comm_ns": result.exposed_communication_ns,
    }
    found = [
        f"{key} {value} != {output[key]}"
        for key, value in measured.items()
        if output.get(key) is not None and output[key] != value
    ]
    layers = {layer.name: layer for layer in result.layers}
    for name, figures in output.get("per_layer", {}).items():
        for key, figure in figures.items():
            value = getattr(layers[name], key)
            if value != figure:
                found.append(f"{name} {key} {value} != {figure}")
    return found


@pytest.mark.parametrize(("suite", "backend"), SUITES)
def test_every_measured_run_is_reproduced_to_the_nanosecond(suite: str, backend: str, inputs: Path) -> None:
    wrong = []
    for case, output in runs(suite, backend):
        if case["id"] in NOT_MODELLED or output.get("error"):
            continue
        arguments = astra_cases.arguments(case, inputs)
        result = astra.run(**arguments, backend="unaware" if backend == "1.0" else backend)
        wrong += [f"{case['id']}: {difference}" for difference in differences(result, output)]
    assert not wrong


@pytest.mark.parametrize(("suite", "backend"), SUITES)
def test_what_astra_sim_does_not_finish_is_an_error(suite: str, backend: str, inputs: Path) -> None:
    for case, output in runs(suite, backend):
        if case["id"] in NOT_MODELLED or output.get("error"):
            with pytest.raises(astra.AstraInputError):
                astra.run(**astra_cases.arguments(case, inputs), backend=backend)


def test_the_measured_runs_are_all_there() -> None:
    assert len(astra_cases.GOLDEN) == 265
    assert sum(len(case["outputs"]) for case in astra_cases.GOLDEN) == 391


def transformer_iteration() -> list[TraceNode]:
    """Return the 24 layers of the scaling runs."""
    nodes: list[TraceNode] = []
    last: tuple[int, ...] = ()
    for duration, backward in [(400, False)] * 24 + [(800, True)] * 24:
        place = len(nodes)
        nodes.append(compute_node(place, duration, last))
        nodes.append(collective_node(place + 1, CommType.ALL_REDUCE, 64 << 20, (place,), (True, False, False)))
        if backward:
            nodes.append(collective_node(place + 2, CommType.ALL_REDUCE, 48 << 20, (place,), (False, True, True)))
        last = (place + 1,)
    return nodes


def test_the_scaling_runs_are_reproduced_up_to_4096_npus(tmp_path: Path) -> None:
    wrong = []
    for run in json.loads((astra_cases.DATA / "scaling.json").read_text())["runs"]:
        if run["finish_ns"] is None:
            continue
        (tmp_path / "network.yml").write_text(json.dumps(run["inputs"]["network"]))
        (tmp_path / "system.json").write_text(json.dumps(run["inputs"]["system"]))
        one = [collective_node(0, CommType.ALL_REDUCE, 1 << 30)]
        workload = astra_cases.trace(tmp_path, transformer_iteration() if run["name"].startswith("TRF24") else one)
        result = astra.run(tmp_path / "network.yml", tmp_path / "system.json", workload, backend=run["backend"])
        if result.finish_ns != run["finish_ns"]:
            wrong.append((run["name"], run["npus"], run["backend"], result.finish_ns, run["finish_ns"]))
    assert not wrong
