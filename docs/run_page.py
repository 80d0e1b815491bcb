"""Run a page as a reader would, in an empty folder, and put what its commands print into it.

    python docs/run_page.py docs/tutorial.md docs/questions/*.md

A page is run from its first block to its last:

- `yaml`, `csv`: a file, if its first line (or a comment before the block, `<!-- file: NAME -->`) names one;
- `sh`: commands, of which only `dse` is known;
- `text` right after `sh`: what these commands print, which this script writes anew;
- `python`: one program with the other `python` blocks of the page;
- `<!-- picture: FILE -->` before an image: a file of the folder that is copied to where the image is.

`<!-- not run: REASON -->` before a block leaves it out. The folder has `spaces/`, and `tests/docs/files/` for files
that a reader brings along (measurements, logs).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>not run|file): (?P<word>[^\n]+?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)
PICTURE = re.compile(r"^<!-- picture: (?P<source>[^\n]+?) -->\n!\[[^\n]*?\]\((?P<target>[^)\n]+)\)$", re.M)
TIME = re.compile(r"(?<=<!-- time -->)\d+(?= s)")
NAME = re.compile(r"# (\S+\.(?:yaml|csv))$")
LARGEST_PICTURE = 60_000
"""Bytes of a picture."""
WIDEST_PICTURE, COLOURS = 900, 48


@dataclass(frozen=True)
class Block:
    """A block of code of a page."""

    language: str
    text: str
    span: tuple[int, int]
    """Where its text begins and ends in the page."""
    file: str = ""
    """Name of the file that it is; none where it is not one."""
    not_run: str = ""
    """Why it is not run; empty for one that is."""


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    return list(map(_block, BLOCK.finditer(page)))


def _block(match: re.Match[str]) -> Block:
    word = {match["mark"]: match["word"]}
    first = NAME.match(match["text"].partition("\n")[0])
    named = word.get("file") or (first[1] if first else "")
    return Block(match["language"], match["text"], match.span("text"), named, word.get("not run", ""))


@dataclass
class Reader:
    """Somebody who reads a page and does what it says, in the folder that is the current one."""

    most_trials: int | None = None
    """Searches end after so many trials, whatever the page says; as it says unless given."""
    names: dict[str, Any] = field(default_factory=dict)
    """The variables of the page's program."""

    def run(self, block: Block) -> str:
        """Do what a block says; what it prints.

        Raises `RuntimeError` for a command that fails, and whatever the program raises.
        """
        if block.not_run:
            return ""
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
        if block.language == "sh":
            return "\n".join(filter(None, map(self._command, commands_of(block))))
        if block.language == "python":
            exec(compile(block.text, "page", "exec"), self.names)
        return ""

    def _command(self, line: str) -> str:
        from dse.cli import main

        program, *words = shlex.split(line, comments=True)
        if program != "dse":
            raise RuntimeError(f"only dse is run, not {program!r}: mark the block <!-- not run: why -->")
        words, target = (words[:-2], words[-1]) if ">" in words[-2:-1] else (words, "")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                status = main(self._short(words))
            except SystemExit as end:
                status = int(end.code or 0)
        if status != 0:
            raise RuntimeError(f"status {status}: {line}")
        if target:
            Path(target).write_text(printed.getvalue(), encoding="utf-8")
        return "" if target else printed.getvalue()

    def _short(self, words: list[str]) -> list[str]:
        """A command with no more trials than this reader waits for."""
        if self.most_trials is None or words[0] != "optimize":
            return words
        if "--trials" not in words:
            return [*words, "--trials", str(self.most_trials)]
        at = words.index("--trials") + 1
        return [*words[:at], str(min(int(words[at]), self.most_trials)), *words[at + 1 :]]


def commands_of(block: Block) -> Iterator[str]:
    """The commands of a block of shell."""
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line


@contextlib.contextmanager
def readers_folder() -> Iterator[Path]:
    """A folder with what a reader has before the page begins, as the current one; gone afterwards."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "spaces", Path(folder) / "spaces")
        shutil.copytree(ROOT / "tests" / "docs" / "files", folder, dirs_exist_ok=True)
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def written(path: Path) -> str:
    """The page with what its commands print now, and its pictures and its time renewed."""
    page = path.read_text(encoding="utf-8")
    out: list[str] = []
    at, printed, started = 0, "", time.perf_counter()
    with readers_folder() as folder:
        reader = Reader()
        for block in blocks_of(page):
            if block.language == "text" and printed:
                out += [page[at : block.span[0]], _shown(printed)]
                at = block.span[1]
            printed = reader.run(block)
        for match in PICTURE.finditer(page):
            _copy_picture(folder / match["source"], path.parent / match["target"])
    seconds = time.perf_counter() - started
    return TIME.sub(str(max(5, 5 * round(seconds / 5))), "".join([*out, page[at:]]))


def _shown(printed: str) -> str:
    """What a terminal shows: no blanks at the ends of lines, one newline at the end."""
    return "\n".join(line.rstrip() for line in printed.strip("\n").splitlines()) + "\n"


def _copy_picture(source: Path, target: Path) -> None:
    """A picture in the size of a page, with few colours.

    Raises `RuntimeError` for one that is still large.
    """
    from PIL import Image

    target.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(source) as picture:
        picture.thumbnail((WIDEST_PICTURE, WIDEST_PICTURE))
        picture.convert("RGB").quantize(COLOURS).save(target, optimize=True)
    if target.stat().st_size > LARGEST_PICTURE:
        raise RuntimeError(f"{target.name}: {target.stat().st_size:,} bytes, more than {LARGEST_PICTURE:,}")


def main_of(pages: Sequence[str]) -> None:
    """Write pages anew."""
    os.environ["COLUMNS"] = "80"
    for path in [Path(page).resolve() for page in pages]:
        path.write_text(written(path), encoding="utf-8")


if __name__ == "__main__":
    main_of(sys.argv[1:])
