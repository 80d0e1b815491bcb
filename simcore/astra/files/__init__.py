"""ASTRA-sim's own input and output files."""
