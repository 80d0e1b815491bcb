"""The first batch of samplers that prepare for long: a few designs that need no preparation."""

from __future__ import annotations

import pytest
from tiny_spaces import space, tiny

from dse.evaluate.evaluate import Evaluator
from dse.execute.serial import Serial
from dse.proof.parts import SpacePart
from dse.search import make_sampler
from dse.search.guided.candidates import OF_STACK
from dse.search.guided.led import LedCandidates
from dse.search.guided.sampler import OPENING, SMALL, STAGES, Guided
from dse.space.space import load_space
from dse.study.memory import Memory
from dse.study.one_driver import OneDriver
from dse.study.stop import Limits
from dse.study.study import Study
from simcore.design.design import Design


def test_the_next_batch_is_told_before_candidates_are_looked_at() -> None:
    given = load_space("spaces/gpt3.yaml")
    seen: list[int] = []
    sampler, log = Guided(given, 0), Memory()
    sampler.on_note = lambda text, done=None: seen.append(len(log.trials))
    evaluate = Serial(Evaluator(given.objectives, given.constraints, "fast"))
    Study(given, sampler, OneDriver(log)).run(Limits(OPENING + 1), evaluate)
    assert seen[0] == OPENING == min(seen)
    assert len(log.trials) == OPENING + 1


@pytest.mark.parametrize("name", ["guided", "exact", "guided-exact"])
def test_the_designs_of_the_opening_may_be_simulated_and_follow_from_the_seed(name: str) -> None:
    given = load_space("spaces/gpt3.yaml")

    def opening(seed: int) -> list[str]:
        sampler = make_sampler(name, given, seed)
        proposals = [sampler.ask() for _ in range(sampler.next_batch(32))]
        return [given.key(proposal.filled) for proposal in proposals if proposal is not None]

    assert len(opening(0)) == len({*opening(0)}) == OPENING
    assert opening(0) == opening(0) != opening(1)


def test_the_first_designs_are_chosen_before_any_job_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, few in {"SEEDS": 16, "ROUNDS": 2, "ROUND": 8, "FIRST": 2}.items():
        monkeypatch.setattr(f"dse.search.guided.sampler.{name}", few)
    looked: list[int] = []
    look_up = LedCandidates.job

    def job(self: LedCandidates, design: Design, number: int) -> SpacePart | None:
        looked.append(number)
        return look_up(self, design, number)

    monkeypatch.setattr(LedCandidates, "job", job)
    given = load_space("spaces/gpt3.yaml")
    sampler, judge = Guided(given, 0), Evaluator(given.objectives, given.constraints, "fast")
    sizes, lookups = [], []
    for _ in range(4):
        batch = [proposal for _ in range(sampler.next_batch(32)) if (proposal := sampler.ask()) is not None]
        sizes.append(len(batch))
        lookups.append(len(looked))
        for proposal in batch:
            outcome = judge(proposal.filled.document)
            sampler.tell(proposal, tuple(outcome.values.values()), outcome.violations)
    assert sizes == [OPENING, *(stage.trials for stage in STAGES)]
    assert lookups[:2] == [0, 0]
    assert 0 < lookups[2] < lookups[3]


def test_other_samplers_begin_with_a_whole_batch() -> None:
    assert make_sampler("random", space(), 0).next_batch(32) == 32


def test_shares_of_the_preparation_grow_to_at_most_one() -> None:
    given = load_space("spaces/gpt3.yaml")
    sampler, shares = Guided(given, 0), list[float | None]()
    sampler.on_note = lambda text, done=None: shares.append(done)
    for _ in range(OPENING + sum(stage.trials for stage in STAGES[:-1]) + 1):
        sampler.ask()
    known = [share for share in shares if share is not None]
    assert known == sorted(known) == shares
    assert len(known) > 5
    assert 0 <= known[0] <= known[-1] < 1


def test_each_stack_is_simulated_however_few_ways_to_train_it_has() -> None:
    """LLM Foundry has no tensor groups, no pipeline, no experts: 1 of 60 ways here."""
    stacks = ["megatron-core", "llm-foundry"]
    given = space(
        tiny(
            parallelism={
                "degrees": {"product": 64, "of": ["tensor", "pipeline", "data"], "limits": {"tensor": [1, 8]}},
                "zero": {"choice": [0, 1, 2, 3]},
                "gather": {"choice": ["twice", "microbatch", "once"]},
                "interleave": {"choice": [1, 2]},
                "microbatch": {"choice": [1, 2, 4, 8]},
                "sequence_parallel": {"choice": [True, False]},
            },
            workload={
                "model": {"hidden": 256, "layers": 16, "heads": 8, "vocabulary": 1000, "sequence_length": 128},
                "global_batch": 1024,
                "precision": "bf16",
            },
            software={"choice": stacks},
            cluster={
                "npu": "a100-80gb",
                "dimensions": [
                    {"topology": "switch", "size": 8, "bandwidth": "300 GB/s", "latency": "1 us", "tier": "node"},
                    {"topology": "switch", "size": 8, "bandwidth": "25 GB/s", "latency": "5 us", "tier": "pod"},
                ],
            },
        )
    )
    assert given.count() > SMALL
    candidates = [*Guided(given, 0)._candidates.make_of_stacks()]
    made = [one for one in candidates if one is not None and one.violation <= 0]
    assert [*dict.fromkeys(one.stack for one in made)] == stacks
    assert [sum(one.stack == stack for one in made) for stack in stacks] == [OF_STACK, OF_STACK]
