"""What rounding may have added to a bound, taken off again."""

from __future__ import annotations

SAFE = 1 - 1e-12
"""A sum of n doubles is off by n x 1.1e-16 of itself at most where no addend is negative (Higham, Accuracy and
Stability of Numerical Algorithms, 2002, section 4.2): this is enough for thousands of them."""
