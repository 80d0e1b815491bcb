"""A price list: what a used network costs."""

from __future__ import annotations

SECOND_HAND = {
    "network": {
        "node": {"link": "1 $/GB/s", "switch": "4 $/GB/s"},
        "pod": {"link": "2 $/GB/s", "switch": "9 $/GB/s", "nic": "16 $/GB/s"},
    },
    "npu": {"h100-80gb": "18000 $"},
    "sources": {"all": "assumed"},
}
