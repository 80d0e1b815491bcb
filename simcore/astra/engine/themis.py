"""Themis: let every chunk of a collective visit the least-loaded dimensions first (ASTRA-sim 1.0).

Per collective an estimated load is kept for each dimension. A reduce-scatter chunk visits the dimensions in
increasing load, an all-gather chunk in decreasing load, adding to each

    load += bytes / 2**20 * (n - 1) / n / (BW / BW_0)        bytes //= n   (all-gather: * (n - 1), bytes *= n).

When the gap between most and least loaded, turned back into bytes, is below chunk / 16, the natural order is
taken instead. S. Rashidi et al., "Themis: A Network Bandwidth-Aware Collective Scheduling Policy", ISCA 2022.
"""

from __future__ import annotations

from simcore.astra.files.network import Network

_MEBI = 1 << 20


class LoadBalancer:
    """The estimated loads of one run; `sizes` are the logical dimensions."""

    def __init__(self, network: Network, sizes: tuple[int, ...], gap_denominator: int) -> None:
        bandwidths = [dimension.total_bandwidth for dimension in network.dimensions]
        broken = len(sizes) - len(bandwidths)
        if broken:  # a training loop broke one dimension in two
            same = next(i for i, size in enumerate(network.sizes) if sizes[i] != size)
            bandwidths.insert(same, bandwidths[same])
        self._sizes = sizes
        self._relative = [bandwidth / bandwidths[0] for bandwidth in bandwidths]
        self._gap_denominator = gap_denominator
        # As ASTRA-sim does, the list itself is sorted in place: ties keep their earlier order.
        self._loads = [(0.0, dim) for dim in range(len(sizes))]
        self._last_reset = -1

    def reset(self, now: int) -> None:
        """Forget the loads, once per instant at which collectives are issued [ns]."""
        if now != self._last_reset:
            self._loads = [(0.0, dim) for dim in range(len(self._sizes))]
            self._last_reset = now

    def order(self, gather: bool, size: int, involved: tuple[bool, ...]) -> list[int]:
        """Return the order in which a chunk of `size` bytes visits the dimensions."""
        self._loads.sort(key=lambda entry: entry[0])
        if gather:
            self._loads.reverse()
        order = [dim for _, dim in self._loads]
        places = {dim: place for place, dim in enumerate(order)}
        active = [dim for dim in order if involved[dim] and self._sizes[dim] > 1]
        if active and self._gap_bytes(gather, active) < size // self._gap_denominator:
            order = list(range(len(order)))
            places = dict(enumerate(order))  # a gather's loads are reversed, but ASTRA-sim books by place
            self._loads.sort(key=lambda entry: entry[1])
            if gather:
                self._loads.reverse()
        self._add(gather, size, places, involved)
        return order

    def _gap_bytes(self, gather: bool, active: list[int]) -> int:
        """Return the load gap as the bytes that would fill it."""
        loads = {dim: load for load, dim in self._loads}
        first, last = active[0], (active[-1] if gather else self._loads[-1][1])
        gap = abs(loads[last] - loads[first])
        dim = last if gather else first
        nodes = self._sizes[dim]
        share = float(nodes - 1) if gather else (nodes - 1) / nodes
        found = int(gap * self._relative[dim] / share * _MEBI)
        if gather:
            for other in active[-2::-1]:
                found //= self._sizes[other]
        return found

    def _add(self, gather: bool, size: int, places: dict[int, int], involved: tuple[bool, ...]) -> None:
        for dim, place in places.items():
            nodes = self._sizes[dim]
            if not involved[dim] or nodes == 1:
                continue
            share = float(nodes - 1) if gather else (nodes - 1) / nodes
            load, booked = self._loads[place]
            self._loads[place] = (load + size / _MEBI * share / self._relative[dim], booked)
            size = size * nodes if gather else size // nodes
