"""Several jobs on one cluster: played side by side, and what that came to."""
