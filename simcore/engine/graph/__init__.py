"""Plays an explicit graph: one NPU of each class, on the queues of the fast engine."""
