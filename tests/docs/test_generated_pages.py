"""Pages and files that are written from the code are those that the code writes now."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # ships no types
import pytest

from dse.cli import main
from simcore.document.text import read_document

ROOT = Path(__file__).parents[2]
SPACES = sorted((ROOT / "spaces").glob("*.yaml"))


@pytest.mark.parametrize("page", ["reference", "catalogue"])
def test_a_written_page_is_current(page: str) -> None:
    written = runpy.run_path(str(ROOT / "docs" / f"write_{page}.py"))[page]()
    assert (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8") == written, f"run docs/write_{page}.py"


def test_the_schema_beside_the_spaces_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["space", "--schema"]) == 0
    assert (ROOT / "spaces" / "space.schema.json").read_text() == capsys.readouterr().out, (
        "run dse space --schema > spaces/space.schema.json"
    )


@pytest.mark.parametrize("path", SPACES, ids=lambda path: path.stem)
def test_a_shipped_space_names_the_schema_for_editors_and_keeps_to_it(path: Path) -> None:
    assert path.read_text().splitlines()[0] == "# yaml-language-server: $schema=space.schema.json"
    schema: dict[str, Any] = json.loads((ROOT / "spaces" / "space.schema.json").read_text())
    jsonschema.validate(read_document(path).data, schema)


def test_every_link_of_the_reference_leads_to_a_section() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w -]", "", line[3:]).replace(" ", "-") for line in page.lower().splitlines() if line[:3] == "## "
    }
    links = set(re.findall(r"\(#([^)]+)\)", page))
    assert len(links) > 30
    assert links <= headings


def test_keys_of_the_schema_say_what_they_mean() -> None:
    schema = json.loads((ROOT / "spaces" / "space.schema.json").read_text())
    zero = schema["$defs"]["Parallelism"]["anyOf"][0]["properties"]["zero"]
    assert zero["description"].startswith("ZeRO stage")
    assert schema["properties"]["study"]["properties"]["batch"]["description"].startswith("Designs proposed together")


def test_descriptions_of_keys_begin_with_what_they_are() -> None:
    schema = json.loads((ROOT / "spaces" / "space.schema.json").read_text())

    def descriptions(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            if isinstance(said := node.get("description"), str):
                yield said
            node = list(node.values())
        for child in node if isinstance(node, list) else ():
            yield from descriptions(child)

    found = set(descriptions(schema))
    assert len(found) > 200
    assert [text for text in found if text.startswith(("Of ", "Those ", "The same "))] == []
