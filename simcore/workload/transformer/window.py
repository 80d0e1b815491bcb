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

TILE = 128
"""Queries and keys of a tile of a fused kernel (Dao 2023, arXiv 2307.08691, section 3.3: 64 or 128 of either)."""


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

    def computed(self, sequence: int) -> float:
        """Tokens whose scores a fused kernel computes for one, on average: whole tiles, which reach over the window.

        `TILE` queries that go together need the keys of all their windows.
        """
        seen = self.seen(sequence)
        return seen if self.chunked else min(seen + TILE, sequence / 2)

    def kept(self, context: int) -> int:
        """The tokens, of so many, that a cache keeps for the next one."""
        return min(context, self.tokens)

    def attended(self, contexts: range) -> int:
        """Tokens that decoding attends to, where the tokens so far, the one at work among them, are `contexts` in turn.

        Those of all of them together.
        """
        if not self.chunked:
            return sum(map(self.kept, contexts))
        return self._attended_up_to(contexts.stop - 1) - self._attended_up_to(contexts.start - 1)

    def _attended_up_to(self, context: int) -> int:
        """Of chunks, with every context from 1 to that one: each token attends to those of its own chunk so far."""
        whole, rest = divmod(context, self.tokens)
        return (whole * self.tokens * (self.tokens + 1) + rest * (rest + 1)) // 2
