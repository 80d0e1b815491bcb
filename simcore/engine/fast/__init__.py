"""The fast engine: one representative NPU per stage, in compiled loops over flat arrays."""
