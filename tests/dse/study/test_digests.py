"""Digests in an array are a set: whatever is put in, one by one or many at once, is there once."""

from __future__ import annotations

import numpy as np
import pytest

from dse.study import keys
from dse.study.keys import DIGESTS, Digests, key_digest


def test_digests_are_a_set_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "LATEST", 7)
    known, found = set[bytes](), Digests()
    for number in np.random.default_rng(0).integers(200, size=500).tolist():
        digest = key_digest(str(number))
        assert (digest in found) == (digest in known)
        assert found.add(digest) == (digest not in known)
        known.add(digest)
        assert len(found) == len(known)


def test_many_at_once_need_not_be_new() -> None:
    found = Digests()
    first = [key_digest(str(number)) for number in range(10)]
    found.add(first[0])
    found.update(np.array([*first, first[3]], dtype=DIGESTS))
    assert len(found) == 10
    assert all(digest in found for digest in first)
    assert not found.add(first[9])


def test_bytes_that_end_in_zeros_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "LATEST", 1)  # an array of numpy's bytes drops them at the end when it is read
    found = Digests()
    assert found.add(b"a" + bytes(15))
    assert found.add(bytes(16))
    assert found.add(b"a" + bytes(14) + b"b")
    assert not found.add(bytes(16))
    assert len(found) == 3
