"""A trace: what every NPU was recorded, or generated, to do."""
