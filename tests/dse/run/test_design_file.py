"""Designs of a run as files: complete, and fit to be edited."""

from __future__ import annotations

from pathlib import Path

from dse.evaluate.record import TrialRecord
from dse.run.design_file import write_designs
from simcore.check.load import design_from, load_design

NICS = {"topology": "switch", "size": 4, "latency": "5 us", "tier": "pod", "nics": 8, "nic_bandwidth": "50 GB/s"}
INNER = {"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "1 us", "tier": "node"}


def test_a_bandwidth_that_follows_from_nics_is_not_written(tmp_path: Path) -> None:
    design = design_from(
        {
            "workload": {"model": "megatron-22b", "global_batch": 64},
            "cluster": {"npu": "h100-80gb", "dimensions": [INNER, NICS]},
        }
    )
    trial = TrialRecord(3, "feasible", {}, {}, {}, design=design.document())
    (written,) = write_designs(trial, tmp_path / "design.yaml", "fast")
    assert written.note == "the run never simulated it"
    text = written.path.read_text()
    assert load_design(written.path).key == design.key
    assert text.count(" bandwidth:") == 1
    written.path.write_text(text.replace("nics: 8", "nics: 4"))
    assert load_design(written.path).cluster.dimensions[1].bandwidth == 25e9
