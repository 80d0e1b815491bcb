"""Pages for the browser: studies drawn at random, and one page opened in a tab that notes what goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import report_studies as studies
from playwright.sync_api import Browser, Page

from dse.evaluate.record import StudyRecord

READY = "html[data-ready]"


def many(count: int, seed: int = 1) -> StudyRecord:
    """A study of `count` trials with a front of some dozens, twelve parameters and every state."""
    draw = np.random.default_rng(seed)
    document, trials = studies.design(), []
    for number in range(count):
        params = {f"section.key{index}": int(draw.integers(0, 4 + index)) for index in range(11)}
        params["cluster.bandwidth"] = f"{25 * int(draw.integers(1, 30))} GB/s"
        cost = float(draw.uniform(1e7, 4e7))
        time = 1e8 / cost * float(draw.lognormal(0.5, 0.4))
        missed = {"fits": 0.2} if number % 9 == 0 else None
        trials.append(studies.simulated(number, time, cost, violations=missed, document=document, params=params))
    return studies.record(trials)


@contextmanager
def opened(browser: Browser, file: Path, **context: Any) -> Iterator[Page]:
    """A tab with the page; anything asked of a server, and every complaint of the console, fails at the end."""
    with browser.new_context(accept_downloads=True, **context) as tab:
        wrong: list[str] = []
        page = tab.new_page()
        page.set_default_timeout(20_000)
        page.on(
            "request",
            lambda asked: (
                wrong.append(asked.url)
                if asked.url != file.as_uri() and not asked.url.startswith(("blob:", "data:"))
                else None
            ),
        )
        page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(file.as_uri())
        if context.get("java_script_enabled", True):
            page.wait_for_selector(READY)
        yield page
        assert wrong == [], wrong


def centres(page: Page) -> list[tuple[int, float, float]]:
    """Row and centre on the screen of every point of the front."""
    found: list[tuple[int, float, float]] = page.evaluate(
        """() => {
          const box = document.querySelector('#chart svg').getBoundingClientRect();
          return [...document.querySelectorAll('.point')].map((point) => {
            const [x, y] = point.getAttribute('transform').match(/-?[0-9.]+/g).map(Number);
            return [Number(point.dataset.row), box.left + x, box.top + y];
          });
        }"""
    )
    return found


def settle(page: Page) -> None:
    """Wait until what was changed is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
