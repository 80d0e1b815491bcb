"""ASTRA-sim's rules of time: networks, queues, and the machines that run a workload."""
