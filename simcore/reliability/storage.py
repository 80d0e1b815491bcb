"""What a checkpoint holds, and which storage it needs.

Of each parameter an fp32 copy and Adam's two moments are kept (12 bytes), and the 16-bit weight beside them, as
Megatron's distributed optimizer writes. MT-NLG's 530 B parameters took 6.3 TB (GEMINI, SOSP 2023: 42 minutes at
20 Gb/s), 11.9 bytes each; BLOOM's 176 B took 2.3 TB, 13.1 bytes each. What else a kind of workload keeps it says
itself.
"""

from __future__ import annotations

from simcore.design.design import Design
from simcore.design.reliability import Checkpoint
from simcore.design.workload import Workload
from simcore.document.field import BYTES
from simcore.workload.base import kind_of
from simcore.workload.data_parallel import MASTER_BYTES


def checkpoint_bytes(workload: Workload, checkpoint: Checkpoint) -> float | None:
    """Bytes of a checkpoint; None of a workload that is not trained, or of whose parameters nothing is known."""
    kind = kind_of(workload)
    totals = kind.totals(workload) if kind.trained else None
    if totals is None:
        return None
    weight = 0.0 if workload.precision == "fp32" else BYTES["bf16"]
    each = checkpoint.bytes_per_parameter or MASTER_BYTES + weight
    return totals.parameters * each + totals.kept_beside


def storage_bandwidth(checkpoint: Checkpoint, npus: int) -> float:
    """Write bandwidth of the cluster's storage [B/s]."""
    return checkpoint.bandwidth or (checkpoint.bandwidth_per_npu or 0.0) * npus


def storage_needed(design: Design) -> tuple[float, float] | None:
    """Bandwidth of writing [B/s] and capacity [B] of the storage that checkpoints need; None where none are said.

    The bandwidth does not depend on the workload: a cluster has the same storage whatever it runs.
    """
    checkpoint = design.reliability.checkpoint
    if checkpoint is None:
        return None
    size = checkpoint_bytes(design.workload, checkpoint) or 0.0
    return storage_bandwidth(checkpoint, design.cluster.npus), checkpoint.kept * size
