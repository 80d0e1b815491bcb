"""How busy each link of a design's fabric is in an iteration, and with whose messages.

Every row of NPUs along a dimension has its own copy of its links; rows that carry the same are shown once. A phase puts
the same bytes on the same links whenever it is served, so what a link carries follows from how often each stage does
what; an engine only says how long the iteration takes, of each job. It is what engines of phases play (`fast`, `flow`).
"""

from simcore.engine.link_use.base import FREE, LinkUse, RowUse, Share, busiest_rows
from simcore.engine.link_use.rows import use_of_links

__all__ = ["FREE", "LinkUse", "RowUse", "Share", "busiest_rows", "use_of_links"]
