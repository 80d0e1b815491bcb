"""Money has an interval wherever time has one: by the ranges of prices, shared by those who buy the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from asked_studies import answer_what_if
from tiny_spaces import TINY

from dse.evaluate.record import StudyRecord
from dse.report.decision import describe_decision
from dse.report.front import pareto_document
from dse.report.intervals import interval_of
from dse.report.page import report_html
from dse.report.robustness import Prices
from dse.report.show.facts import gather_facts
from dse.report.summary import Summary, summarize
from dse.report.terminal import screen
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import space_from
from dse.whatif.answers import NOTHING
from simcore.check.load import design_from
from simcore.document.text import parse_document
from simcore.simulate import simulate

OWNED = {"base": "libra", "building": "12 $/W", "support": 0.04, "discount": 0.1, "ranges": {"npu": [0.8, 1.5]}}
NAMES = ["cost.total", "cost.tco", "cost_per_token"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyRecord, Summary]:
    folder = tmp_path_factory.mktemp("study") / "run"
    document = yaml.safe_load(TINY) | {"objectives": {"minimize": ["iteration_time", *NAMES]}, "cost": OWNED}
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "tiny")
    optimize(space, Settings(sampler="exhaustive", trials=60, seed=0), folder, resume=False)
    record = load_record(folder)
    return record, summarize(record, answer_what_if(record, folder))


def test_every_money_number_of_the_front_lies_within_its_interval(study: tuple[StudyRecord, Summary]) -> None:
    record, summary = study
    for trial in summary.front:
        for objective in record.objectives[1:]:
            ends = interval_of(objective, summary, trial)
            assert ends is not None
            assert ends[0] < trial.values[objective.name] < ends[1]
            assert 1.1 < ends[1] / ends[0] < 5


def test_what_depends_on_the_time_is_less_sure_than_the_price_alone(study: tuple[StudyRecord, Summary]) -> None:
    record, summary = study
    widths = {}
    for objective in record.objectives[1:]:
        ends = interval_of(objective, summary, summary.front[0])
        assert ends is not None
        widths[objective.name] = ends[1] / ends[0]
    assert widths["cost_per_token"] > widths["cost.tco"]


def test_a_design_by_itself_has_the_interval_that_the_scenarios_give_it(study: tuple[StudyRecord, Summary]) -> None:
    record, summary = study
    for objective in record.objectives[1:3]:
        for trial in summary.front:
            asked = interval_of(objective, summary, trial)
            alone = interval_of(objective, summarize(record, NOTHING), trial)
            assert asked == pytest.approx(alone, rel=1e-5)


def test_two_designs_of_the_same_parts_are_told_apart_by_their_price(study: tuple[StudyRecord, Summary]) -> None:
    """The error of a price is shared: the one with less of everything is cheaper in every scenario."""
    record, summary = study
    scenarios = summary.what_if.scenarios
    assert scenarios is not None
    by_number = {trial.number: trial for trial in record.feasible_trials}
    told = {True: set[float](), False: set[float]()}
    for (one, other), share in scenarios.better["cost.total"].items():
        a, b = by_number[one], by_number[other]
        assert a.design is not None
        assert b.design is not None
        if a.values["cost.total"] != b.values["cost.total"]:
            told[a.design["cluster"]["npu"] == b.design["cluster"]["npu"]].add(share)
    assert told[True] == {0.0, 1.0}
    assert any(0.0 < share < 1.0 for share in told[False])


def test_the_reports_tell_the_interval_of_money(study: tuple[StudyRecord, Summary]) -> None:
    record, summary = study
    sentence = describe_decision(record, summary).sentences[1]
    assert sentence.count("nine times in ten") == 3  # of the time, of the price, of money that depends on the time
    told = " ".join(text for text, _ in screen(record, summary, 80))
    assert "Prices: cost " in told
    npus = {trial.design["cluster"]["npu"] for trial in summary.front if trial.design}
    ends = re.findall(r"[\d.]+ % less to [\d.]+ % more(?: on ([\w-]+))?", told.partition("Prices: ")[2])
    assert len(npus) > 1
    assert {*ends} == npus  # each machine's own
    shown = gather_facts(record, summary, summary.front[0])
    assert set(NAMES) < set(shown.intervals)
    member = pareto_document(record, summary)["front"][0]
    assert set(member["intervals"]) == set(NAMES)
    page = report_html(record, summary)
    assert "total cost of ownership, nine of ten" in page
    assert json.dumps("intervals") in page


def test_moved_prices_move_what_is_paid_for_owning(study: tuple[StudyRecord, Summary], tmp_path: Path) -> None:
    """Prices of NPUs at 1.3 of the list: as a list that says so."""
    record, _ = study
    trial = next(t for t in record.feasible_trials if t.design and t.design["cluster"]["npu"] == "a100-80gb")
    assert trial.design is not None
    dearer = simulate(design_from({**trial.design, "cost": {**OWNED, "npu": {"a100-80gb": f"{1.3 * 15000} $"}}}))
    prices = Prices.of([trial])
    for name, value in (("cost.tco", dearer.ownership_cost), ("cost_per_token", dearer.cost_per_token)):
        before = prices.parts[:, 0] * 0 + trial.values[name]
        assert prices.metric_at(name, before, (1.0, 1.3, 1.0))[0] == pytest.approx(value)
