"""Tables of MaxText on TPUs: slices of chips in a torus (`ici_` axes of `layout`), joined by a data-centre network.

An axis of MaxText's mesh is a degree: `fsdp` shards as ZeRO-3 does, `data` holds copies, `tensor` splits products,
`context` and `sequence` the sequence, `expert` the experts (whose NPUs are data-parallel too), `pipeline` the layers;
-1 is what is left of a slice, or of the slices. A chip is one NPU, also where it shows itself as two devices. There is
no accumulation: a microbatch is all that a data-parallel NPU has of the batch.
"""

from __future__ import annotations

import math
import re

from dse.measured.table.cells import Cells, inexpressible
from dse.measured.table.jax import STACK
from dse.measured.table.remat import read_remat
from simcore.document.problem import Problem

TPU_REQUIRED = ("device", "chips", "model", "seq", "global_batch", "layout", "step_s")
TPU_COLUMNS = (
    *TPU_REQUIRED, "case", "slices", "topology", "per_device_batch", "precision", "remat", "software",
)  # fmt: skip
_DEGREES = {
    "fsdp": "shard", "fsdp_transpose": "shard", "data": "data", "tensor": "tensor", "tensor_transpose": "tensor",
    "context": "context", "sequence": "context", "expert": "expert", "pipeline": "pipeline",
}  # fmt: skip
"""Axes of a mesh, and what each splits."""
_AXIS = re.compile(r"(ici|dcn)_(\w+)=(-?\d+)")


def rewrite_tpu(cells: Cells) -> Cells | Problem:
    """A row in the columns of the common form; see `dse.measured.table.form`."""
    counts = {name: cells.get(name) or "1" for name in ("chips", "slices", "global_batch")}
    for name, text in counts.items():
        if not text.isdecimal() or not int(text):
            return Problem((name,), "a whole number of at least 1", f"'{text}'")
    recompute = read_remat(cells.get("remat", ""))
    if isinstance(recompute, Problem):
        return recompute
    degrees = _read_layout(cells, int(counts["chips"]), int(counts["slices"]), int(counts["global_batch"]))
    if isinstance(degrees, Problem):
        return degrees
    shard, expert = degrees["shard"], degrees["expert"]
    data = shard * degrees["data"] * expert
    batch = int(counts["global_batch"])
    if batch % data:
        return inexpressible("layout", f"axes of data that divide the batch ({batch})", str(data))
    out: dict[str, str] = {
        name: cells[name] for name in ("case", "device", "model", "seq", "global_batch") if name in cells
    }
    out |= {name: str(degrees[name]) for name in ("tensor", "context", "expert", "pipeline")}
    out |= {"npus": counts["chips"], "slices": counts["slices"], "fabric": f"{cells['device'].lower()}-pod"}
    out |= {"data": str(data), "microbatch": str(batch // data), "measured_s": cells["step_s"], "recompute": recompute}
    out["precision"] = "int8" if cells.get("precision", "").startswith("int8") else cells.get("precision", "")
    out["software"] = cells.get("software") or STACK
    if shard > 1:
        out["zero"] = "3"
        if shard * expert < data:
            out["shard_group"] = str(shard * expert)
    return out


def _read_layout(cells: Cells, chips: int, slices: int, batch: int) -> dict[str, int] | Problem:
    """The degree of each kind of axis, of chips."""
    axes = _AXIS.findall(cells["layout"])
    unknown = [f"{place}_{name}" for place, name, size in axes if name not in _DEGREES and size != "1"]
    if unknown or not axes:
        known = ", ".join(_DEGREES)
        return inexpressible("layout", f"axes ici_ and dcn_ of {known}", f"'{', '.join(unknown) or cells['layout']}'")
    devices = _devices(cells, chips, batch)
    sizes = {"ici": devices // slices, "dcn": slices}
    degrees = dict.fromkeys(_DEGREES.values(), 1)
    for place, whole in sizes.items():
        given = {name: int(size) for at, name, size in axes if at == place and name in _DEGREES}
        product = math.prod(size for size in given.values() if size != -1)
        for name, size in given.items():
            degrees[_DEGREES[name]] *= size if size != -1 else max(1, whole // product)
    if math.prod(degrees.values()) != devices:
        return inexpressible("layout", f"axes for {devices} devices", f"'{cells['layout']}'")
    if devices > chips:
        split = next((kind for kind in ("shard", "data", "tensor") if degrees[kind] % (devices // chips) == 0), None)
        if split is None:
            return inexpressible("layout", "an axis that both devices of a chip are on", f"'{cells['layout']}'")
        degrees[split] //= devices // chips
    return degrees


def _devices(cells: Cells, chips: int, batch: int) -> int:
    """Devices that MaxText sees: the chips, or two of each where `per_device_batch` says so."""
    try:
        each = float(cells.get("per_device_batch") or 0)
    except ValueError:
        each = 0.0
    return 2 * chips if each and round(batch / each) == 2 * chips else chips
