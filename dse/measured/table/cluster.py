"""The cluster of a row: its device on its fabric, with the NVLink domains or the slices that the row says."""

from __future__ import annotations

from typing import Any

from dse.measured.table.cells import Values
from simcore import catalog


def cluster_section(values: Values) -> dict[str, Any]:
    """The section `cluster` of a row's design.

    NPUs in a domain are said where the fabric leaves them open. A rack that the job cannot fill evenly is left to the
    fabric, which takes as much of each as it can: 64 of 72.
    """
    npus: int = values["npus"]
    section = {"npu": values["device"], "fabric": values["fabric"], "npus": npus}
    if "domain" in catalog.section("fabrics")[values["fabric"]]:
        domain = npus // values["slices"] if "slices" in values else values.get("gpus_per_nvlink_domain", npus)
        if domain < npus and npus % domain == 0:
            section["domain"] = domain
    return section
