"""The cluster of a row: its device on its fabric, with the NVLink domains or the slices that the row says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

from dse.measured.table.cells import Values
from simcore import catalog
from simcore.design.fabric import fabric_dimensions


def cluster_section(values: Values) -> dict[str, Any]:
    """The section `cluster` of a row's design.

    NPUs in a domain are said where the fabric leaves them open. A rack that the NPUs cannot fill evenly is left to the
    fabric, which takes as much of each as it can: 64 of 72.
    """
    npus: int = values["npus"]
    section = {"npu": values["device"], "fabric": values["fabric"], "npus": npus}
    if "domain" in catalog.section("fabrics")[values["fabric"]]:
        domain = npus // values["slices"] if "slices" in values else values.get("gpus_per_nvlink_domain", npus)
        if domain < npus and npus % domain == 0:
            section["domain"] = domain
    return section


def other_clusters(cluster: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The cluster with the directions of its torus counted in other orders, or with less of each NVLink domain in use.

    A mesh of devices is laid on a torus so that its axes fit, where a design counts its groups innermost dimension
    first; and a job takes as much of each rack as its groups fill.
    """
    domain = [cluster["domain"]] if "domain" in cluster else []
    dimensions = fabric_dimensions(cluster["fabric"], cluster["npus"], *domain)
    rings = [place for place, dimension in enumerate(dimensions) if dimension["topology"] == "ring"]
    sizes = tuple(dimensions[place]["size"] for place in rings)
    for order in sorted(set(permutations(sizes)) - {sizes}):
        counted = dict(zip(rings, order, strict=True))
        turned = [{**d, "size": counted.get(place, d["size"])} for place, d in enumerate(dimensions)]
        yield {"npu": cluster["npu"], "dimensions": turned}
    if not rings and "domain" in catalog.section("fabrics")[cluster["fabric"]]:
        used: int = dimensions[0]["size"]
        for less in range(used - 1, used // 2 - 1, -1):
            if less > 1 and cluster["npus"] % less == 0:
                yield {**cluster, "domain": less}
