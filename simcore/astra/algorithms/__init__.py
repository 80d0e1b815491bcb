"""Collective algorithms as ASTRA-sim plays them: one file each."""
