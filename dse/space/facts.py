"""Facts of the world that a space leaves open: a search would take the rosiest of them, and nobody can choose it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dse.space.fill import FilledDocument, template_count
from simcore.check.load import parse_design


def fact_notices(
    template: Mapping[str, Any], variations: Callable[[Mapping[str, Any]], Iterable[FilledDocument]]
) -> Iterator[str]:
    """A sentence where it is open how often things fail.

    How a job is saved and begun again may well be open. `variations` fills a template with each alternative of each
    choice once.
    """
    if template_count(template.get("reliability", {})) <= 1:
        return
    designs = (parse_design(filled.document)[0] for filled in variations(template))
    if len({design.reliability.mtbf for design in designs if design is not None}) > 1:
        yield (
            "reliability leaves open how often things fail, and a search takes the value under which they fail least, "
            "which nobody can choose. Write one, and search again with another to see what changes."
        )
