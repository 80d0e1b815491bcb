"""What was measured is remembered, so that an interrupted run goes on where it was."""

from __future__ import annotations

import json
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

from dse.reproduce.measures.base import Case, Numbers
from dse.study.files import write_whole
from simcore.document.problem import InputError, Problem


class Remembered:
    """Numbers that were measured, in a file: a JSON object from what they depend on to the numbers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Numbers] = _read(path) if path.is_file() else {}

    def measure(self, case: Case) -> Numbers:
        """The numbers of a case, measured if nobody has."""
        key = blake2b(f"{_code()} {case.identity}".encode(), digest_size=16).hexdigest()
        if key not in self._known:
            self._known[key] = case.numbers()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, json.dumps(self._known).encode())
        return self._known[key]


def _read(path: Path) -> dict[str, Numbers]:
    try:
        known = json.loads(path.read_bytes())
    except ValueError:
        known = None
    if not isinstance(known, dict):
        raise InputError(
            [Problem(("--kept",), "a file as 'dse reproduce' writes it", f"{path}", "delete it")], "command line"
        )
    return known


@cache
def _code() -> str:
    """What the code is: its sources in one number, so that nothing is remembered from other code."""
    digest = blake2b(digest_size=16)
    for package in ("dse", "simcore"):
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        for path in sorted(Path(spec.origin).parent.rglob("*")):
            if path.suffix in (".py", ".yaml"):
                digest.update(path.read_bytes())
    return digest.hexdigest()
