"""Training a transformer."""
