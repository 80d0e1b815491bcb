"""The source: a design of this project, as `dse simulate --chakra-out` writes it, one trace a rank."""

from __future__ import annotations

from simcore.check.load import load_design
from simcore.traces.base import Request, TraceSet
from simcore.traces.export import differences, export_files


class DesignSource:
    """A design document."""

    name = "design"
    summary = "a design of this project (YAML)"

    def claims(self, path: str) -> bool:
        """YAML."""
        return path.endswith((".yaml", ".yml"))

    def read(self, request: Request) -> TraceSet:
        """The traces, with the network and the system file that go with them. Raises `InputError`."""
        design = load_design(request.path)
        made = export_files(design)
        traces = {rank: tuple(nodes) for rank, nodes in made.traces.items()}
        ranks = tuple(traces.get(rank, traces[0]) for rank in range(design.cluster.npus))
        return TraceSet(ranks, made.groups, made.documents, differences(design))
