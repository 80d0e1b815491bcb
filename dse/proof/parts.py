"""Splits a finite space into jobs x networks, so that the bounds of many designs are computed together.

A *job* is a filling of workload and parallelism; a *network* one of everything else (cluster, system, cost). Memory
depends on the job and the NPU, cost on the network alone, and the least times of a job on all networks of a family
(`simcore.bounds.many`) are one matrix product. Where an expression ties the two together, each design is a job of its
own, with one network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dse.space.draw import Draw, FixedDraw, Odometer
from dse.space.fill import FilledDocument, fill_template, has_solved_split, npus_count, template_count
from dse.space.hole import Choice, ExpressionHole, Product, Split, alternatives_of
from dse.space.npus import following_product
from dse.space.open_layout import has_open_layout
from dse.space.sections import JOB_SECTIONS
from dse.space.space import Space
from simcore.bounds.many import NetworkFamily, is_linear
from simcore.bounds.stacked import FamilyStack
from simcore.check.load import parse_sound
from simcore.check.network import cluster_problems
from simcore.check.transport import transport_problems
from simcore.cost.price import price_problems
from simcore.design.design import Design
from simcore.design.workload import GivenWorkload, workload_tag
from simcore.document.problem import Problem
from simcore.engine.registry import BUILT_IN, PROVABLE
from simcore.metrics import BEFORE, CLUSTER, METRICS, PRICED, is_of, metrics_before
from simcore.reliability.counts import counts_of
from simcore.system.edge import edge_share
from simcore.workload.base import WorkloadKind, kind_named

LINKS = ("bandwidth", "latency", "efficiency")
"""Keys of a dimension of which bounds look at the best."""


def is_provable(engine: str) -> bool:
    """Whether an engine plays the model that bounds are proved of; of one of another package nothing is known."""
    return engine in PROVABLE


def is_proven_of(engine: str, names: Iterable[str]) -> bool:
    """Whether what is proven of all these metrics holds for what an engine says.

    What no simulation decides holds for every engine of the project, and what follows from the cluster alone for any.
    """
    known = BEFORE if engine in BUILT_IN else CLUSTER
    return is_provable(engine) or all(is_of(name, known) for name in names)


def is_computing_proven_of(engine: str) -> bool:
    """Whether an engine's NPUs compute no faster than their peak.

    Those of all engines of the project: they have one model of operators (`simcore.compute`).
    """
    return engine in BUILT_IN


@dataclass
class RecordingOdometer:
    """An odometer that remembers which number each hole drew."""

    odometer: Odometer = field(default_factory=Odometer)
    drawn: dict[str, int] = field(default_factory=dict)
    smooth: ClassVar[bool] = False

    def index(self, name: str, count: int, ordered: bool) -> int:
        """See `Draw.index`."""
        self.drawn[name] = self.odometer.index(name, count, ordered)
        return self.drawn[name]

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """See `Odometer.real`."""
        return self.odometer.real(name, low, high, log)


@dataclass(frozen=True)
class SpacePart:
    """A filling of some sections: their document, and the number each hole drew."""

    document: Mapping[str, Any]
    drawn: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Networks:
    """Networks of one NPU type, shape (sizes, placement) and price list, in families, one after the other."""

    families: tuple[NetworkFamily, ...]
    linear: tuple[bool, ...]
    """Whether a family gives its networks' times; else it is of one network, which is bounded by itself."""
    parts: tuple[SpacePart, ...]
    metrics: Mapping[str, NDArray[np.float64]]
    """Metrics that the network or its prices decide, such as what it costs, `[networks]`."""
    unsound: Mapping[str, NDArray[np.bool_]]
    """Rules on prices and transports, each with the networks that break it first `[networks]`, whatever the job."""

    @classmethod
    def of(cls, groups: Sequence[Sequence[tuple[SpacePart, Design]]]) -> Networks:
        """Networks from the members of their families."""
        designs = [[design for _, design in members] for members in groups]
        found = [_priced(design) for members in designs for design in members]
        rules = [next((p.rule for p in own_problems(design)), "") for members in designs for design in members]
        return cls(
            tuple(map(NetworkFamily.of, designs)),
            tuple(is_linear(members[0]) for members in designs),
            tuple(part for members in groups for part, _ in members),
            {name: np.array([of[name] for of in found], float) for name in found[0]},
            {rule: np.array(rules) == rule for rule in sorted({*rules} - {""})},
        )

    @property
    def design(self) -> Design:
        """One of them, with some job."""
        return self.families[0].design

    @cached_property
    def memory_key(self) -> str:
        """What a job's Program and its memory depend on."""
        cluster = self.design.cluster
        return repr((cluster.npu, cluster.power_cap, cluster.memory, cluster.npus, edge_share(self.design)))

    @cached_property
    def straight(self) -> tuple[bool, ...]:
        """The families that are linear, and whose keys make a topology: no others have links to count."""
        pairs = zip(self.families, self.linear, strict=True)
        return tuple(linear and not cluster_problems(family.design) for family, linear in pairs)

    @cached_property
    def stack(self) -> FamilyStack:
        """The straight families together; there must be one."""
        return FamilyStack([family for family, straight, _ in self.spans() if straight])

    @cached_property
    def in_stack(self) -> NDArray[np.bool_]:
        """Which networks are in `stack` `[networks]`."""
        return np.repeat(self.straight, [len(family.rates) for family in self.families])

    def spans(self) -> Iterator[tuple[NetworkFamily, bool, slice]]:
        """Each family, whether it is straight, and where its networks are."""
        start = 0
        for family, straight in zip(self.families, self.straight, strict=True):
            end = start + len(family.rates)
            yield family, straight, slice(start, end)
            start = end


def own_problems(design: Design) -> list[Problem]:
    """What is wrong with a network by its bandwidths, whatever the job."""
    return [*price_problems(design), *transport_problems(design)]


def _priced(design: Design) -> dict[str, float | None]:
    """The metrics of the network and of its prices; 0 where it has no price, which is a rule that cuts it."""
    if price_problems(design):
        return {name: 0.0 for name in METRICS if is_of(name, PRICED)}
    return metrics_before(design, None, PRICED)


@dataclass(frozen=True)
class Parts:
    """The jobs of a space, and the networks that each can have."""

    space: Space
    separable: bool

    @classmethod
    def of(cls, space: Space) -> Parts:
        """The parts of a space."""
        return cls(space, is_separable(space.template))

    def jobs(self) -> Iterator[SpacePart]:
        """Every filling of workload and parallelism (of everything, where the space cannot be taken apart)."""
        if not self.separable:
            yield from _draw_parts(self.space.fill)
            return
        for npus, template in self._job_templates():
            for part in fillings(template):
                yield part if npus is None else _on_npus(part, npus)

    def count_jobs(self) -> float:
        """How many those are."""
        if not self.separable:
            return template_count(self.space.template)
        return sum(template_count(template) for _, template in self._job_templates())

    def _job_templates(self) -> Iterator[tuple[int | None, dict[str, Any]]]:
        """The templates of the jobs: one, or where their degrees multiply to the NPUs one for each number of those."""
        template = {key: inner for key, inner in self.space.template.items() if key in JOB_SECTIONS}
        if (degrees := following_product(template)) is None:
            yield None, template
            return
        for npus in sorted(npus_count(self.space.template["cluster"])):
            yield npus, {**template, "parallelism": {**template["parallelism"], "degrees": degrees.product_of(npus)}}

    @cached_property
    def networks(self) -> tuple[Networks, ...]:
        """Every filling of the rest; none where the space cannot be taken apart."""
        if not self.separable:
            return ()
        job = next(self.jobs()).document
        rest = {key: value for key, value in self.space.template.items() if key not in JOB_SECTIONS}
        return group_networks((part, parse_sound({**job, **part.document})) for part in fillings(rest))

    @cached_property
    def _networks_by_npus(self) -> dict[int, tuple[Networks, ...]]:
        found: dict[int, list[Networks]] = {}
        for networks in self.networks:
            found.setdefault(networks.design.cluster.npus, []).append(networks)
        return {npus: tuple(each) for npus, each in found.items()}

    def networks_of(self, job: SpacePart) -> tuple[Networks, ...]:
        """The networks that a job can have."""
        if not self.separable:
            return (Networks.of([[(job, parse_sound(job.document))]]),)
        if (degrees := following_product(self.space.template)) is None:
            return self.networks
        return self._networks_by_npus[prod(job.document["parallelism"][degree] for degree in degrees.of)]

    def fill_design(self, job: SpacePart, network: SpacePart) -> FilledDocument:
        """The design document of a job on a network."""
        return self.space.fill(FixedDraw({**network.drawn, **job.drawn}))


def _on_npus(part: SpacePart, npus: int) -> SpacePart:
    """A job whose degrees multiply to so many NPUs, with the number of these as the whole space's draw has it."""
    name = "parallelism.degrees"
    return SpacePart(part.document, {f"{name}#{npus}" if key == name else key: n for key, n in part.drawn.items()})


def group_networks(members: Iterable[tuple[SpacePart, Design]]) -> tuple[Networks, ...]:
    """Networks by shape and family, each with its design on some job."""
    shapes: dict[str, dict[Any, list[tuple[SpacePart, Design]]]] = {}
    for number, (part, design) in enumerate(members):
        families = shapes.setdefault(_shape_key(design), {})
        key = _family_key(design) if is_linear(design) else number
        families.setdefault(key, []).append((part, design))
    return tuple(Networks.of(list(families.values())) for families in shapes.values())


def fillings(template: Mapping[str, Any]) -> Iterator[SpacePart]:
    """Every filling of a finite template without splits that are to be solved."""
    return _draw_parts(lambda draw: fill_template(template, draw))


def _draw_parts(fill: Callable[[Draw], FilledDocument]) -> Iterator[SpacePart]:
    draw = RecordingOdometer()
    while True:
        draw.drawn = {}
        document = fill(draw).document
        yield SpacePart(document, draw.drawn)
        if not draw.odometer.step():
            return


def is_separable(template: Mapping[str, Any]) -> bool:
    """Whether no expression of a job looks at a network, nor the other way round, and nothing is solved from both."""
    return not has_solved_split(template) and not has_open_layout(template) and not is_tied(template)


def is_tied(template: Mapping[str, Any]) -> bool:
    """Whether an expression of a job looks at a network, or the other way round.

    Or where some workloads compute and others do not: which libraries a network has follows from that.
    """
    for section, inner in template.items():
        for path in _expression_paths(inner):
            if (str(path[0]) in JOB_SECTIONS) != (section in JOB_SECTIONS):
                return True
    return len({issubclass(kind.section, GivenWorkload) for kind in kinds_of(template)}) > 1


def looks_at_links(template: Mapping[str, Any]) -> bool:
    """Whether an expression looks at what bounds take the best of: bandwidths, latencies and efficiencies, or chunks.

    Then what it comes to at the best of them may be no design's.
    """
    paths = [tuple(map(str, path)) for path in _expression_paths(dict(template))]
    return any(
        path[:2] == ("system", "chunks")
        or (path[:2] == ("cluster", "dimensions") and path[-1] in LINKS)
        or path[:2] == ("cluster", "bandwidth")
        for path in paths
    )


def has_proven_kinds(template: Mapping[str, Any]) -> bool:
    """Whether every workload of a space is of a kind that bounds of many networks are proven of.

    Nothing is proven of several jobs at once.
    """
    kinds = kinds_of(template)
    return bool(kinds) and all(kind.exact for kind in kinds)


def kinds_of(template: Mapping[str, Any]) -> list[WorkloadKind]:
    """The kinds of workload of a space's designs; none where they have several jobs, or what is none."""
    if "workload" not in template:
        return []
    workload = template["workload"]
    alternatives = alternatives_of(workload)
    if not all(isinstance(each, dict) for each in alternatives):
        return []
    return [kind for each in alternatives for kind in _kinds_of_workload(each)]


def _kinds_of_workload(workload: dict[str, Any]) -> list[WorkloadKind]:
    model = workload.get("model")
    models = alternatives_of(model)
    return [kind_named(workload_tag({**workload, "model": each})) for each in models]


def _expression_paths(value: Any) -> Iterator[tuple[str | int, ...]]:
    """The paths that the expressions in a template look at."""
    if isinstance(value, ExpressionHole):
        yield from value.expression.paths
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _expression_paths(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _expression_paths(inner)
    elif isinstance(value, Choice):
        yield from _expression_paths(list(value.alternatives))
    elif isinstance(value, Split):
        yield from _expression_paths(value.budget)
    else:
        assert not isinstance(value, Product) or value.of


def without_parallelism(design: Design) -> dict[str, Any]:
    """The document of a design but for how its job is spread: what follows from its own workload is not another's."""
    return {key: section for key, section in design.document().items() if key != "parallelism"}


def _family_key(design: Design) -> str:
    """All of a network but bandwidths, latencies and efficiencies, its transport's too."""
    same = {"bandwidth": 1.0, "latency": 0.0, "efficiency": 1.0}
    dimensions = tuple(dimension.model_copy(update=same) for dimension in design.cluster.dimensions)
    cluster = design.cluster.model_copy(update={"dimensions": dimensions, "transport": None})
    return repr((design.algorithms, cluster, design.system, design.cost, design.reliability))


def _shape_key(design: Design) -> str:
    """What a job's Program, its memory and the linear forms of its bound depend on, prices, and what fails."""
    cluster = design.cluster
    sizes = [dimension.size for dimension in cluster.dimensions]
    priced = (design.cost, design.reliability, counts_of(design).node)
    memory = (cluster.memory, edge_share(design))
    return repr((cluster.npu, cluster.power_cap, memory, cluster.node, sizes, cluster.placement, *priced))
