"""Which layers are on which stage, and which recompute: solved for a design that asks for it."""
