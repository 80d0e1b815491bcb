"""Every block of code in README and docs runs as it is written, from the page's first to its last, in an empty folder.

Searches get few trials. A block that is marked `<!-- not run: REASON -->` is left out: needs a cluster, say.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from dse.space.space import load_space, space_from
from simcore.document.text import dump_document, parse_document

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TESTED_ELSEWHERE = {"extending.md": "tests/extension: parts of the files of an example package"}
FEW = 12
MOST_NOT_RUN = 8
PAGE = runpy.run_path(str(ROOT / "docs" / "run_page.py"))
BASE: dict[str, Any] = {
    "workload": {"model": "llama3-8b", "global_batch": 64, "precision": "bf16"},
    "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 16},
}
"""What a fragment of a document is put into."""


def snippets() -> list[Any]:
    """The pages with code, by name."""
    pages = [page for page in PAGES if page.name not in TESTED_ELSEWHERE and PAGE["blocks_of"](page.read_text("utf-8"))]
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages]


@pytest.mark.parametrize("page", snippets())
def test_a_page_does_what_it_says(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with PAGE["readers_folder"]():
        reader = PAGE["Reader"](most_trials=FEW)
        for block in PAGE["blocks_of"](page.read_text("utf-8")):
            assert block.not_run or block.language in {"sh", "python", "yaml", "csv", "text", ""}, block.language
            reader.run(block)
            if block.language == "yaml" and not block.not_run:
                check_document(block)


def check_document(block: Any) -> None:
    """A whole document, or a fragment of one, is read without a problem."""
    data = parse_document(block.text, "page").data
    if {"workload", "cluster"} <= data.keys() or "workloads" in data or "jobs" in data:
        load_space(block.file) if block.file else space_from(parse_document(block.text, "page"), "page")
        return
    merged = {key: {**BASE.get(key, {}), **value} if isinstance(value, dict) else value for key, value in data.items()}
    if "layers" in merged.get("workload", {}):
        merged["workload"] = data["workload"]
    Path("fragment.yaml").write_text(dump_document(BASE | merged), encoding="utf-8")  # beside the files that it names
    load_space("fragment.yaml")


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    marked = [
        block.not_run
        for page in PAGES
        for block in PAGE["blocks_of"](page.read_text("utf-8"))
        if block.not_run and page.name not in TESTED_ELSEWHERE
    ]
    assert all(len(reason.split()) >= 3 for reason in marked)
    assert len(marked) <= MOST_NOT_RUN, marked


def test_every_marked_block_is_found() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        assert len(re.findall(r"^<!-- not run:", text, re.M)) == sum(
            bool(b.not_run) for b in PAGE["blocks_of"](text)
        ), page


def test_links_between_pages_lead_somewhere() -> None:
    missing: list[str] = []
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
        targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
        missing += [
            f"{page.relative_to(ROOT)}: {target}"
            for target in targets
            if "://" not in target and not (page.parent / target).exists()
        ]
    assert not missing
