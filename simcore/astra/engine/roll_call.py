"""Who takes part in a collective, and whether all of them mean the same one.

ASTRA-sim matches chunks by number: the k-th chunk that an NPU issues in a group meets the k-th of the others.
Where ranks issue collectives in a different order, sizes do not match and the tool never finishes. Here the
ranks are called together by the same numbers, and the first difference is an error that names both nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from simcore.astra.algorithms.collective import Chunk, Level, Request
from simcore.astra.files.errors import AstraInputError

_STREAMS_PER_GROUP = 1_000_000


@dataclass
class Gathering:
    """One collective that is being gathered."""

    request: Request
    label: str
    expected: tuple[int, ...]
    joined: dict[int, Any] = field(default_factory=dict)
    chunks: dict[int, Sequence[Chunk]] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether everyone is there."""
        return len(self.joined) == len(self.expected)

    def describe(self) -> str:
        """Return who waits for whom."""
        missing = [npu for npu in self.expected if npu not in self.joined]
        return f"{self.label} waits for rank {', '.join(map(str, missing[:8]))}{' ...' if missing[8:] else ''}"


class RollCall:
    """The collectives of all NPUs that are still being gathered."""

    def __init__(self) -> None:
        self._streams: dict[tuple[int, int], int] = defaultdict(int)
        self._open: dict[tuple[int, int, tuple[Level, ...], int], Gathering] = {}

    def join(
        self, npu: int, request: Request, chunks: Sequence[Chunk], label: str, payload: Any = None
    ) -> tuple[Gathering, int]:
        """Let an NPU join; return the collective, and the number of the NPU's first chunk.

        Raises
        ------
        AstraInputError
            If the NPU's collective differs from the one that others have brought under its number.
        """
        group = request.group
        key = (npu, group.id if group else 0)
        stream = self._streams[key]
        self._streams[key] += len(chunks)
        levels = _spanned_levels({phase.level for phase in chunks[0]})
        first = npu
        for level in levels:
            first = level.members[0] if level.members else first - level.position(npu) * level.stride
        place = (key[1], first, levels, stream)
        gathering = self._open.get(place)
        if gathering is None:
            gathering = self._open[place] = Gathering(request, label, _spanned_npus(first, levels))
        elif (gathering.request.kind, gathering.request.size) != (request.kind, request.size):
            raise AstraInputError(
                f"{label} meets {gathering.label}: expected the same collective on both ranks; they issue "
                "collectives in a different order, and ASTRA-sim never finishes"
            )
        gathering.joined[npu] = payload
        gathering.chunks[npu] = chunks
        if gathering.is_complete:
            del self._open[place]
        return gathering, stream + _STREAMS_PER_GROUP * key[1]

    def describe_waiting(self) -> list[str]:
        """Return a sentence for every collective that someone is missing from."""
        return [gathering.describe() for gathering in self._open.values()]


def _spanned_levels(levels: set[Level]) -> tuple[Level, ...]:
    """Return the levels along which members differ, lowest first; one over all NPUs swallows the others."""
    ordered = tuple(sorted(levels, key=lambda level: (level.stride, level.size)))
    largest = max(ordered, key=lambda level: level.size)
    reach = max(level.stride * level.size for level in ordered)
    return (largest,) if largest.stride == 1 and largest.size == reach else ordered


def _spanned_npus(first: int, levels: tuple[Level, ...]) -> tuple[int, ...]:
    """Return the NPUs that differ from `first` only along the levels."""
    npus = [first]
    for level in levels:
        if level.members:
            return level.members
        npus = [npu + place * level.stride for place in range(level.size) for npu in npus]
    return tuple(npus)
