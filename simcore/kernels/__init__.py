"""How numba lowers and links a kernel, and which process compiles it; `simcore.compiled` is the door."""
