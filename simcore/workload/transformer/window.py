"""Layers that do not attend to the whole sequence: sliding windows and chunks, and what each token then sees.

A token of a layer with a window of w tokens attends to itself and the w - 1 before it (Beltagy et al. 2020, arXiv
2004.05150; Mistral 7B, arXiv 2310.06825, section 2); in a layer of chunks to those before it in its own chunk of w
tokens alone (Llama 4). Models mix such layers with others that attend to everything (Gemma 2, arXiv 2408.00118: every
second; Gemma 3, arXiv 2503.19786: every sixth).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from simcore.document.field import Count, Flag, Frozen, Natural


class Window(Frozen):
    """Which layers attend to how many tokens."""

    tokens: Count
    """Tokens that a token attends to at most, itself among them; of a chunk, its tokens."""
    full_every: Annotated[Count, Field(ge=2)] | None = None
    """Each so many-th layer attends to the whole sequence (Gemma 2: 2, Gemma 3: 6); no layer unless given."""
    full_first: Natural = 0
    """The first layers, which attend to the whole sequence."""
    chunked: Flag = False
    """The sequence is cut into chunks of `tokens`, within which tokens attend (Llama 4)."""

    def covers(self, layer: int) -> bool:
        """Whether a layer, counted from 0, is one of those that do not attend to the whole sequence."""
        return layer >= self.full_first and (self.full_every is None or (layer + 1) % self.full_every != 0)

    def seen(self, sequence: int) -> float:
        """Tokens that one of a causal sequence attends to, on average; sequence / 2 where the window is no shorter."""
        w = self.tokens
        if w >= sequence:
            return sequence / 2
        if self.chunked:
            whole, rest = divmod(sequence, w)
            return (whole * w * w + rest * rest) / (2 * sequence)
        return w - w * w / (2 * sequence)

    def kept(self, context: int) -> int:
        """Of the tokens before one, those that a cache keeps for it."""
        return min(context, self.tokens)
