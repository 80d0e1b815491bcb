"""The default sampler: candidates that estimates and bounds promise most of."""
