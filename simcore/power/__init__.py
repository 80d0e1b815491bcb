"""How much power: NPUs by what they do, and all that is beside them."""
