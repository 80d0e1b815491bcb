"""Whether a design is valid, and the doors through which documents come in."""
