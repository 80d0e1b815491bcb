"""Whether a study has evaluated every design of its space: then the best that it found is the proven bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.record import StudyRecord
from dse.search.guided.sampler import SMALL
from dse.space.fill import has_solved_split
from dse.space.screen import ScreenedDesign
from dse.space.space import Space
from dse.study.keys import DIGESTS, key_digest
from dse.study.study import MOST_ENUMERATED
from simcore.check.load import parse_design

_MOST = {"exhaustive": MOST_ENUMERATED, "guided": SMALL}
"""Combinations that are gone through to know which designs they are, by the sampler that meant to try all of them."""
Keys = NDArray[np.bytes_]
"""Digests of the keys of designs (`dse.study.keys`), one for each trial."""


def best_of_all(space: Space, record: StudyRecord, keys: Callable[[], Keys]) -> dict[str, float] | None:
    """The best value of each objective, where every design of the space was evaluated and none failed; else None.

    `keys` gives those of the trials. Not of clusters that are bought for several workloads: what is best for a cluster
    hangs on how well it was tuned. Nor where shares are solved: others could be better yet.
    """
    trials = record.trials
    failed = bool(trials.is_state("failed").any())
    if space.jobs or has_solved_split(space.template) or failed or not record.feasible_trials:
        return None
    most = _MOST.get(record.sampler, 0)
    designs = keys() if len(trials) >= space.count() or space.count() <= most else None
    if designs is None or not _covered(space, designs, most):
        return None
    losses = record.losses(record.feasible_trials).min(axis=0)
    return {o.name: o.sign * float(loss) for o, loss in zip(record.objectives, losses, strict=True)}


def _covered(space: Space, keys: Keys, most: int) -> bool:
    """Whether the designs of these keys are all of the space that may be simulated.

    Each counts once, however many trials have it. Of more than `most` combinations it is not asked which they are.
    """
    if len(np.unique(keys)) >= space.count():
        return True
    # Several combinations can be one design. Whoever did not mean to try them all has hardly done so.
    if space.count() > most:
        return False
    known = {*keys.tolist()}
    return all(_is_known(space, filled.document, known) for filled in space.enumerate())


def _is_known(space: Space, document: Any, known: set[bytes]) -> bool:
    """Whether a design was evaluated, or is cut before it would be."""
    design, _ = parse_design(document)
    if design is None:
        return False
    (digest,) = np.array([key_digest(design.key)], dtype=DIGESTS).tolist()
    return digest in known or ScreenedDesign(design, space.constraints).violation > 0
