"""Fillings of a template that show what may be wrong with it: every alternative of every choice once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dse.space.draw import Draw, FixedDraw, RandomDraw
from dse.space.fill import FilledDocument, FillError, fill_template
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.document.problem import Problem, Refusal


def variations(template: Any, problems: dict[Problem, None] | None = None) -> Iterator[FilledDocument]:
    """Each alternative of each choice once, all else at its first; then a few designs drawn at random."""
    problems = {} if problems is None else problems
    tried: set[tuple[tuple[str, int], ...]] = set()
    queue: list[dict[str, int]] = [{}]
    while queue:
        given = queue.pop()
        filled = _try_fill(template, FixedDraw(given), problems)
        if filled is None:
            continue
        yield filled
        for name, count in filled.choices.items():
            for index in range(1, count):
                # Below a choice of subtrees, what lives there is reached through that choice.
                inside = {key: value for key, value in given.items() if name.startswith(key)}
                key = tuple(sorted({**inside, name: index}.items()))
                if name not in given and key not in tried:
                    tried.add(key)
                    queue.append(dict(key))
    generator = np.random.default_rng(0)
    for _ in range(32):
        filled = _try_fill(template, RandomDraw(generator), problems)
        if filled is not None:
            yield filled


def _try_fill(template: Any, draw: Draw, problems: dict[Problem, None]) -> FilledDocument | None:
    try:
        return fill_template(template, draw)
    except Refusal as refusal:
        problems[refusal.at(refusal.path if isinstance(refusal, FillError) else ("cluster", "bandwidth"))] = None
        return None


def designs_of(template: Mapping[str, Any]) -> Iterator[Design]:
    """The designs of sound form among `variations`."""
    for filled in variations(template):
        design, _ = parse_design(filled.document)
        if design is not None:
            yield design
