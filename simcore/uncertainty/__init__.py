"""What the model does not know for sure, drawn: variants of a design in which its parameters are wrong."""
