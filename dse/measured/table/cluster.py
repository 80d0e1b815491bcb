"""The cluster of a row: its device on its fabric, with the domains and the slices that the row says."""

from __future__ import annotations

from typing import Any

from dse.measured.table.cells import Values
from simcore import catalog


def cluster_section(values: Values) -> dict[str, Any]:
    """The section `cluster` of a row's design."""
    fabric: Any = values["fabric"]
    domain = values.get("gpus_per_nvlink_domain")
    if domain is not None:
        fabric = _with_domain(fabric, domain, values["npus"])
    return {"npu": values["device"], "fabric": fabric, "npus": values["npus"]}


def _with_domain(fabric: str, domain: int, npus: int) -> Any:
    """The fabric, whose innermost dimension is as much of a domain as jobs of `npus` NPUs fill evenly.

    A rack of 72 is used as 64 where the NPUs are no multiple of 72.
    """
    entry = catalog.section("fabrics")[fabric]
    inner, *outer = entry["dimensions"]
    size = inner.get("size", domain)
    used = max(count for count in range(1, min(domain, size) + 1) if npus % count == 0)
    return fabric if used in (size, npus) and size >= used else {"dimensions": [{**inner, "size": used}, *outer]}
