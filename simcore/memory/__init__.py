"""What fits: memory per NPU."""
