"""`docs/extending.md` shows the example package as it is, and has a section for all that the package adds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from installed import EXAMPLE, PROJECT, ROOT

from dse.reproduce.play import Player
from dse.reproduce.study import read_study

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(?:python|toml|yaml)\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
TABLES = re.findall(r"<!-- file: (\S+) -->\n```csv\n(.*?)```", PAGE, re.DOTALL)
BESIDE = EXAMPLE.parent
"""Where the design and the study are that the page shows."""


def test_every_block_of_code_names_its_file() -> None:
    assert len(BLOCKS) == len(re.findall(r"```(?:python|toml|yaml)\n", PAGE)) > 5


@pytest.mark.parametrize(("name", "code"), BLOCKS)
def test_a_block_is_a_part_of_the_file_that_it_names_and_short(name: str, code: str) -> None:
    folder = BESIDE if (BESIDE / name).is_file() else EXAMPLE
    assert code in (folder / name).read_text(encoding="utf-8")
    assert len(code.splitlines()) < (3 * len(PROJECT["entry-points"]) if name == "pyproject.toml" else 30)


def test_the_study_is_shown_whole_and_reproduced(tmp_path: Path) -> None:
    shown = {name: code for name, code in (*BLOCKS, *TABLES) if name.startswith("study/")}
    assert shown == {f"study/{path.name}": path.read_text(encoding="utf-8") for path in (BESIDE / "study").iterdir()}
    study = read_study(BESIDE / "study")
    done = list(Player(study, tmp_path).obtain(study.rows))
    assert [each.verdict for each in done] == ["reproduced"] * 3
    sizes, latency, rate = (64e3, 1e6, 100e6), 1e-6, 100e9
    ring = [2 * 15 * (latency + size / 16 / rate) for size in sizes]
    halving = [2 * (4 * latency + size * 15 / 16 / rate) for size in sizes]
    speedups = [one / other for one, other in zip(ring, halving, strict=True)]
    assert [each.value.number for each in done] == pytest.approx(speedups, rel=1e-6)


def test_the_page_shows_every_member_of_the_package() -> None:
    for group, members in PROJECT["entry-points"].items():
        assert group in PAGE
        for name, target in members.items():
            module = target.partition(":")[0].replace(".", "/")
            assert name in PAGE
            assert f"# {module}.py" in PAGE
