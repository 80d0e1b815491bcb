"""Text to values: YAML with the line of every key, quantities with units, and what is wrong and where."""
