"""Predictions against measured iterations, and the devices and curves that are fitted to them."""
