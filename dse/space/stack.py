"""The software of a document that names none, by the NPUs of its cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simcore.design.software import usual_software


def usual_stack(cluster: Any) -> str | None:
    """The name of the stack that is usual on all NPUs of a cluster, holes and all; None where they have several."""
    stacks = {usual_software(npu).name for npu in _names_of_npus(cluster)} or {usual_software().name}
    return stacks.pop() if len(stacks) == 1 else None


def _names_of_npus(cluster: Any) -> Iterator[str]:
    """The names of the NPUs of a cluster, or of its alternatives."""
    if isinstance(cluster, list):
        for entry in cluster:
            yield from _names_of_npus(entry)
    elif isinstance(cluster, dict):
        for key, value in cluster.items():
            if key == "npu":
                listed = value["choice"] if isinstance(value, dict) and "choice" in value else [value]
                for npu in listed:
                    yield str(npu.get("name") or npu.get("base") or "") if isinstance(npu, dict) else str(npu)
            else:
                yield from _names_of_npus(value)
