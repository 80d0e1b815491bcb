"""The flow engine (compiled): one NPU of each class, and links whose messages share them as max-min fairness says."""
