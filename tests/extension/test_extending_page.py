"""`docs/extending.md` shows the example package as it is, and has a section for all that the package adds."""

from __future__ import annotations

import re

import pytest
from installed import EXAMPLE, PROJECT, ROOT

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(?:python|toml|yaml)\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)


def test_every_block_of_code_names_its_file() -> None:
    assert len(BLOCKS) == len(re.findall(r"```(?:python|toml|yaml)\n", PAGE)) > 5


@pytest.mark.parametrize(("name", "code"), BLOCKS)
def test_a_block_is_a_part_of_the_file_that_it_names_and_short(name: str, code: str) -> None:
    folder = EXAMPLE.parent if name == "design.yaml" else EXAMPLE
    assert code in (folder / name).read_text(encoding="utf-8")
    assert len(code.splitlines()) < (3 * len(PROJECT["entry-points"]) if name == "pyproject.toml" else 30)


def test_the_page_shows_every_member_of_the_package() -> None:
    for group, members in PROJECT["entry-points"].items():
        assert group in PAGE
        for name, target in members.items():
            module = target.partition(":")[0].replace(".", "/")
            assert name in PAGE
            assert f"# {module}.py" in PAGE
