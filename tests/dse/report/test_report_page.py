from __future__ import annotations

import re
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest
import report_studies as studies
from page_data import column, data_of, document, read_data

from dse.evaluate.record import StudyRecord
from dse.report.page import SCRIPTS, columns, report_html
from dse.report.summary import summarize
from dse.report.values import trial_metrics
from dse.whatif.answers import Scenarios, Sureness, WhatIf

VOID = {"meta", "br", "img", "link", "input", "hr"}
PAGES: dict[str, StudyRecord] = {
    "one objective": studies.mixed(30, studies.NAMES[:1]),
    "two objectives": studies.mixed(60),
    "four objectives": studies.mixed(40, studies.NAMES),
    "nothing feasible": studies.infeasible_only(),
    "one point": studies.record([studies.simulated(0, 0.5, 2e7)]),
    "no trials": studies.record([], prices={}),
    "hostile names": studies.hostile(),
}


class Page(HTMLParser):
    """Tags in order, their attributes, and the text of each script; tags that do not match fail."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):  # type: ignore[union-attr]
            self.open.append(tag)
        if tag in ("script", "style"):
            (self.scripts if tag == "script" else self.styles).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside in ("script", "style"):
            (self.scripts if inside == "script" else self.styles)[-1] += data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module", params=PAGES.values(), ids=PAGES.keys())
def page(request: pytest.FixtureRequest) -> Page:
    return read(request.param)


def read(record: StudyRecord) -> Page:
    return Page(report_html(record, summarize(record)))


def test_every_element_is_closed_and_nothing_is_fetched(page: Page) -> None:
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        for name in ("src", "href", "action", "srcset", "data"):
            assert (attributes.get(name) or "#").startswith(("#", "data:image/")), (tag, attributes)


def test_the_policy_runs_the_page_s_own_script_and_style_alone(page: Page) -> None:
    policy = next(a["content"] or "" for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    said = dict(part.split(" ", 1) for part in policy.split("; "))
    assert said["default-src"] == "'none'"
    assert "unsafe" not in policy
    assert "http" not in policy
    _, script = page.scripts
    (style,) = page.styles
    for name, text in (("script-src", script), ("style-src", style)):
        assert said[name] == f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_no_element_has_a_handler_or_a_style_and_ids_are_unique(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for _, attributes in page.tags:
        assert not any(name.startswith("on") or name == "style" for name in attributes)


def test_the_contents_lead_to_every_section_in_order(page: Page) -> None:
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    sections = [f"#{attributes['id']}" for tag, attributes in page.tags if tag == "section"]
    assert links == sections
    assert links


def test_every_file_of_the_script_is_in_the_page_and_listed(page: Page) -> None:
    from importlib.resources import files

    folder = files("dse.report.page").joinpath("script")
    assert sorted(SCRIPTS) == sorted(path.name.removesuffix(".js") for path in folder.iterdir())
    for name in SCRIPTS:
        assert folder.joinpath(f"{name}.js").read_text() in page.scripts[1]


def test_hostile_text_is_shown_as_text_and_never_as_markup() -> None:
    page = read(studies.hostile())
    assert "</script><script>alert(1)</script>" in page.text
    assert "\x1b" not in page.text
    pictures = [a["src"] for tag, a in page.tags if tag == "img"]
    assert len(pictures) == 1
    svg = b64decode((pictures[0] or "").partition("base64,")[2]).decode()
    assert set(re.findall(r"<(\w+)", svg)) <= {"svg", "style", "line", "text", "circle", "polyline"}


def test_the_page_tells_the_study() -> None:
    record = studies.mixed()
    text = read(record).text
    for part in ("transformer1t", "sampler nsga2", "seed 7", "120 designs evaluated", "Hypervolume", "proven bound"):
        assert part in text
    for part in ("Build trial", "SW(8)_SW(128)", "memory 13, batch 4", "Where the time goes", "What it costs, by part"):
        assert part in text
    assert "LIBRA (Won et al., ISPASS 2024), table 4" in text


def test_a_price_that_is_only_assumed_is_marked() -> None:
    page = read(studies.mixed(20))
    assert sum(attributes.get("class") == "badge" for _, attributes in page.tags) == 2


def test_prices_are_numbers() -> None:
    text = read(studies.mixed(20)).text
    assert "network, node: switch [$ per GB/s]" in text
    assert "electricity [$ per kWh]" in text


def test_without_scripts_there_is_a_picture_of_the_front_and_a_table() -> None:
    record = studies.mixed(60)
    html = report_html(record, summarize(record))
    inside = html.partition("<noscript>")[2].partition("</noscript>")[0]
    svg = b64decode(inside.partition("base64,")[2].partition("'")[0]).decode()
    assert svg.count("class='front'") == len({tuple(trial.values.values()) for trial in record.front})
    assert "iteration time [s]" in svg
    assert f"alt='The Pareto front of transformer1t: {len(record.front)} designs" in inside
    assert all(f"#{trial.number}" in html for trial in record.front)


def test_the_columns_hold_every_trial_that_has_values_as_the_journal_has_them() -> None:
    record = studies.mixed(80)
    data = data_of(record)
    shown = [trial for trial in record.trials if trial.state != "failed"]
    assert column(data, "number") == [trial.number for trial in shown]
    front = {trial.number for trial in record.front}
    kinds = {"feasible": "dominated", "infeasible": "infeasible", "cut": "cut"}
    assert column(data, "state") == ["front" if t.number in front else kinds[t.state] for t in shown]
    for objective in record.objectives:
        assert column(data, objective.name) == [trial.values[objective.name] for trial in shown]
    for name in ("mfu", "memory.reserved", "energy", "cost.network"):
        pairs = zip(column(data, name), (trial_metrics(trial)[name] for trial in shown), strict=True)
        assert all(one is other if other is None else one == pytest.approx(other, rel=1e-6) for one, other in pairs)
    for path in ("parallelism.tensor", "system.inter_dimension"):
        expected = [None if (v := trial.params.get(path)) is None else str(v) for trial in shown]
        assert column(data, path) == expected


def test_names_of_quantities_stand_in_the_order_of_their_size() -> None:
    data = data_of(studies.mixed(80))
    (tensor,) = (found for found in data["columns"] if found["key"] == "parallelism.tensor")
    assert tensor["names"] == ["1", "2", "4", "8", "16"]
    assert tensor["ordered"]


def test_every_document_and_result_of_the_front_is_in_the_page() -> None:
    record = studies.mixed(60)
    designs = data_of(record)["designs"]
    by_number = {trial.number: trial for trial in record.trials}
    assert {trial.number for trial in record.front} <= {member["trial"] for member in designs["members"]}
    for index, member in enumerate(designs["members"]):
        trial = by_number[member["trial"]]
        assert document(designs["documents"], index) == trial.design
        result = document(designs["results"], index)
        assert sum(result.pop("breakdown").values()) == pytest.approx((trial.metrics or {})["iteration_time_s"])
        told = {key: value for key, value in (trial.metrics or {}).items() if value != {}}
        assert {key: value for key, value in result.items() if value != {}} == told


def test_above_so_many_trials_the_page_keeps_the_front_thins_the_rest_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(columns, "MOST_TRIALS", 200)
    monkeypatch.setattr(columns, "MOST_OF_FRONT", 60)
    document = studies.design()
    trials = [
        studies.simulated(n, 1 + 0.01 * (n % 50) + n // 50, 2e7 + 1e5 * (50 - n % 50), document=document)
        for n in range(300)
    ]
    record = studies.record(trials)
    html = report_html(record, summarize(record))
    data = read_data(html)
    assert 150 < data["rows"] <= 200
    assert f"{data['rows']} of 300 designs are on this page" in html
    assert {trial.number for trial in record.front} <= set(column(data, "number"))
    assert len(record.front) == 50


def test_a_study_without_a_feasible_design_explains_itself() -> None:
    assert "The binding constraint is 'fits'" in read(studies.infeasible_only()).text


def test_the_robust_pick_and_how_sure_each_design_is_are_told() -> None:
    record = studies.mixed(60)
    front = [trial.number for trial in record.front]
    members = {number: Sureness((2.5, 7.5), 0.625, 0.0125, 0.0375) for number in front}
    better = {"iteration_time": {(a, b): 0.5 for a in front for b in front if a != b}}
    scenarios = Scenarios(200, tuple(front), members, front[1], better)
    summary = summarize(record, WhatIf({}, {}, 0, 0, 0, scenarios=scenarios))
    html = report_html(record, summary)
    text = Page(html).text
    assert data_of(record, summary)["robust"] == front[1]
    for part in (
        "Robust:",
        "Over 200 scenarios",
        "62 %",
        "1.2 %",
        "3.8 %",
        f"Ties ({len(front)} of {len(front)} designs)",
    ):
        assert part in text
    told = {member["trial"]: member["interval"] for member in data_of(record, summary)["designs"]["members"]}
    assert all(told[number] == [2.5, 7.5] for number in front)
