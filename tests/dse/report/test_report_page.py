from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
import report_studies as studies

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.page import report_html
from dse.report.page.sections import document_yaml
from dse.report.summary import summarize
from simcore.document.text import parse_document

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
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module", params=PAGES.values(), ids=PAGES.keys())
def page(request: pytest.FixtureRequest) -> Page:
    return Page(report_html(request.param, summarize(request.param)))


def read(record: StudyRecord) -> Page:
    return Page(report_html(record, summarize(record)))


def test_every_element_is_closed_and_nothing_is_fetched(page: Page) -> None:
    for tag, attributes in page.tags:
        assert tag not in ("img", "link", "iframe", "object", "embed", "base", "form")
        for name in ("src", "href", "action", "srcset", "data"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)


def test_there_are_three_scripts_and_the_policy_forbids_requests(page: Page) -> None:
    assert len(page.scripts) == 3
    policy = next(a["content"] or "" for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    assert "http" not in policy


def test_charts_are_strict_json_that_cannot_end_its_script(page: Page) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert "<" not in page.scripts[0]
    charts = json.loads(page.scripts[0], parse_constant=refuse)
    places = {attributes.get("id") for _, attributes in page.tags}
    assert {f"chart-{name}" for name in charts} <= places


def test_no_element_has_a_handler_and_ids_are_unique(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


def test_links_lead_to_designs_on_the_page() -> None:
    page = read(studies.mixed(60))
    ids = {f"#{attributes['id']}" for _, attributes in page.tags if "id" in attributes}
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert links
    assert set(links) <= ids


def test_hostile_text_is_shown_as_text_and_never_as_markup() -> None:
    page = read(studies.hostile())
    assert "</script><script>alert(1)</script>" in page.text
    assert "\x1b" not in page.text
    charts = json.loads(page.scripts[0])
    hovers = [text for trace in charts["pareto"]["data"] for text in trace.get("text", [])]
    assert hovers
    assert all(set(re.findall(r"<[^>]*>", text)) <= {"<b>", "</b>", "<br>"} for text in hovers)


def test_the_page_tells_the_study() -> None:
    record = studies.mixed()
    text = read(record).text
    for part in ("transformer1t", "sampler nsga2", "seed 7", "120 designs evaluated", "Hypervolume", "proven bound"):
        assert part in text
    for part in ("SW(8)_SW(128)", "memory 13, batch 4", "Where the time goes", "Where the money goes", "assumed"):
        assert part in text
    assert "LIBRA (Won et al., ISPASS 2024), table 4" in text


def test_a_price_that_is_only_assumed_is_marked() -> None:
    page = read(studies.mixed(20))
    assert sum(attributes.get("class") == "badge" for _, attributes in page.tags) == 2


def test_the_hover_of_a_cut_trial_says_bounds_and_its_rule() -> None:
    record = studies.record([studies.cut(0, 3.0, 2e7), studies.simulated(1, 4.0, 2e7)])
    charts = json.loads(read(record).scripts[0])
    (cut,) = [trace for trace in charts["pareto"]["data"] if trace["name"].startswith("cut")]
    assert cut["text"][0].startswith("<b>#0</b> cut by memory: bounds<br>iteration time 3 s, total cost 20 M$")


def test_bars_sum_to_the_iteration_time() -> None:
    record = studies.record([studies.simulated(0, 4.0, 2e7)])
    charts = json.loads(read(record).scripts[0])
    assert sum(trace["x"][0] for trace in charts["time"]["data"]) == pytest.approx(4.0)
    assert sum(trace["x"][0] for trace in charts["cost"]["data"]) == pytest.approx(20.0)


def test_a_study_without_a_feasible_design_explains_itself() -> None:
    assert "The binding constraint is 'fits'" in read(studies.infeasible_only()).text


def test_a_design_document_reads_back_the_same() -> None:
    design = studies.design() | {
        "odd": ["1e6", "1e-3", "true", "null", "007", "a: b", studies.HOSTILE, 1.5, None, True]
    }
    trial = TrialRecord(0, "feasible", {}, {}, {}, design)
    assert parse_document(document_yaml(trial)).data == design


def test_the_design_document_stands_in_the_page_as_it_is() -> None:
    record = studies.record([studies.simulated(0, 4.0, 2e7)])
    page = read(record)
    assert document_yaml(record.trials[0]) in "".join(page.texts)
