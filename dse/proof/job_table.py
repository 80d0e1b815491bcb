"""The jobs of a space, and what one layer of each takes: one table for all that ask in a process.

A search asks for it (`dse.search.guided.led`), and the certificate that is proven beside it. It lives as long as one of
them does.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any
from weakref import WeakValueDictionary

from dse.proof.job_list import JobList, WrittenJobs
from dse.proof.job_queue import FirstKey

Key = tuple[str, str, int]
"""Workload, NPU with its memory, number of NPUs."""


class JobTable:
    """Jobs and their first keys, as far as they were asked for."""

    def __init__(self) -> None:
        self.jobs: dict[tuple[int, str], dict[str, JobList]] = {}
        """By number of NPUs, stack, as JSON, and workload."""
        self.written: dict[int, WrittenJobs] = {}
        """The same before they were read on any NPUs."""
        self.layers: dict[str, dict[Hashable, float]] = {}
        """What layers take, by NPU."""
        self.first: dict[Key, list[FirstKey]] = {}


_tables: WeakValueDictionary[tuple[str, bool], JobTable] = WeakValueDictionary()


def table_of(template: Mapping[str, Any], *, energetic: bool) -> JobTable:
    """The table of a space's template; `energetic`: first keys have joules, too."""
    return _tables.setdefault((repr(template), energetic), JobTable())
