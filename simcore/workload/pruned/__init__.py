"""Serving a pruned network whose neurons are shared out over workers: a kind of workload."""
