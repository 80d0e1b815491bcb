"""What is wrong with a document: every problem at once, each with its place and the likely fix.

A *problem* is a value. Checks collect problems; only the door (a loader, a command) turns them into one `InputError`.
What reads a single value does not know its place: it raises a `Refusal`, which becomes a problem at the place.
The form is always *where: expected X, got Y; likely fix*.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

Path = tuple[str | int, ...]

UNKNOWN_KEY = "a known key"
"""What is expected where a document has a key that means nothing there."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a document.

    `violation` says by how much, relative to what is allowed (1.0 where there is no measure), so that a search can
    learn from it; `rule` names the rule that was broken, for counting.
    """

    path: Path
    expected: str
    found: str
    fix: str = ""
    line: int | None = None
    rule: str = "document"
    violation: float = 1.0

    def __str__(self) -> str:
        place = format_path(self.path) or "document"
        where = f"line {self.line}: {place}" if self.line is not None else place
        return f"{where}: {_sentence(self.expected, self.found, self.fix)}"


class Refusal(ValueError):  # noqa: N818  # the document is at fault, not the program
    """A value that cannot be used, from whoever reads it: what was expected, what was found, and the likely fix.

    `where` names what refuses, where the path of a `Problem` will not tell.
    """

    def __init__(self, expected: str, found: str, fix: str = "", where: str = "") -> None:
        super().__init__(expected, found, fix, where)
        self.expected = expected
        self.found = found
        self.fix = fix
        self.where = where

    def __str__(self) -> str:
        return (f"{self.where}: " if self.where else "") + _sentence(self.expected, self.found, self.fix)

    def at(self, path: Path) -> Problem:
        """The refusal of what stands at `path` of a document."""
        return Problem(path, self.expected, self.found, self.fix)


class InputError(ValueError):
    """A document (or a command's argument) that cannot be used; carries every problem found in it."""

    def __init__(self, problems: Iterable[Problem], source: str = "") -> None:
        unique = dict.fromkeys(problems)
        self.problems = sorted(unique, key=lambda p: (p.line is None, p.line or 0))
        self.source = source
        count = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        head = f"{source}: {count}" if source else count
        super().__init__("\n".join([head, *(f"  {problem}" for problem in self.problems)]))

    def __reduce__(self) -> tuple[type[InputError], tuple[list[Problem], str]]:
        """What another process is sent of it."""
        return InputError, (self.problems, self.source)


class InputWarning(UserWarning):
    """Input with a flaw that can be passed over; says where, what, and what becomes of it."""


def _sentence(expected: str, found: str, fix: str) -> str:
    return f"expected {expected}, got {found}" + (f"; {fix}" if fix else "")


def collect_reads(*reads: Callable[[], str]) -> list[str]:
    """Calls each function and returns their results; raises one `InputError` with the problems of all that fail."""
    found: list[str] = []
    errors: list[InputError] = []
    for read in reads:
        try:
            found.append(read())
        except InputError as error:
            errors.append(error)
    if errors:
        raise InputError([problem for error in errors for problem in error.problems], errors[0].source)
    return found


@lru_cache(maxsize=8192)
def format_path(path: Path) -> str:
    """`("cluster", "dimensions", 1, "size")` as `cluster.dimensions[1].size`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text


_ABBREVIATED = {
    "tp": "tensor",
    "pp": "pipeline",
    "dp": "data",
    "cp": "context",
    "ep": "expert",
    "vpp": "interleave",
    "sp": "sequence_parallel",
    "mbs": "microbatch",
    "micro_batch_size": "microbatch",
    "micro_batch": "microbatch",
    "batch": "global_batch",
    "batch_size": "global_batch",
    "activation_checkpointing": "recompute",
    "activation_recompute": "recompute",
    "num_gpus": "npus",
    "world_size": "npus",
    "nodes": "npus",
    "memory": "memory.peak",
    "gbs": "global_batch",
    "seq_len": "sequence_length",
    "tokens": "training_tokens",
    "pipeline_parallel": "pipeline",
    "pipeline_parallel_size": "pipeline",
    "tensor_parallel": "tensor",
    "tensor_parallel_size": "tensor",
    "data_parallel": "data",
    "context_parallel": "context",
    "expert_parallel": "expert",
    "zero_stage": "zero",
    "hidden_size": "hidden",
    "intermediate_size": "feed_forward",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "num_key_value_heads": "kv_heads",
    "key_value_heads": "kv_heads",
    "vocab_size": "vocabulary",
    "max_position_embeddings": "sequence_length",
    "peak_memory": "memory.peak",
    "gpu": "npu",
    "gpus": "npus",
    "time": "iteration_time",
    "cost": "cost.total",
    "price": "cost.total",
    "ttft": "time_to_first_token",
    "tpot": "time_per_output_token",
    "itl": "time_per_output_token",
    "tokens_per_second": "throughput",
    "tps": "throughput",
}
"""What others call a key or a metric."""
_SLIP = 0.9
"""How alike a word and a name are at the least of which one is the other with a letter or two misplaced."""
MOST_LISTED = 12
"""Names that an error lists; of more it says where they are listed."""


def suggest_nearest(word: str, known: Iterable[str], catalogue: str = "") -> str:
    """`did you mean 'x'?` for the known word nearest to `word`: those whose first part it is, that which is its own.

    For h100 h100-80gb, for h800-80gb h800.

    Where nothing is near: the empty string, or, of a kind of `dse catalogue`, all names, and where these are more than
    `MOST_LISTED` the command that lists them.
    """
    names = [name for name in known if name != word]
    if (meant := _ABBREVIATED.get(word.lower())) in names:
        return f"did you mean '{meant}'?"
    if spelled := [name for name in names if name.lower() == word.lower()]:
        return f"did you mean '{spelled[0]}'?"
    begins = re.compile(rf"{re.escape(word)}[-_. ]", re.IGNORECASE)
    begun = [f"'{name}'" for name in sorted(names) if len(word) > 1 and begins.match(name)]
    if begun:
        return f"did you mean {' or '.join(begun[:3])}?"
    if match := difflib.get_close_matches(word, sorted(names), n=1, cutoff=_SLIP):
        return f"did you mean '{match[0]}'?"
    longer = [name for name in names if len(name) > 1 and re.match(rf"{re.escape(name)}[-_. ]", word, re.IGNORECASE)]
    if longer:
        return f"did you mean '{max(longer, key=len)}'?"
    match = difflib.get_close_matches(word, sorted(names), n=1, cutoff=0.6) or [
        name for name in sorted(names) if word and (word in name or name in word)
    ]
    if match:
        return f"did you mean '{match[0]}'?"
    if not catalogue:
        return ""
    if len(names) > MOST_LISTED:
        return f"all are listed by: dse catalogue {catalogue}"
    return f"known: {', '.join(names)}"
