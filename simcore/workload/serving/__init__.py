"""Serving a transformer: prompts, then one token after the other."""
