"""A native design written as ASTRA-sim's files, and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from exported import FULL, MODEL, NODE

from simcore import astra, simulate
from simcore.check.load import design_from
from simcore.document.problem import InputError
from simcore.traces.export import differences, export

POD = {"topology": "switch", "size": 2, "bandwidth": "25 GB/s", "latency": "1.7 us", "tier": "pod"}
RING = {"topology": "ring", "size": 4, "bandwidth": "100 GB/s", "latency": "500 ns", "tier": "node", "library": {}}


def design(workload: dict[str, Any], dimensions: list[dict[str, Any]], **parallelism: Any) -> Any:
    document = {
        "workload": workload,
        "cluster": {"npu": "a100-80gb", "dimensions": dimensions},
        "system": {"active_chunks": 1, "chunks": 4},
    }
    return design_from(document | ({"parallelism": parallelism} if parallelism else {}))


def read_back(folder: Path) -> int:
    single = folder / "workload.et"
    workload = single if single.exists() else folder / "workload"
    groups = folder / "comm_groups.json"
    found = {"comm_groups": groups} if groups.exists() else {}
    return astra.run(folder / "network.yml", folder / "system.json", workload, **found).finish_ns


@pytest.mark.parametrize("dimensions", [[NODE], [RING], [FULL], [RING, FULL, POD], [NODE, POD]])
@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather", "all_to_all"])
def test_a_collective_takes_the_same_time_up_to_rounding(
    tmp_path: Path, kind: str, dimensions: list[dict[str, Any]]
) -> None:
    native = design({"collective": kind, "size": "64 MiB"}, dimensions)
    export(native, tmp_path)
    if kind == "all_to_all" and dimensions != [FULL]:
        assert any("share its port" in text for text in differences(native))
        return
    assert differences(native) == ()
    assert read_back(tmp_path) == pytest.approx(simulate(native).iteration_time_s * 1e9, rel=2e-3)


def test_an_iteration_takes_the_same_time_up_to_rounding(tmp_path: Path) -> None:
    native = design({"model": MODEL, "global_batch": 4}, [NODE], tensor=4)
    assert differences(native) == ()
    export(native, tmp_path)
    assert read_back(tmp_path) == pytest.approx(simulate(native).iteration_time_s * 1e9, rel=2e-3)


def test_a_pipeline_takes_the_same_time_but_for_the_chunks_of_its_sends(tmp_path: Path) -> None:
    native = design({"model": MODEL, "global_batch": 4}, [NODE, POD], tensor=4, pipeline=2)
    assert any("a send between stages" in text for text in differences(native))
    export(native, tmp_path)
    assert read_back(tmp_path) == pytest.approx(simulate(native).iteration_time_s * 1e9, rel=1e-2)


def test_what_the_two_models_see_differently_is_named() -> None:
    native = design({"model": MODEL, "global_batch": 4}, [NODE, POD], tensor=2, data=4)
    told = " ".join(differences(native))
    assert "flat ring: tensor" in told
    assert "gradient reduction" in told


def test_a_topology_that_astra_sim_lacks_is_refused(tmp_path: Path) -> None:
    mesh = {**RING, "topology": "mesh"}
    with pytest.raises(InputError, match="one of ASTRA-sim's"):
        export(design({"collective": "all_reduce", "size": "1 MiB"}, [mesh]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_shares_by_message_size_are_refused(tmp_path: Path) -> None:
    by_size = {**NODE, "efficiency": {"1 KB": 0.3, "1 MB": 0.9}}
    with pytest.raises(InputError, match=r"efficiency: expected one number \(ASTRA-sim knows no sizes"):
        export(design({"collective": "all_reduce", "size": "64 MiB"}, [by_size]), tmp_path)
