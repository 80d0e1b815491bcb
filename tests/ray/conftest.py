"""Ray clusters of several nodes on this machine: small, private, and gone when the tests are."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).parents[1] / part) for part in ("dse", "cli")]

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
STORE = 80 << 20


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One xdist group, so that one cluster serves them all; Ray's own warnings are not ours to fix."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("ray"))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::FutureWarning"))


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A head without CPUs, and two nodes of one CPU each."""
    pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False}
    )
    try:
        for _ in range(2):
            made.add_node(num_cpus=1, object_store_memory=STORE)
        yield made
    finally:
        made.shutdown()


@pytest.fixture(autouse=True)
def disconnected() -> Iterator[None]:
    """No test leaves this process connected."""
    yield
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()
