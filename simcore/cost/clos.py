"""How many whole switches and cables join the NICs of nodes: a switch, leaves and spines, or three levels with cores.

The rules, which give the tables of NVIDIA's reference architectures (docs/bill.md):

- One switch, where all NICs have a port of it.
- *Rails*: the NICs of a node go to as many leaves; a leaf has one rail of a block of nodes, as many as half its ports
  (with oversubscription k, k/(1 + k) of them). Of blocks of few nodes several rails share one.
- Each leaf is joined to every spine of its group by the same number of links. So the number of spines is the least
  divisor of a leaf's uplinks whose ports are enough. Leaves have the uplinks, at least what they need, that take fewest
  spines.
- Two levels, where one group of spines has a port for every uplink. Else the leaves of a rail are a group (of several,
  where they are more than half a spine's ports), spines have as many ports up as down, and each spine is joined to
  every core of its plane by the same number of links, in the number of planes that takes fewest cores. With an
  oversubscription of the second level, spines have as much fewer ports up. A design that says what a pod is gets pods.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from simcore.document.problem import Refusal
from simcore.network import ratios_of


@dataclass(frozen=True, slots=True)
class Clos:
    """Switches and links of a network, level by level."""

    leaves: int
    spines: int = 0
    cores: int = 0
    node_links: int = 0
    """Between nodes and leaves."""
    leaf_links: int = 0
    """Between leaves and spines."""
    spine_links: int = 0
    """Between spines and cores."""
    block: int = 0
    """Nodes under a leaf."""
    group: int = 0
    """Nodes under a group of spines."""

    @property
    def switches(self) -> int:
        """All of them."""
        return self.leaves + self.spines + self.cores

    def times(self, planes: int) -> Clos:
        """So many such networks beside each other, over the same nodes."""
        names = ("leaves", "spines", "cores", "node_links", "leaf_links", "spine_links")
        return replace(self, **{name: planes * getattr(self, name) for name in names})


@lru_cache(maxsize=4096)
def cable(
    nodes: int,
    rails: int,
    radix: int,
    oversubscription: float | tuple[float, ...] = 1.0,
    leaf: int | None = None,
    pod: int | None = None,
) -> Clos:
    """The network of `rails` NICs of each of `nodes` nodes in switches of `radix` ports.

    `leaf`, `pod`: nodes under each leaf, and of each pod, where the design says so. Raises `Refusal` where there is
    none of three levels.
    """
    ratios = (*ratios_of(oversubscription), 1.0)
    if nodes * rails <= radix and (leaf is None or leaf >= nodes):
        return Clos(1, node_links=nodes * rails, block=nodes, group=nodes)
    found = min(_trees(nodes, rails, radix, ratios, leaf, pod), key=_size, default=None)
    if found is None:
        free = None if pod is None else min(_trees(nodes, rails, radix, ratios, leaf, None), key=_size, default=None)
        if free is not None:
            asked = f"pods that switches of {radix} ports can join"
            raise Refusal(asked, f"pods of {pod:,} nodes", "leave 'pod' out, or choose larger pods")
        raise _refusal(nodes, rails, radix, ratios[0], leaf)
    return found


def _size(tree: Clos) -> tuple[int, int]:
    return tree.switches, tree.leaf_links


def _trees(
    nodes: int, rails: int, radix: int, ratios: tuple[float, ...], leaf: int | None, pod: int | None
) -> Iterator[Clos]:
    """Trees that the uplinks of a leaf leave to choose from."""
    most = _most_down(radix, ratios[0])
    blocks = -(-nodes // (leaf or most))
    block = leaf or -(-nodes // blocks)
    together = max(1, most // block)
    sets = -(-rails // together)
    down = block * -(-rails // sets)
    links = nodes * rails
    for up in range(-int(-down // ratios[0]), min(radix - down, max(radix // 2, down)) + 1):
        two = _spines(blocks * sets, up, radix) if pod is None or pod >= nodes else None
        if two is not None:
            yield Clos(blocks * sets, two, 0, links, blocks * sets * up, 0, block, nodes)
        elif blocks > 1:
            inside = None if pod is None else pod // block
            yield from _three(
                Clos(blocks * sets, node_links=links, block=block), (blocks, inside, sets), up, radix, ratios[1]
            )


def _three(leaves: Clos, counts: tuple[int, int | None, int], up: int, radix: int, ratio: float) -> Iterator[Clos]:
    """Three levels, where there are any: a group of spines for each rail's leaves, and cores above.

    `counts` are the blocks of nodes, those of each pod where the design says so, and the leaves of a block.
    """
    blocks, inside, sets = counts
    down = _most_down(radix, ratio)
    groups = -(-blocks // (inside or down))
    each = inside or -(-blocks // groups)
    spines = _spines(each, up, down)
    if spines is None:
        return
    through = -int(-each * up // spines // ratio)
    cores = _cores(sets * groups, spines, through, radix)
    if cores is not None:
        above = sets * groups * spines
        yield Clos(
            leaves.leaves, above, cores, leaves.node_links, leaves.leaves * up, above * through, leaves.block,
            each * leaves.block,
        )  # fmt: skip


def _spines(leaves: int, up: int, ports: int) -> int | None:
    """The least divisor of a leaf's uplinks that has ports for all of them."""
    return next((n for n in range(-(-leaves * up // ports), up + 1) if n and up % n == 0), None)


def _cores(groups: int, spines: int, up: int, radix: int) -> int | None:
    """Cores for `groups` groups of spines with `up` uplinks each, in the number of planes that takes fewest."""
    planes = [n for n in range(1, spines + 1) if spines % n == 0]
    found = [(n, _spines(groups * spines // n, up, radix)) for n in planes]
    return min((n * cores for n, cores in found if cores is not None), default=None)


def _most_down(radix: int, oversubscription: float) -> int:
    return max(1, int(radix * oversubscription / (1 + oversubscription) + 1e-9))


def _refusal(nodes: int, rails: int, radix: int, oversubscription: float, leaf: int | None) -> Refusal:
    most = _most_down(radix, oversubscription)
    if leaf is not None and leaf > most:
        fix = f"at most {most} fit; choose a smaller 'leaf' or a switch of more ports"
        return Refusal(f"a leaf of {radix} ports with a port up for {oversubscription:g} down", f"{leaf} down", fix)
    fits = most * (radix // 2) * radix
    limit = f"at most {fits:,} fit in trees of three levels; " if nodes * rails > fits else ""
    fix = f"{limit}choose a switch of more ports{'' if limit else ', fuller leaves'} or fewer NICs"
    return Refusal(f"NICs that switches of {radix} ports can join", f"{nodes * rails:,}", fix)
