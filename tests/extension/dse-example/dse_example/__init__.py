"""One extension of each kind. See `pyproject.toml` for the names by which documents know them."""
