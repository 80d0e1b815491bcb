"""Arguments of a command, and the shell script that gives them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from simcore.design.design import Design
from simcore.design.node import node_of

REST = '"$@"'
"""What the user adds when calling the script."""


class Arguments(dict[str, tuple[str, ...]]):
    """Flags in order, each with its values; none for a switch."""

    def give(self, flag: str, *values: object) -> None:
        """Add a flag with its values."""
        self[flag] = tuple(str(value) for value in values)

    def switch(self, flag: str, on: bool) -> None:
        """Add a flag without a value where it is on."""
        if on:
            self.give(flag)

    def number(self, flag: str) -> int | None:
        """The whole number that a flag has; None where it is not given."""
        return int(self[flag][0]) if flag in self else None

    def word(self, flag: str) -> str | None:
        """The first value of a flag; None where it is not given."""
        return self[flag][0] if flag in self else None

    def words(self) -> list[str]:
        """As a program is called with them."""
        return [word for flag, values in self.items() for word in (flag, *values)]


def script(
    comments: Iterable[str],
    command: Sequence[str],
    arguments: Arguments,
    last: Sequence[str] = (),
    exports: Sequence[str] = (),
) -> str:
    """A shell script that runs a command with arguments, one flag a line; what its caller adds comes before `last`.

    Each comment is one line, whatever is in it: what names and documents say is never run.
    """
    lines = list(command)
    lines += [shlex.join((flag, *values)) for flag, values in arguments.items()]
    lines += [REST, *last]
    head = ["#!/usr/bin/env bash", *(f"# {' '.join(comment.split())}" for comment in comments)]
    head += [f"export {variable}" for variable in exports]
    return "\n".join(head) + "\nexec " + " \\\n  ".join(lines) + "\n"


def read_script(text: str) -> tuple[Arguments, list[str]]:
    """The arguments of a script that `script` wrote, and the words without a flag, those of its command first.

    A flag begins with two dashes; all words up to the next flag are its values, unless it has its own behind a `=`.
    """
    said, bare = Arguments(), list[str]()
    flag = ""
    for word in shlex.split(text.replace(REST, "\0").replace("\\\n", " "), comments=True):
        if word == "\0":
            flag = ""
        elif word.startswith("--"):
            said[word] = ()
            flag = "" if "=" in word else word
        elif flag:
            said[flag] += (word,)
        else:
            bare.append(word)
    return said, bare


def processes(said: Arguments) -> int:
    """Processes that a script's `torchrun` starts over all nodes."""
    given = dict(flag.split("=", 1) for flag in said if "=" in flag)
    return int(given["--nnodes"]) * int(given["--nproc-per-node"])


def npus_of_node(design: Design) -> int:
    """NPUs of a node; of one that is not known, those that the first dimension joins."""
    node = node_of(design.cluster)
    return node.size if node is not None else design.cluster.dimensions[0].size


def torchrun(design: Design) -> list[str]:
    """The command that starts one process on each NPU of each node; it is run once on each node."""
    each = min(npus_of_node(design), design.cluster.npus)
    return [
        "torchrun",
        f"--nnodes={-(-design.cluster.npus // each)}",
        f"--nproc-per-node={each}",
        '--node-rank="${NODE_RANK:-0}"',
        '--master-addr="${MASTER_ADDR:-localhost}"',
        '--master-port="${MASTER_PORT:-29500}"',
    ]
