"""Networks and a model that are small enough to write down as ASTRA-sim's files and read back."""

from __future__ import annotations

from typing import Any

NODE: dict[str, Any] = {
    "topology": "switch",
    "size": 4,
    "bandwidth": "300 GB/s",
    "latency": "700 ns",
    "tier": "node",
    "library": {},
}
FULL: dict[str, Any] = {
    "topology": "fully_connected",
    "size": 4,
    "bandwidth": "90 GB/s",
    "latency": "500 ns",
    "tier": "node",
    "library": {},
}
MODEL = {"hidden": 1024, "layers": 4, "heads": 16, "vocabulary": 4096, "sequence_length": 512}
