"""JSON files of a profiler, one a rank: found by a pattern, plain or gzip, of bounded size; the values in them."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from pathlib import Path
from typing import Any

from simcore.document.problem import InputError, Problem
from simcore.traces.base import refuse

MAX_BYTES = 1 << 30
"""Largest file read, unpacked [B]."""
MOST_RANKS = 16_384
RANK = "{rank}"


def read_object(path: Path, what: str) -> dict[str, Any]:
    """The JSON object of a file; `what` names it in messages.

    Raises `InputError` where it cannot be read, is too large, is no JSON or is cut short.
    """
    try:
        content = _unpacked(path)
        found = json.loads(content)
    except OSError as error:
        refuse(str(path), what, f"no file that can be read ({error.strerror or 'damaged'})")
    except (EOFError, zlib.error):
        refuse(str(path), what, "a gzip file that is cut short or damaged")
    except UnicodeDecodeError:
        refuse(str(path), what, "no text")
    except (ValueError, RecursionError) as error:
        place = f" (character {error.pos:,})" if isinstance(error, json.JSONDecodeError) else ""
        refuse(str(path), what, f"no JSON, or cut short{place}", "stop the profiler before its file is copied")
    if not isinstance(found, dict):
        refuse(str(path), what, f"a JSON {type(found).__name__}")
    return found


def _unpacked(path: Path) -> bytes:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rb") if packed else path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        refuse(str(path), f"at most {MAX_BYTES:,} bytes, unpacked", "more", "record fewer steps")
    return content


def files_of(pattern: str, what: str) -> dict[int, Path]:
    """The files of a pattern with `{rank}`, by rank; a pattern without it is one file, of rank 0.

    Raises `InputError` where there is none.
    """
    path = Path(pattern)
    if RANK not in pattern:
        if not path.is_file():
            refuse(pattern, f"{what}: a file, or a pattern such as host.{RANK}.json", "no such file")
        return {0: path}
    head, tail = path.name.split(RANK, 1) if path.name.count(RANK) == 1 else ("", "")
    if not head and not tail:
        refuse(pattern, f"{what}: {RANK} once, in the name of the file", "another pattern")
    shape = re.compile(re.escape(head) + r"(\d{1,6})" + re.escape(tail))
    names = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else []
    matches = [(name, match) for name in names if (match := shape.fullmatch(name))]
    found = {int(match.group(1)): path.parent / name for name, match in matches}
    if not found:
        refuse(pattern, f"{what}: files of this pattern", "none")
    if len(found) > MOST_RANKS:
        refuse(pattern, f"at most {MOST_RANKS:,} ranks", f"{len(found):,}")
    return found


def check_ranks(files: dict[int, Path], world: int, pattern: str) -> None:
    """Raise `InputError` naming every rank whose file is missing."""
    missing = [Problem((pattern,), f"a file of each of {world} ranks", f"none of rank {rank}") for rank in range(world)
               if rank not in files]  # fmt: skip
    if missing:
        raise InputError(missing[:12], "trace")


def number(values: Any, key: str, default: float = 0.0) -> float:
    """A finite number in a JSON object."""
    value = values.get(key, default) if isinstance(values, dict) else default
    usable = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
    return float(value) if usable else default


def whole(values: Any, key: str, default: int = -1) -> int:
    """A whole number in a JSON object, also one that is written as text."""
    value = values.get(key, default) if isinstance(values, dict) else default
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def text(values: Any, key: str) -> str:
    """A text in a JSON object; empty where there is none."""
    value = values.get(key, "") if isinstance(values, dict) else ""
    return value.strip('"') if isinstance(value, str) else ""
