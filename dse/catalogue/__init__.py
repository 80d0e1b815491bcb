"""Everything that documents can name: entries of the catalogue, members of families, metrics; each with its sources."""

from dse.catalogue.base import Entry, Kind
from dse.catalogue.find import KINDS, find_entry, find_kind

__all__ = ["KINDS", "Entry", "Kind", "find_entry", "find_kind"]
