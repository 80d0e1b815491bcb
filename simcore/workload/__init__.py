"""What must happen: one file per kind of workload, each giving a Program."""

from simcore.workload.transformer import transformer_program

__all__ = ["transformer_program"]
