"""Sections of a design document that are decided together."""

from __future__ import annotations

JOB_SECTIONS = ("workload", "parallelism", "software")
"""What is run, and how it is cut and programmed."""
SOFTWARE_SECTIONS = ("workload", "parallelism", "system", "software")
"""These, and how the network is used: what can be changed when the cluster is bought."""
