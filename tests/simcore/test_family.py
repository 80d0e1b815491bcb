"""Families: members of the project first, those of installed packages by name, loaded when they are asked for."""

from __future__ import annotations

from pathlib import Path
from string import ascii_lowercase

import pytest

from simcore.family import Family, _scan_packages


def family(group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str) -> Family[str]:
    """A family of strings whose group, of its own in each test, has one entry point `theirs`."""
    about = tmp_path / "theirs-2.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 2.5\n")
    (about / "entry_points.txt").write_text(f"[{group}]\ntheirs = {entry}\nours = {entry}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    _scan_packages.cache_clear()
    return Family(group, str, {"ours": "string:ascii_lowercase"})


def test_members_of_packages_follow_those_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = family("tests.known", tmp_path, monkeypatch, "string:digits")
    assert dict(found) == {"ours": ascii_lowercase, "theirs": "0123456789"}
    assert (found.package("ours"), found.package("theirs")) == (None, ("theirs", "2.5"))
    assert found.origin("theirs") == "theirs 2.5"


def test_names_are_known_without_loading_any_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = family("tests.broken", tmp_path, monkeypatch, "no_such_module:member")
    assert list(found) == ["ours", "theirs"]
    assert "theirs" in found
    assert "others" not in found
    with pytest.raises(ModuleNotFoundError):
        found["theirs"]


@pytest.mark.parametrize("entry", ["string:Template", "builtins:str"])
def test_what_is_no_member_is_refused_with_its_package(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = family(f"tests.wrong.{entry.partition(':')[2]}", tmp_path, monkeypatch, entry)
    with pytest.raises(TypeError, match=r"theirs of theirs 2\.5 is no str"):
        found["theirs"]
