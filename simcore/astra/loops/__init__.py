"""Training loops of text workloads: one file for those that are alike."""

from simcore.astra.loops.base import TrainingLoop
from simcore.astra.loops.data_parallel import DataParallel, MicroBenchmark
from simcore.astra.loops.dlrm import Dlrm, EnhancedDlrm
from simcore.astra.loops.hybrid_parallel import (
    Customized,
    DistributedInference,
    HybridParallel,
    ModelParallel,
    ModelWithinData,
)
from simcore.astra.loops.transformer import CheckpointedTransformer, Transformer
from simcore.family import Family

LOOPS: Family[TrainingLoop] = Family(
    "simcore.training_loops",
    TrainingLoop,
    {
        "MICRO": MicroBenchmark(),
        "DATA": DataParallel(),
        "MODEL": ModelParallel(),
        "HYBRID_DATA_MODEL": HybridParallel(),
        "HYBRID_MODEL_DATA": ModelWithinData(),
        "HYBRID_CUSTOMIZED": Customized(),
        "HYBRID_TRANSFORMER": Transformer(),
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD": CheckpointedTransformer(),
        "HYBRID_DLRM": Dlrm(),
        "HYBRID_DLRM_ENHANCED": EnhancedDlrm(),
        "DISTRIBUTED_INFERENCE": DistributedInference(),
    },
)
"""Loops by the name that a text workload gives: ASTRA-sim 1.0's, and those of installed packages."""

__all__ = ["LOOPS", "TrainingLoop"]
