"""The process groups of all ranks, numbered as ASTRA-sim's communicator groups are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simcore.document.problem import InputError, Problem
from simcore.traces.base import refuse

Listed = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Groups:
    """Members and number of each group, by rank and name; number 0 is the default group, of all ranks."""

    world: int
    of_rank: tuple[Mapping[str, tuple[tuple[int, ...], int]], ...]

    def find(self, rank: int, name: str | None, where: str) -> tuple[tuple[int, ...], int]:
        """Members and number of a group; without a name, of the only members there are.

        Raises `InputError` where the name is unknown, or missing among groups with different members.
        """
        known = self.of_rank[rank]
        if name is not None:
            if name not in known:
                names = ", ".join(sorted(known)) or "none"
                refuse(where, f"a process group that the trace lists ({names})", f"'{name[:40]}'")
            return known[name]
        if len({frozenset(members) for members, _ in known.values()}) > 1:
            fix = "gloo's records do not name it: say it with --group NAME, or record with one group, or with NCCL"
            refuse(where, "the name of its process group", "none, and groups with different members", fix)
        return next(iter(known.values()), (tuple(range(self.world)), 0))


def merge_groups(ranks: Sequence[tuple[Listed, Listed]], world: int) -> Groups:
    """The groups that the execution trace and the timeline of each rank list; no members are all ranks.

    Raises `InputError` where ranks disagree about the members of a group that they share.
    """
    listed = [_joined(host, timeline, world) for host, timeline in ranks]
    problems = []
    numbers: dict[tuple[str, tuple[int, ...]], int] = {}
    for rank, groups in enumerate(listed):
        for name, members in groups.items():
            numbers.setdefault((name, members), 0)
            for member in members:
                other = listed[member].get(name) if member < world else None
                if other != members:
                    found = f"rank {member}: {list(other) if other else 'none'}"
                    problems.append(
                        Problem((f"process group {name}",), f"members {list(members)} (rank {rank})", found)
                    )
    if problems:
        raise InputError(problems[:12], "trace")
    _number(numbers, world)
    of_rank = tuple(
        {name: (members, numbers[name, members]) for name, members in groups.items()} for groups in listed
    )  # fmt: skip
    return Groups(world, of_rank)


def _joined(host: Listed, timeline: Listed, world: int) -> dict[str, tuple[int, ...]]:
    names = dict.fromkeys([*host, *timeline])
    return {name: host.get(name) or timeline.get(name) or tuple(range(world)) for name in names}


def _number(numbers: dict[tuple[str, tuple[int, ...]], int], world: int) -> None:
    """Keep the numbers that PyTorch gave where they are free; the default group has none."""
    taken = {0}
    for name, members in numbers:
        wanted = int(name) if name.isdecimal() and len(name) < 9 else 0
        if name == "0" and len(members) == world:
            continue
        if wanted in taken:
            wanted = max(taken) + 1
        numbers[name, members] = wanted
        taken.add(wanted)
