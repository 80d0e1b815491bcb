"""A model as a table of its layers."""
