"""Designs of other kinds of workload written as ASTRA-sim's files, and read back: a second way to the same time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from exported import FULL, MODEL, NODE

from simcore import astra, simulate
from simcore.check.load import design_from
from simcore.traces.export import export

SERVED = {"model": MODEL, "global_batch": 8, "prompt_length": 64, "output_length": 6}
TABLE = {"layers": [{"m": 1, "n": 4096, "k": 1024, "repeat": 3}], "global_batch": 64}


@pytest.mark.parametrize(
    ("workload", "dimension", "parallelism"),
    [
        (SERVED, NODE, {"tensor": 4}),
        (SERVED, NODE, {"pipeline": 4, "microbatch": 2}),
        (TABLE, NODE, {"tensor": 4}),
        (TABLE, NODE, {"data": 4, "bucket": "1 GB"}),
        ({"model": "dlrm-mlperf", "global_batch": 8192}, FULL, {"bucket": "1 GB"}),
    ],
    ids=["serving-tensor", "serving-pipeline", "table-tensor", "table-data", "recommender"],
)
def test_astra_sims_rules_give_the_same_time_up_to_rounding(
    tmp_path: Path, workload: dict[str, Any], dimension: dict[str, Any], parallelism: dict[str, Any]
) -> None:
    native = design_from(
        {
            "workload": workload,
            "parallelism": parallelism,
            "cluster": {"npu": "a100-80gb", "dimensions": [dimension]},
            "system": {"active_chunks": 1, "chunks": 1},
            "software": {"base": "megatron-core", "overlap": {"node": 0.0, "nodes": 0.0}},
        }
    )
    export(native, tmp_path)
    single = tmp_path / "workload.et"
    trace = single if single.exists() else tmp_path / "workload"
    groups = tmp_path / "comm_groups.json"
    found = {"comm_groups": groups} if groups.exists() else {}
    theirs = astra.run(tmp_path / "network.yml", tmp_path / "system.json", trace, **found).finish_ns
    assert theirs == pytest.approx(simulate(native).iteration_time_s * 1e9, rel=3e-3)
