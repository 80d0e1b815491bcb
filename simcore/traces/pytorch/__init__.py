"""PyTorch's execution traces with Kineto's timelines, merged and written as Chakra traces."""
