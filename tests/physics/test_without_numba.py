"""The same picoseconds where numba is not installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from designs import dimension, model, npu, training

from simcore.check.load import design_from
from simcore.simulate import simulate

SCRIPT = """
import json, sys
sys.modules["numba"] = None
from simcore.check.load import design_from
from simcore.simulate import simulate
documents = json.load(sys.stdin)
print(json.dumps([simulate(design_from(document)).document() for document in documents]))
"""

TRAINING = {"model": model(layers=4), "global_batch": 16}
DOCUMENTS: list[dict[str, Any]] = [
    {
        "workload": {"collective": "all_reduce", "size": "10 MB"},
        "cluster": {"npu": npu(), "dimensions": [dimension("ring", 4), dimension(size=8)]},
        "system": {"chunks": 4, "inter_dimension": "themis", "intra_dimension": "scf"},
    },
    training({"tensor": 2, "pipeline": 2, "zero": 1}, [dimension(size=8)], workload=TRAINING, system={"chunks": 2}),
    training(
        {"tensor": 2, "pipeline": 2, "interleave": 2, "zero": 3, "bucket": "1 kB"},
        [dimension("ring", 4), dimension("fully_connected", 2, "5 GB/s", tier="package")],
        workload=TRAINING,
        system={"chunks": 2, "intra_dimension": "lifo", "active_chunks": 1},
    ),
]


def test_a_few_designs_take_the_same_time_to_the_picosecond() -> None:
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(DOCUMENTS),
        capture_output=True,
        text=True,
        cwd=root,
        timeout=100,
        check=False,
    )
    if ran.returncode:
        pytest.fail(ran.stderr)
    compiled = [simulate(design_from(document)).document() for document in DOCUMENTS]
    assert json.loads(ran.stdout) == json.loads(json.dumps(compiled))
