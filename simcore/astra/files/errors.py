"""The one error of this package: something in ASTRA-sim's input files cannot be run.

ASTRA-sim itself hangs, aborts or leaves with exit code 0 and unreported NPUs on most of these
inputs. Here every one of them ends in one sentence: *where: expected X, got Y; likely fix*.
"""

from __future__ import annotations

MAX_MESSAGE = 1000
"""Longest message in characters."""


class AstraInputError(ValueError):
    """An input file is malformed, or asks for something ASTRA-sim does not finish."""

    def __init__(self, message: str) -> None:
        # Names from untrusted files may hold anything: one printable line of bounded length.
        line = " ".join(message.split())
        super().__init__("".join(char if char.isprintable() else "?" for char in line)[:MAX_MESSAGE])
