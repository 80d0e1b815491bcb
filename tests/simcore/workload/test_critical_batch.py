"""Tokens to target: what a batch costs in tokens, by McCandlish's trade and the laws of the critical batch."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.check.load import design_from
from simcore.document.problem import InputError
from simcore.simulate import simulate
from simcore.workload.transformer.critical_batch import LAWS, CriticalBatch, appetites

DESIGN: dict[str, Any] = {
    "workload": {
        "model": {"name": "tiny", "hidden": 256, "layers": 8, "heads": 8, "vocabulary": 1000, "sequence_length": 128},
        "global_batch": 32,
        "training_tokens": 3e9,
    },
    "cluster": {
        "npu": "a100-80gb",
        "dimensions": [{"topology": "switch", "size": 4, "bandwidth": "100 GB/s", "latency": "1 us", "tier": "node"}],
    },
}
BATCH = 32 * 128
PAGE = Path(__file__).parents[3] / "docs" / "tokens.md"
RUNS = [
    line.strip("| ").split(" | ") for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| .* \(\d{4}\.", line)
]


def document(**workload: Any) -> dict[str, Any]:
    whole = copy.deepcopy(DESIGN)
    whole["workload"] |= workload
    return whole


def tokens(**workload: Any) -> float:
    needed = design_from(document(**workload)).workload.tokens_to_train
    assert needed is not None
    return needed


def test_tokens_alone_are_those_of_the_design_whatever_its_batch() -> None:
    assert tokens() == tokens(global_batch=4096) == 3e9


def test_a_published_run_needs_its_own_tokens_at_its_own_batch() -> None:
    for law in (*LAWS, {"tokens": 1e5, "low": 5e4, "high": 2e5, "source": "measured"}):
        assert tokens(training_batch=BATCH, critical_batch=law) == pytest.approx(3e9, rel=1e-12)


def test_at_the_critical_batch_twice_the_tokens_of_small_batches_are_needed() -> None:
    critical = {"tokens": 64 * 128.0}
    assert tokens(critical_batch=critical, global_batch=64) == pytest.approx(6e9, rel=1e-12)
    assert tokens(critical_batch=critical, global_batch=128) == pytest.approx(9e9, rel=1e-12)


@given(st.floats(1e8, 1e14), st.floats(0, 1e9), st.floats(1, 1e9), st.sampled_from([*LAWS, CriticalBatch(tokens=4e6)]))
def test_tokens_and_steps_lie_on_the_hyperbola_of_mccandlish(wanted: float, at: float, batch: float, law: Any) -> None:
    appetite, low, high = appetites(wanted, at, law)
    assert appetite.at(at) == pytest.approx(wanted, rel=1e-12)
    needed = appetite.at(batch)
    steps, least_steps = needed / batch, appetite.least / appetite.critical
    assert (steps / least_steps - 1) * (needed / appetite.least - 1) == pytest.approx(1, rel=1e-3)
    assert low.critical <= appetite.critical <= high.critical
    if not isinstance(law, CriticalBatch):
        assert appetite.critical == pytest.approx(LAWS[law].at(appetite.least), rel=1e-9)


def test_a_larger_batch_needs_more_tokens_and_the_interval_holds_them() -> None:
    found = [
        design_from(document(training_batch=BATCH, global_batch=n)).workload.tokens_needed for n in (8, 32, 512, 8192)
    ]
    needed = [each.tokens for each in found if each is not None]
    assert needed == sorted(needed)
    assert needed[0] < 3e9 < needed[2]
    for each in found:
        assert each is not None
        assert each.interval is not None
        assert each.interval[0] <= each.tokens * (1 + 1e-12)
        assert each.tokens <= each.interval[1] * (1 + 1e-12)
        assert "Bergsma et al. 2025" in each.why


def test_the_two_laws_agree_within_a_fifth_on_trainings_of_a_trillion_tokens() -> None:
    for least in (1e11, 1e12, 1.5e13):
        bergsma, zhang = (law.at(least) for law in LAWS.values())
        assert bergsma == pytest.approx(zhang, rel=0.2)


def test_zhangs_law_gives_back_what_its_other_fit_says_of_three_billion_tokens() -> None:
    # Of 3.07 billion tokens the paper's fit by model size says 621.341 (N / 10^6)^0.087 sequences of 512 tokens.
    assert LAWS["zhang-2024"].at(3.07e9) / 5 / 512 == pytest.approx(621.341 * 151**0.087, rel=0.05)


@pytest.mark.parametrize("row", RUNS, ids=lambda row: row[0])
def test_the_page_says_of_a_published_run_what_the_laws_say(row: list[str]) -> None:
    batch, trained = 1e6 * float(row[1]), 1e12 * float(row[2])
    bergsma, low, high = appetites(trained, batch, "bergsma-2025")
    zhang, _, _ = appetites(trained, batch, "zhang-2024")
    assert [bergsma.critical / 1e6, zhang.critical / 1e6] == pytest.approx([float(row[3]), float(row[4])], rel=0.01)
    assert batch / bergsma.critical == pytest.approx(float(row[5]), abs=0.005)
    more = [100 * (each.at(2 * batch) / trained - 1) for each in (bergsma, high, low)]
    assert [float(number) for number in re.findall(r"\d+", row[6])] == pytest.approx(more, abs=0.5)


def test_most_published_runs_sit_below_a_quarter_of_the_critical_batch() -> None:
    # A law that says otherwise would not know what their authors knew.
    shares = [float(row[5]) for row in RUNS]
    assert len(shares) == 10
    assert sum(share < 0.25 for share in shares) == 8


def test_training_takes_the_tokens_of_its_batch_over_the_throughput() -> None:
    result = simulate(design_from(document(training_batch=BATCH, global_batch=8192)))
    assert result.tokens_to_train is not None
    assert result.throughput_tokens_per_s is not None
    assert result.cost_per_token is not None
    assert result.tokens_to_train == tokens(training_batch=BATCH, global_batch=8192) > 3.5e9
    assert result.goodput is not None
    wanted = result.tokens_to_train / result.goodput
    assert result.time_to_train_s == pytest.approx(wanted / result.throughput_tokens_per_s, rel=1e-12)
    assert result.cost_to_train == pytest.approx(wanted * result.cost_per_token, rel=1e-12)
    assert "tokens_to_train" not in simulate(design_from(document(training_tokens=None))).document()


def test_none_says_that_every_batch_needs_the_same() -> None:
    assert tokens(training_batch=BATCH, critical_batch="none", global_batch=8192) == 3e9


def test_the_canonical_document_names_the_law_and_loads_back_to_the_same_design() -> None:
    design = design_from(document(training_batch=BATCH))
    written = design.document()
    assert written["workload"]["critical_batch"] == "bergsma-2025"
    assert design_from(written).key == design.key
    spelled = design_from(document(critical_batch={"tokens": 4e6, "source": "measured"}))
    assert design_from(spelled.document()).key == spelled.key != design.key


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        (
            {"critical_batch": "bergsma"},
            "critical_batch: expected one of bergsma-2025, zhang-2024, none, got 'bergsma'",
        ),
        ({"critical_batch": {"tokens": -1}}, "critical_batch.tokens: expected greater than 0, got -1"),
        ({"critical_batch": {"tokens": 4e6, "low": 5e6}}, "expected low <= tokens <= high, got 5e+06, 4e+06 and 4e+06"),
        ({"critical_batch": {"tokens": 4e6, "hi": 5e6}}, "critical_batch.hi: expected a known key, got 'hi'"),
        ({"training_batch": 0}, "workload.training_batch: expected greater than 0, got 0"),
        ({"training_tokens": None, "training_batch": 4e6}, "expected training_tokens, got none; give them"),
    ],
)
def test_a_batch_that_cannot_be_one_is_refused(workload: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        design_from(document(**workload))
    assert [str(problem) for problem in refused.value.problems if said in str(problem)]
    assert len(refused.value.problems) == 1
