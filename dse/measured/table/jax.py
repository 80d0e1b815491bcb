"""Tables of MaxText and PaxML on GPUs: fully sharded in groups of `fsdp_group`, `data_replicas` copies of them."""

from __future__ import annotations

from dse.measured.table.cells import Cells
from dse.measured.table.remat import read_remat
from simcore.document.problem import Problem

JAX_COLUMNS = ("remat", "fsdp_group", "data_replicas")
STACK = "maxtext"
"""The stack of rows that name none: XLA schedules both programs."""


def rewrite_jax(cells: Cells) -> Cells | Problem:
    """A row in the columns of the common form; see `dse.measured.table.form`."""
    recompute = read_remat(cells["remat"])
    if isinstance(recompute, Problem):
        return recompute
    group, replicas = cells["fsdp_group"], cells.get("data_replicas") or "1"
    if not (group.isdecimal() and replicas.isdecimal()):
        return Problem(("fsdp_group",), "whole numbers of NPUs and of copies", f"'{group}' and '{replicas}'")
    out: dict[str, str] = {name: text for name, text in cells.items() if name not in JAX_COLUMNS}
    out |= {"data": str(int(group) * int(replicas)), "recompute": recompute}
    out["software"] = cells.get("software") or STACK
    if int(replicas) > 1:
        out["shard_group"] = group
    return out
