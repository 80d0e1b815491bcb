"""Incasts as a measure of a study."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.reproduce.measures.incast import PlayIncast
from simcore.document.problem import InputError

DESIGN = """
workload: {collective: all_reduce, size: 1 MB}
cluster:
  npu: h100-80gb
  dimensions: [{topology: switch, size: 8, bandwidth: 25 GB/s, latency: 1 us, tier: pod}]
  transport: {control: none, mtu: 4 kB}
system: {collective: [ring], chunks: 1}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "design.yaml").write_text(DESIGN, encoding="utf-8")
    return tmp_path


def measured(folder: Path, **changes: object) -> dict[str, float]:
    run = {"incast": "design.yaml", "senders": 4, "size": 400_000}
    found = PlayIncast().read(folder, run, {key.replace("__", "."): value for key, value in changes.items()}).numbers()
    return {"seconds": found["seconds"], **found["traffic"]}


def test_an_incast_takes_what_the_receivers_port_takes(folder: Path) -> None:
    for senders in (1, 4, 7):
        found = measured(folder, incast__senders=senders)
        assert found["packets"] == 100 * senders
        assert found["seconds"] == pytest.approx((senders * 100 + 1) * 4082 / 25e9 + 1e-6, rel=1e-6)


def test_an_alternative_changes_the_design(folder: Path) -> None:
    slower = measured(folder, cluster__transport__control="timely", incast__size=4_000_000)
    assert slower["seconds"] > 2 * measured(folder, incast__size=4_000_000)["seconds"]


@pytest.mark.parametrize("senders", [0, 8, "all"])
def test_senders_that_are_not_there_are_refused(folder: Path, senders: object) -> None:
    with pytest.raises(InputError, match=r"(1 to 7|at least 1)"):
        measured(folder, incast__senders=senders)
