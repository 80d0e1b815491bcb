"""Queues and rates over time: looks at chosen ports and queue pairs at regular intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcore.engine.packets import layout as at
from simcore.engine.packets.play import Played
from simcore.policy.control import base
from simcore.system.chunks import PICOSECONDS

Series = NDArray[np.float64]


@dataclass
class Sampler:
    """A `watch` of `play`."""

    ports: Sequence[int]
    """Links by number (`Fabric.ports`)."""
    pairs: Sequence[int] = ()
    """Queue pairs by number (`Tables.flows`)."""
    _times: list[int] = field(default_factory=list)
    _ports: list[NDArray[np.int64]] = field(default_factory=list)
    _arrived: list[NDArray[np.int64]] = field(default_factory=list)
    _rates: list[Series] = field(default_factory=list)

    def __call__(self, played: Played) -> None:
        """Look."""
        w = played.tables.w
        self._times.append(played.now)
        self._ports.append(w[at.LINKS][list(self.ports)][:, [at.QUEUED, at.SENT_BYTES, at.PAUSED]])
        self._arrived.append(w[at.FLOWS][list(self.pairs), at.ARRIVED])
        self._rates.append(played.tables.f[at.TABLE][list(self.pairs), base.RATE])

    @property
    def seconds(self) -> Series:
        """When it looked, `[samples]`."""
        return np.array(self._times) / PICOSECONDS

    @property
    def queues(self) -> Series:
        """Bytes that waited, `[samples, ports]`."""
        return np.array([rows[:, 0] for rows in self._ports], float)

    @property
    def paused(self) -> NDArray[np.bool_]:
        """Whether each port was paused, `[samples, ports]`."""
        return np.array([rows[:, 2] for rows in self._ports]) > 0

    @property
    def port_rates(self) -> Series:
        """What each port sent since the sample before [B/s], `[samples, ports]`."""
        return self._per_second([rows[:, 1] for rows in self._ports])

    @property
    def pair_rates(self) -> Series:
        """What of each pair arrived since the sample before, without headers [B/s], `[samples, pairs]`."""
        return self._per_second(self._arrived)

    @property
    def allowed(self) -> Series:
        """Rate at which its control lets each pair send [B/s], `[samples, pairs]`."""
        return np.array(self._rates)

    def _per_second(self, counted: list[NDArray[np.int64]]) -> Series:
        before = np.concatenate([np.zeros((1, len(counted[0]))), counted[:-1]])
        passed = np.diff(self.seconds, prepend=0.0)
        rates: Series = (np.array(counted) - before) / passed[:, None]
        return rates
