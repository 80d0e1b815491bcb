"""The default sampler on every space that is shipped: it proposes, learns, and proposes again."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.evaluate.evaluate import Evaluator
from dse.search import make_sampler, resolve_sampler
from dse.search.guided import sampler as guided
from dse.space.objective import losses
from dse.space.space import load_space

SPACES = sorted((Path(__file__).parents[3] / "spaces").glob("*.yaml"))


@pytest.mark.parametrize("path", SPACES, ids=lambda path: path.stem)
def test_the_default_sampler_proposes_distinct_designs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, few in {"SEEDS": 24, "ROUNDS": 2, "ROUND": 12}.items():
        monkeypatch.setattr(guided, name, few)
    monkeypatch.setattr(guided, "effort", lambda told: 1.0)
    space = load_space(path)
    sampler = make_sampler(resolve_sampler("auto", space, "fast"), space, 0)
    evaluator = Evaluator(space.objectives, space.constraints)
    seen: set[str] = set()
    for _ in range(2):
        batch = [proposal for _ in range(space.settings.batch) if (proposal := sampler.ask()) is not None]
        assert batch or seen  # a small space may be done
        for proposal in batch:
            key = space.key(proposal.filled)
            assert key not in seen
            seen.add(key)
            if space.jobs:  # a cluster: to evaluate it takes a search of its own
                sampler.reject(proposal)
                continue
            outcome = evaluator(proposal.filled.document)
            assert outcome.state != "failed", outcome.error
            row = tuple(map(float, losses(space.objectives, [outcome.values])[0]))
            sampler.tell(proposal, row, outcome.violations)
