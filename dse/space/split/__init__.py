"""Shares of a bandwidth budget: their limits, the best ones for a load, the best ones for a design."""
