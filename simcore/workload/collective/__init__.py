"""A single collective."""
