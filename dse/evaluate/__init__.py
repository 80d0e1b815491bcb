"""A design to an outcome: its result, its values, the constraints it breaks; and what it is to be better."""
