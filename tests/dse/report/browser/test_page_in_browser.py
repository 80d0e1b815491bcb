"""What a reader does with the page, in a real browser."""

from __future__ import annotations

import csv
import io
import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright.sync_api", reason="no playwright")

import report_studies as studies
from page_data import column, read_data
from pages import READY, centres, many, opened, settle

from dse.evaluate.record import StudyRecord
from dse.report.page import report_html
from dse.report.summary import summarize
from dse.report.units import scale
from simcore.document.text import parse_document

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ODD = [
    "1e6",
    "1e-3",
    "true",
    "null",
    "007",
    "a: b",
    "- x",
    "25 GB/s",
    "1.5e3 B",
    studies.HOSTILE,
    "ü \u2028 😀",
    "",
    " x ",
]


def written(record: StudyRecord, folder: Path) -> Path:
    file = folder / "report.html"
    file.write_text(report_html(record, summarize(record)), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def study() -> StudyRecord:
    return studies.mixed(120)


@pytest.fixture(scope="module")
def file(study: StudyRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(study, tmp_path_factory.mktemp("page"))


def shown(page: Page) -> int:
    """Designs that are selected, as the page says."""
    return int(page.locator("#shown").inner_text().split()[0].replace(",", ""))


def test_every_point_of_the_front_is_picked_at_its_centre(browser: Browser, study: StudyRecord, file: Path) -> None:
    with opened(browser, file) as page:
        page.locator("#chart").scroll_into_view_if_needed()
        page.evaluate("document.querySelector('#chart').scrollIntoView({block: 'center'})")
        points = centres(page)
        assert len(points) == len(study.front)
        numbers = column(read_data(file.read_text()), "number")
        for row, x, y in points:
            page.mouse.click(x, y)
            settle(page)
            assert page.locator("#picked h3").inner_text().startswith(("Trial", "★", "◆"))
            assert f"Trial {numbers[row]:.0f} " in page.locator("#picked h3").inner_text() + " "


def test_designs_are_pinned_side_by_side_and_let_go(browser: Browser, study: StudyRecord, file: Path) -> None:
    with opened(browser, file) as page:
        assert f"#{summarize(study).knee}" in page.locator("#compare-body thead").inner_text()
        page.get_by_role("button", name="Unpin all").click()
        settle(page)
        for trial in study.front[:2]:
            page.get_by_role("button", name=f"Pin trial {trial.number}", exact=True).click()
            settle(page)
        heads = page.locator("#compare-body thead").inner_text()
        assert [f"#{trial.number}" in heads for trial in study.front[:3]] == [True, True, False]
        cells = page.locator("#compare-body tr", has_text="iteration time [s]").first.locator("td").all_inner_texts()
        unit = scale("s", [trial.values["iteration_time"] for trial in study.front])
        assert cells == [unit.number(trial.values["iteration_time"]) for trial in study.front[:2]]


def test_brushing_the_chart_or_an_axis_selects_in_all_views(browser: Browser, study: StudyRecord, file: Path) -> None:
    with opened(browser, file) as page:
        page.evaluate("document.querySelector('#chart').scrollIntoView({block: 'center'})")
        everything = shown(page)
        box = page.locator("#chart svg").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 0.15 * box["width"], box["y"] + 0.1 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.8 * box["height"], steps=4)
        page.mouse.up()
        settle(page)
        brushed = shown(page)
        assert 0 < brushed < everything
        assert page.locator("#parallel .brush .selection[height]").count() >= 1
        page.locator("#keep").click()
        settle(page)
        assert f"{brushed} design" in page.locator("#shown").inner_text()
        assert f"{everything - brushed} put aside" in page.locator("#shown").inner_text()
        page.locator("#undo").click()
        page.locator("#undo").click()
        settle(page)
        assert shown(page) == everything
        page.evaluate("document.querySelector('#parallel').scrollIntoView({block: 'center'})")
        axis = page.locator("[data-axis='cost.total'] .overlay").bounding_box()
        assert axis is not None
        page.mouse.move(axis["x"] + axis["width"] / 2, axis["y"] + 0.5 * axis["height"])
        page.mouse.down()
        page.mouse.move(axis["x"] + axis["width"] / 2, axis["y"] + 0.98 * axis["height"], steps=4)
        page.mouse.up()
        settle(page)
        assert 0 < shown(page) < everything
        assert page.locator("#chart .brushed").count() == 1
        page.locator("#exclude").click()
        settle(page)
        assert "put aside" in page.locator("#shown").inner_text()
        page.locator("#reset").click()
        settle(page)
        assert shown(page) == everything


def test_words_and_ranges_filter_and_the_selection_is_saved(browser: Browser, study: StudyRecord, file: Path) -> None:
    with opened(browser, file) as page:
        page.locator("#words").fill("themis")
        settle(page)
        expected = [
            t for t in study.trials if t.params.get("system.inter_dimension") == "themis" and t.state != "failed"
        ]
        assert shown(page) == len(expected)
        page.get_by_label("Range of").select_option("iteration_time")
        page.get_by_label("To", exact=True).fill("6.5")
        page.get_by_role("button", name="Add").click()
        settle(page)
        expected = [trial for trial in expected if trial.values["iteration_time"] <= 6.5]
        assert shown(page) == len(expected)
        with page.expect_download() as saved:
            page.locator("#save-csv").click()
        rows = list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text())))
        assert [int(row["number"]) for row in rows] == [trial.number for trial in expected]
        for row, trial in zip(rows, expected, strict=True):
            assert {name: float(row[name]) for name in trial.values} == trial.values


def test_the_chart_and_a_design_are_saved(browser: Browser, tmp_path: Path) -> None:
    design = studies.design() | {"odd": [*ODD, 1.5, 1e21, 1e-7, None, True, {}, [], {"a b": [{"x": 1, "y": [2]}]}]}
    record = studies.record([studies.simulated(0, 4.0, 2e7, document=design), studies.simulated(1, 5.0, 1e7)])
    with opened(browser, written(record, tmp_path)) as page:
        page.locator("#designs-table").get_by_role("button", name="#0", exact=False).first.click()
        settle(page)
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save as YAML").click()
        assert saved.value.suggested_filename == "transformer1t-0.yaml"
        assert parse_document(Path(saved.value.path()).read_text(encoding="utf-8")).data == design
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save as SVG").click()
        text = Path(saved.value.path()).read_text(encoding="utf-8")
        assert text.startswith("<svg")
        assert text.count('class="point"') == len(record.front)


def test_a_limit_greys_out_what_exceeds_it_and_names_the_best_within(
    browser: Browser, study: StudyRecord, file: Path
) -> None:
    with opened(browser, file) as page:
        slider = page.locator("[data-limit='cost.total']")
        slider.evaluate("(input) => { input.value = 60; input.dispatchEvent(new Event('input')); }")
        settle(page)
        costs = [trial.values["cost.total"] for trial in study.feasible_trials]
        limit = min(costs) + (max(costs) - min(costs)) * 60 / 200
        within = [trial for trial in study.feasible_trials if trial.values["cost.total"] <= limit]
        best = min(within, key=lambda trial: trial.values["iteration_time"])
        told = page.locator("#within").inner_text()
        assert f"{len(within)} feasible designs within" in told
        assert f"#{best.number} " in told
        page.locator("#undo").click()
        settle(page)
        assert page.locator("#within").inner_text() == ""


def test_the_keyboard_alone_picks_pins_and_saves(browser: Browser, study: StudyRecord, file: Path) -> None:
    with opened(browser, file) as page:
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.classList.contains('point')"):
                break
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        settle(page)
        trial = study.front[1]
        assert f"Trial {trial.number}" in page.locator("#picked h3").inner_text()
        assert f"Trial {trial.number}" in page.locator("#said").inner_text()
        page.keyboard.press("p")
        settle(page)
        assert "pinned" in page.locator("#said").inner_text()
        page.keyboard.press("Escape")
        settle(page)
        assert page.locator("#picked h3").count() == 0
        page.locator("#time summary").focus()
        page.keyboard.press("Enter")
        assert page.locator("#time table").is_visible()


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_screen(browser: Browser, file: Path, width: int) -> None:
    with opened(browser, file, viewport={"width": width, "height": 740}, color_scheme="dark") as page:
        page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_landmarks_and_names_for_a_screen_reader(browser: Browser, file: Path) -> None:
    with opened(browser, file) as page:
        for role in ("banner", "navigation", "main", "status"):
            assert page.get_by_role(role).count() == 1, role
        page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
        assert page.evaluate("[...document.querySelectorAll('table')].every((table) => table.caption?.textContent)")
        unnamed = page.evaluate(
            """() => [...document.querySelectorAll('button, select, input, [role=button]')].filter((one) => {
              const label = one.labels?.length ? [...one.labels].map((l) => l.textContent).join('') : '';
              return !(label || one.textContent || one.getAttribute('aria-label') || '').trim();
            }).map((one) => one.outerHTML)"""
        )
        assert unnamed == []


def test_on_paper_everything_is_open_within_ten_pages(browser: Browser, file: Path) -> None:
    with opened(browser, file) as page:
        pdf = page.pdf(prefer_css_page_size=True)
    assert len(pdf) <= 5e6
    pages = pdf.count(b"/Type /Page") - pdf.count(b"/Type /Pages")
    print(f"\nprint: {pages} pages, {len(pdf) / 1e3:.0f} kB")
    assert 2 <= pages <= 10


def test_without_scripts_there_is_the_picture_and_the_table(browser: Browser, study: StudyRecord, file: Path) -> None:
    with opened(browser, file, java_script_enabled=False) as page:
        image = page.locator("#front img")
        box = image.bounding_box()
        assert box is not None
        assert box["width"] > 500
        assert box["height"] > 250
        table = page.locator("#designs-table").inner_text()
        assert all(f"#{trial.number}" in table for trial in study.front)
        assert not page.locator("#chart").is_visible()


def test_the_table_of_the_script_says_what_the_one_without_says(
    browser: Browser, study: StudyRecord, file: Path
) -> None:
    def rows(page: Page) -> dict[str, list[str]]:
        cells = page.locator("#designs-table tbody tr").evaluate_all(
            "(rows) => rows.map((row) => [...row.querySelectorAll('.n')].map((cell) => cell.innerText.trim()))"
        )
        return {row[0].split("#")[1]: row[1:] for row in cells}

    with opened(browser, file, java_script_enabled=False) as page:
        plain = rows(page)
    with opened(browser, file) as page:
        scripted = rows(page)
    assert scripted
    assert {trial: plain[trial] for trial in scripted} == scripted


def test_hostile_names_run_nothing(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(studies.hostile(), tmp_path)) as page:
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        page.locator("#compare-body input[type=checkbox]").check()
        page.locator(".point").first.focus()
        page.keyboard.press("Enter")
        settle(page)
        page.locator("#picked details summary").first.click()
        settle(page)
        assert "alert(1)" in page.locator("#picked").inner_text()
        assert page.locator("img").count() == page.locator("noscript img").count()


def test_one_objective_and_nothing_feasible_are_pages_too(browser: Browser, tmp_path: Path) -> None:
    for record in (studies.mixed(40, studies.NAMES[:1]), studies.mixed(40, studies.NAMES), studies.infeasible_only()):
        with opened(browser, written(record, tmp_path)) as page:
            assert page.locator("#chart canvas").bounding_box() is not None
            assert page.locator("#designs-table table").is_visible()


def test_ten_thousand_trials_are_interactive_and_small(browser: Browser, tmp_path: Path) -> None:
    record = many(10_000)
    file = written(record, tmp_path)
    size = file.stat().st_size
    assert size <= 3e6
    assert len(column(read_data(file.read_text()), "number")) == 10_000
    start = time.perf_counter()
    with opened(browser, file) as page:
        ready = time.perf_counter() - start
        page.locator("#words").fill("125")
        settle(page)
        changed = time.perf_counter() - start - ready
        assert 0 < shown(page) < 10_000
        page.locator("#reset").click()
        settle(page)
        assert page.locator(READY).count() == 1
    print(f"\n10,000 trials: {size / 1e6:.2f} MB, ready in {ready:.2f} s, a filter in {changed:.2f} s")
    assert ready < 20  # a loose limit: the machine may be busy


def test_figures_on_the_page_are_those_of_the_record(browser: Browser, study: StudyRecord, file: Path) -> None:
    with opened(browser, file) as page:
        page.get_by_label("only the front").uncheck()
        settle(page)
        seen: dict[str, list[str]] = {}
        while True:
            for row in page.locator("#designs-table tbody tr").all():
                seen[row.get_attribute("data-trial") or ""] = row.locator("td.n").all_inner_texts()
            later = page.get_by_role("button", name="Later")
            if later.is_disabled():
                break
            later.click()
    named = [trial for trial in study.trials if trial.state != "failed"]
    assert set(seen) == {str(trial.number) for trial in named}
    for objective, at in zip(study.objectives, range(2), strict=True):
        unit = scale(objective.unit, [trial.values[objective.name] for trial in study.front], objective.name)
        for trial in named:
            value = trial.values[objective.name]
            assert math.isfinite(value)
            assert seen[str(trial.number)][at] == unit.number(value)
    assert json.dumps(seen)


def test_a_trial_named_in_the_decision_leads_to_its_design(browser: Browser, study: StudyRecord, file: Path) -> None:
    knee = summarize(study).knee
    with opened(browser, file) as page:
        page.locator("#decision table").get_by_role("button", name=f"#{knee}").click()
        page.locator("#picked h3").wait_for()
        assert f"Trial {knee} " in page.locator("#picked h3").inner_text()
        page.wait_for_function("document.querySelector('#picked').getBoundingClientRect().top < innerHeight")
        assert f"Picked #{knee}" in page.locator("#actions").inner_text()
        page.get_by_role("button", name="Let go").click()
        settle(page)
        assert "Picked" not in page.locator("#actions").inner_text()
