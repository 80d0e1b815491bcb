"""YAML as the documents mean it: duplicate keys refused, `1e-6` a number, and the line of every key remembered.

PyYAML reads `1e-6` as a string, `010` as 8, `on` as true, and lets a later key overwrite an earlier one. This loader
keeps only the JSON-like readings of YAML 1.2 and merge keys (`<<: *anchor`), and notes for each path of the document
the line it stands on, so that every later problem can name it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import yaml

from simcore.document.problem import InputError, Path, Problem


@dataclass(frozen=True)
class Document:
    """A parsed YAML file: its data, and path -> line (1-based)."""

    source: str
    data: Any
    lines: dict[Path, int]

    def line(self, path: Path) -> int | None:
        """The line of `path`, or of its nearest ancestor that stands in the file."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None


MOST_NODES, DEEPEST, MOST_BYTES = 100_000, 100, 8 << 20
"""Limits of a document: a short text of nested aliases can stand for more values than there is memory."""
MOST_DIGITS = 300
"""Most digits of a whole number that still converts to a float."""

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """The safe loader with YAML 1.2's scalars."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9_]*)", "-+0123456789"),
    ("float", r"[-+]?(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf)|\.nan", "-+0123456789."),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("^$"), [""])
_MERGE = "tag:yaml.org,2002:merge"
_Loader.add_implicit_resolver(_MERGE, re.compile("^<<$"), ["<"])
_Loader.add_constructor(
    "tag:yaml.org,2002:float", lambda loader, node: float(re.sub(r"_|\.(?=[inIN])", "", node.value))
)


def _construct_int(loader: Any, node: Any) -> int:
    digits = node.value.replace("_", "")
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits on line {node.start_mark.line + 1}")
    return int(digits)


_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)


class _DocumentDumper(yaml.SafeDumper):
    """Quotes what this module's loader would not read as text, and writes what is equal in full wherever it stands."""

    def ignore_aliases(self, data: Any) -> bool:
        """Two values that are one object in memory are two in the text, so that equal documents are equal texts."""
        return True


_DocumentDumper.yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


def dump_document(data: Any, compact: bool = False) -> str:
    """YAML text that `parse_document` reads back as `data`; `compact`: for a terminal, innermost values in a row."""
    style, width = (None, 64) if compact else (False, 120)
    text: str = yaml.dump(
        data, Dumper=_DocumentDumper, sort_keys=False, width=width, allow_unicode=True, default_flow_style=style
    )
    return text


def read_document(path: str | FilePath) -> Document:
    """Read a YAML file.

    Raises `InputError` where the file cannot be read, is not YAML, holds a duplicate key, or is not a mapping.
    """
    source = str(path)
    try:
        if FilePath(path).stat().st_size > MOST_BYTES:
            found = f"{FilePath(path).stat().st_size / 2**20:.0f} MiB"
            raise InputError([Problem((), f"a file of at most {MOST_BYTES >> 20} MiB", found)], source)
        text = FilePath(path).read_text(encoding="utf-8")
    except OSError as error:
        fix = "check the path"
        if FilePath(path).is_dir():
            fix = "name a file in it; of a run, 'dse show RUN --design FILE' writes a design"
        problem = Problem((), "a readable file", error.strerror or str(error), fix)
        raise InputError([problem], source) from None
    except UnicodeDecodeError as error:
        problem = Problem((), "a UTF-8 text file", f"bytes that are not text ({error.reason})")
        raise InputError([problem], source) from None
    return parse_document(text, source)


def parse_document(text: str, source: str = "document") -> Document:
    """Parse YAML text; see `read_document`."""
    loader = _Loader(text)
    try:
        _refuse_depth(text)
        node = loader.get_single_node()
        lines: dict[Path, int] = {(): 1}
        duplicates: list[Problem] = []
        if node is not None:
            _Merger().merge(node)
            _collect_lines(node, (), lines, duplicates, set())
        data = None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        found = getattr(error, "problem", None) or str(error).splitlines()[0]
        line = None if mark is None else mark.line + 1
        raise InputError(
            [Problem((), "a YAML document", f"text that is not YAML ({found})", line=line)], source
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError([Problem((), "a YAML document", f"text that cannot be read ({error})")], source) from None
    finally:
        loader.dispose()
    if duplicates:
        raise InputError(duplicates, source)
    if not isinstance(data, dict):
        found = "an empty file" if data is None else f"a {type(data).__name__}"
        raise InputError([Problem((), "a mapping of keys to values", found, line=1)], source)
    return Document(source, data, lines)


def plain_document(data: Mapping[str, Any]) -> Document:
    """A mapping as if it had been read from a file, without lines.

    Raises `InputError` where it holds anything that no document can.
    """
    try:
        return Document("", parse_document(dump_document(dict(data)), "").data, {})
    except yaml.representer.RepresenterError as error:
        problem = Problem((), "mappings, lists, text and numbers", f"a {type(error.args[-1]).__name__}")
        raise InputError([problem]) from None


def _refuse_depth(text: str) -> None:
    """Raise `ValueError` for a document that nests too deep; composing it would overflow the stack."""
    depth = 0
    for event in yaml.parse(text, Loader=_Base):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise ValueError(f"more than {DEEPEST} levels")


class _Merger:
    """Puts the keys of merged mappings (`<<`) in place, each once; those that a mapping gives itself count most.

    A node is done once, however often it is merged in turn, and what is copied is counted: a text of nested merges ends
    in an error, not in the memory's end.
    """

    def __init__(self) -> None:
        self._done: set[int] = set()
        self._copied = 0

    def merge(self, node: Any, above: frozenset[int] = frozenset()) -> None:
        """Merge in a node and below; raises `ValueError` where something is merged that is no mapping, or too much."""
        if id(node) in above:
            raise ValueError("an alias that contains itself")
        if id(node) in self._done or isinstance(node, yaml.ScalarNode):
            return
        for part in node.value:
            for inner in part if isinstance(part, tuple) else (part,):
                self.merge(inner, above | {id(node)})
        self._done.add(id(node))
        if isinstance(node, yaml.MappingNode):
            merges = [value for key, value in node.value if key.tag == _MERGE]
            if merges:
                self._put_keys(node, _sources(merges))

    def _put_keys(self, node: Any, sources: list[Any]) -> None:
        self._copied += sum(len(source.value) for source in sources)
        if self._copied > MOST_NODES:
            raise ValueError(f"more than {MOST_NODES:,} values, merged ones counted each time")
        own = [(key, value) for key, value in node.value if key.tag != _MERGE]
        names = {str(key.value) for key, _ in own}
        merged = {str(key.value): (key, value) for source in reversed(sources) for key, value in source.value}
        node.value = own + [pair for name, pair in merged.items() if name not in names]


def _sources(merges: list[Any]) -> list[Any]:
    """The mappings that a mapping merges, the first of which counts most."""
    if len(merges) > 1:
        line = merges[1].start_mark.line + 1
        raise ValueError(f"a second '<<' on line {line}; merge several with '<<: [*one, *other]'")
    listed = merges[0].value if isinstance(merges[0], yaml.SequenceNode) else merges
    for source in listed:
        if not isinstance(source, yaml.MappingNode):
            line = source.start_mark.line + 1
            raise ValueError(f"a merge ('<<') of what is no mapping, defined on line {line}")
    return list(listed)


def _collect_lines(node: Any, path: Path, lines: dict[Path, int], duplicates: list[Problem], above: set[int]) -> None:
    if id(node) in above:
        raise ValueError("an alias that contains itself")
    if len(lines) > MOST_NODES:
        raise ValueError(f"more than {MOST_NODES:,} values, aliases counted each time")
    above = above | {id(node)}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = str(key.value)
            line = key.start_mark.line + 1
            if (*path, name) in lines:
                first = lines[(*path, name)]
                duplicates.append(
                    Problem((*path, name), "each key once", f"a second '{name}' (first on line {first})", line=line)
                )
            lines[(*path, name)] = line
            _collect_lines(value, (*path, name), lines, duplicates, above)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            lines[(*path, index)] = value.start_mark.line + 1
            _collect_lines(value, (*path, index), lines, duplicates, above)
