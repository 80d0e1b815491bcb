"""Queues and rates over time: what is seen at samples is within what was counted, and can be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from dse.report.plots import Options, plot_of
from dse.report.plots.style import render
from dse.whatif.subject import subject_of
from simcore import InputError, load_design, simulate
from simcore.check.check import check
from simcore.engine.packets.over_time import SAMPLES, play_over_time

FABRIC = {
    "topology": "clos", "size": 8, "leaf": 4, "oversubscription": 4.0, "routing": "ecmp",
    "bandwidth": "25 GB/s", "latency": "1 us", "tier": "pod",
}  # fmt: skip
DOCUMENT = {
    "workload": {"collective": "all_to_all", "size": "400 kB"},
    "cluster": {"npu": "h100-80gb", "dimensions": [FABRIC], "transport": {"control": "dcqcn", "buffer": "4 MB"}},
    "system": {"collective": ["direct"], "chunks": 2},
}


def test_samples_are_within_what_was_counted() -> None:
    design = load_design(DOCUMENT)
    found, result = play_over_time(design, check), simulate(design, "packets")
    assert result.traffic is not None
    assert found.seconds == result.iteration_time_s
    assert abs(len(found.times) - SAMPLES) <= 1
    counted = {port.port: port for port in result.traffic.ports}
    for port in found.ports:
        assert len(port.queue) == len(port.sent) == len(found.times) == len(found.paused)
        if port.name in counted:
            assert max(port.queue) <= counted[port.name].queue_max_bytes
    longest = max(port.queue_max_bytes for port in result.traffic.ports)
    assert max(found.ports[0].queue) > longest / 2 > 0
    assert max(found.paused) <= found.of


def test_a_picture_shows_them(tmp_path: Path) -> None:
    path = tmp_path / "incast.yaml"
    path.write_text(yaml.safe_dump(DOCUMENT))
    picture = plot_of("queues", [subject_of(str(path), bounds=False)], Options())
    assert picture.numbers["control"] == "dcqcn"
    assert render(picture.figure, "png").startswith(b"\x89PNG")


def test_a_fabric_without_switches_is_refused() -> None:
    ring = {"topology": "ring", "size": 8, "bandwidth": "25 GB/s", "latency": "1 us", "tier": "pod"}
    document = DOCUMENT | {"cluster": {"npu": "h100-80gb", "dimensions": [ring]}}
    with pytest.raises(InputError, match="ring"):
        play_over_time(load_design(document), check)
