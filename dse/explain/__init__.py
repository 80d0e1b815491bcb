"""Explaining one design, or two side by side: where the time goes, what differs, which changes help."""
