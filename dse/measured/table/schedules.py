"""Tables of pipeline schedules: the speed of each over that of one forward, one backward (`speed_over_1f1b`).

Batch, sequence and microbatches are not stated in them. Assumed: the longest sequence of the model, one sequence a
microbatch, and `MICROBATCHES` of them. What is compared is the time over that of the same job with 1F1B and one chunk
a stage; the row of 1F1B itself says nothing then.
"""

from __future__ import annotations

from dse.measured.table.cells import Cells, inexpressible
from simcore import catalog
from simcore.document.problem import Problem

MICROBATCHES = 32
"""A data-parallel NPU's in an iteration: assumed. Interleaving of two chunks on eight stages, which the published rows
have 1.09 times as fast as 1F1B, fills (32 + 7) / (32 + 3.5) = 1.10 times as much of the pipeline."""
SCHEDULE_REQUIRED = ("device", "gpus", "model", "tensor", "pipeline", "chunks", "schedule", "speed_over_1f1b")
SCHEDULE_COLUMNS = (*SCHEDULE_REQUIRED, "case", "expert", "seq", "fabric", "software")
_NAMES = {
    "1f1b": "1f1b", "1f1b-interleaved": "1f1b", "gpipe": "gpipe", "zbb": "zero_bubble", "zb1p": "zero_bubble",
    "zero_bubble": "zero_bubble", "zbv": "zbv", "v-half": "v-half", "v-min": "v-min", "dualpipe": "dualpipe",
    "dualpipe-v": "dualpipe-v",
}  # fmt: skip
"""Schedules as tables call them, and as designs do."""


def rewrite_schedule(cells: Cells) -> Cells | Problem:
    """A row in the columns of the common form; see `dse.measured.table.form`."""
    name = cells["schedule"].lower()
    if name == "1f1b" and cells["chunks"] == "1":
        return inexpressible(
            "schedule", "a schedule to compare with 1f1b", "1f1b, which the other rows are relative to"
        )
    counts = {key: cells.get(key) or "1" for key in ("gpus", "tensor", "pipeline", "chunks")}
    for key, text in counts.items():
        if not text.isdecimal() or not int(text):
            return Problem((key,), "a whole number of at least 1", f"'{text}'")
    try:
        seconds = 1.0 / float(cells["speed_over_1f1b"])
    except (ValueError, ZeroDivisionError):
        return Problem(("speed_over_1f1b",), "a number above 0", f"'{cells['speed_over_1f1b']}'")
    data = max(1, int(counts["gpus"]) // (int(counts["tensor"]) * int(counts["pipeline"])))
    model = catalog.section("models").get(cells["model"].lower(), {})
    whole = name.startswith(("zbb", "zb1p", "zero_bubble"))  # zero bubble runs one chunk a stage
    out: dict[str, str] = {key: cells[key] for key in ("case", "device", "model", "software") if key in cells}
    out |= {"npus": counts["gpus"], "tensor": counts["tensor"], "pipeline": counts["pipeline"], "data": str(data)}
    out |= {"seq": cells.get("seq") or str(model.get("sequence_length", 1)), "microbatch": "1", "precision": "bf16"}
    out |= {"fabric": cells.get("fabric") or f"{cells['device'].lower()}-node", "expert": cells.get("expert") or "1"}
    out |= {"global_batch": str(MICROBATCHES * data), "schedule": _NAMES.get(name, name)}
    return out | {"interleave": "1" if whole else counts["chunks"], "measured_s": repr(seconds)}
