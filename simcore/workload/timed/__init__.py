"""Layers whose times are known: how a network of collectives serves them."""
