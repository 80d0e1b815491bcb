"""The weeks of a job, event by event: what `simcore.reliability.goodput` says in closed form, without its algebra.

The job works, stops for checkpoints that become safe while it goes on, fails, waits for a node where none is spare, and
restarts. Failures come at exponential times, and none while it waits; of those that take a node each is repaired on its
own. Progress is what the newest safe checkpoint holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import simpy

from simcore.reliability.goodput import Interruptions, interval

Repairs = Callable[[np.random.Generator, float], float]
"""Draws how long a repair takes, from its mean [s]."""

MOST = 32
"""Batches of which the standard error is taken."""


def exponential_repair(generator: np.random.Generator, mean: float) -> float:
    """A repair that is as likely to end soon however long it has taken [s]."""
    return float(generator.exponential(mean))


@dataclass
class Spent:
    """Where the time of a job went [s], and how often what happened."""

    lasting: float = 0.0
    """Work that a safe checkpoint holds."""
    lost: float = 0.0
    """Work that was done in vain, or is not safe yet."""
    stalled: float = 0.0
    """Stopped by checkpoints."""
    restarting: float = 0.0
    waiting: float = 0.0
    """For a node."""
    failures: int = 0
    checkpoints: int = 0

    @property
    def total(self) -> float:
        """All the time [s]."""
        return self.lasting + self.lost + self.stalled + self.restarting + self.waiting


@dataclass(frozen=True, slots=True)
class Played:
    """What a job came to."""

    spent: Spent
    goodput: float
    error: float
    """Its standard error, of the means of batches."""


@dataclass
class _Job:
    """The processes of one job, and what it has come to."""

    env: simpy.Environment
    what: Interruptions
    work: float
    generator: np.random.Generator
    repairs: Repairs
    spent: Spent = field(default_factory=Spent)
    missing: int = 0
    """Nodes in repair."""
    _doing: str = "working"
    _since: float = 0.0
    _unsafe: float = 0.0
    """Work that no safe checkpoint holds [s]."""
    _begun: int = 0
    """How often the job has begun: a checkpoint of an earlier time is no more."""
    _returned: simpy.Event | None = None

    def begin(self) -> None:
        """Start the job and what makes it fail."""
        trainer = self.env.process(self._train())
        if self.what.failures:
            self.env.process(self._fail(trainer))

    def close(self) -> None:
        """Count what has gone since the last change, at the end of a stretch of time."""
        self._now(self._doing)

    def _now(self, doing: str) -> None:
        """The job does something else from now on."""
        passed, self._since = self.env.now - self._since, self.env.now
        if self._doing == "working":
            self._unsafe += passed
            self.spent.lost += passed  # until it is safe
        else:
            setattr(self.spent, self._doing, getattr(self.spent, self._doing) + passed)
        self._doing = doing

    def _train(self) -> Generator[simpy.Event, Any, None]:
        while True:
            with suppress(simpy.Interrupt):
                yield from self._work()
            while not (yield from self._restart()):
                pass

    def _work(self) -> Generator[simpy.Event, Any, None]:
        """Work and checkpoints, until a failure."""
        while True:
            self._now("working")
            yield self.env.timeout(self.work)
            self._now("stalled")
            held = self._unsafe
            yield self.env.timeout(self.what.stall)
            self.spent.checkpoints += 1
            if self.what.write:
                self._save_later(held)
            else:
                self._save(held)

    def _save_later(self, held: float) -> None:
        begun = self._begun
        written = self.env.timeout(self.what.write)
        assert written.callbacks is not None
        written.callbacks.append(lambda _: self._save(held) if begun == self._begun else None)

    def _save(self, held: float) -> None:
        """A checkpoint of so much work is safe."""
        self.spent.lasting += held
        self.spent.lost -= held
        self._unsafe -= held

    def _restart(self) -> Generator[simpy.Event, Any, bool]:
        """Wait for a node and start again; whether that went without a failure."""
        self._begun += 1
        self._unsafe = 0.0
        try:
            while self.what.spares is not None and self.missing > self.what.spares:
                self._now("waiting")
                self._returned = self.env.event()
                yield self._returned
            self._returned = None
            self._now("restarting")
            yield self.env.timeout(self.what.restart)
        except simpy.Interrupt:
            return False
        return True

    def _fail(self, trainer: simpy.Process) -> Generator[simpy.Event, Any, None]:
        hardware = self.what.repairs / self.what.failures
        while True:
            yield self.env.timeout(self.generator.exponential(1.0 / self.what.failures))
            if self._doing == "waiting":
                continue
            self._now(self._doing)
            self.spent.failures += 1
            if self.generator.random() < hardware:
                self.missing += 1
                self.env.process(self._repair())
            trainer.interrupt()

    def _repair(self) -> Generator[simpy.Event, Any, None]:
        yield self.env.timeout(self.repairs(self.generator, self.what.repair))
        self.missing -= 1
        if self._returned is not None and not self._returned.triggered:
            self._returned.succeed()


def _make_job(what: Interruptions, iteration: float, seed: int, repairs: Repairs, settle: bool) -> _Job:
    """A job that has begun; where it is to settle, after so many repairs that nothing is left of the beginning."""
    env = simpy.Environment()
    job = _Job(env, what, float(interval(what, iteration)), np.random.default_rng(seed), repairs)
    job.begin()
    if settle:
        env.run(until=5.0 * max(what.repair, 1.0 / what.failures))
        job.close()
        job.spent = Spent()
    return job


def play(
    what: Interruptions,
    iteration: float,
    seconds: float,
    seed: int = 0,
    repairs: Repairs = exponential_repair,
    on_batch: Callable[[float], None] = lambda done: None,
) -> Played:
    """The first `seconds` of a job on a cluster with all its nodes; `on_batch` is told which share is played."""
    job = _make_job(what, iteration, seed, repairs, settle=False)
    each, ends = seconds / MOST, []
    for batch in range(1, MOST + 1):
        job.env.run(until=batch * each)
        job.close()
        ends.append(job.spent.lasting)
        on_batch(batch / MOST)
    return _played(job, each, np.diff([0.0, *ends]))


def play_until(
    what: Interruptions, iteration: float, error: float, seed: int = 0, repairs: Repairs = exponential_repair
) -> Played:
    """A settled job, played until the standard error of its goodput is at most `error` of it.

    Batches are joined by twos, and so are twice as long, until then: they must be long beside what they have in common.
    """
    job = _make_job(what, iteration, seed, repairs, settle=True)
    each = 20.0 * max(1.0 / what.failures, what.repair if what.repairs else 0.0)
    gains: list[float] = []
    while True:
        while len(gains) < MOST:
            before = job.spent.lasting
            job.env.run(until=job.env.now + each)
            job.close()
            gains.append(job.spent.lasting - before)
        played = _played(job, each, np.array(gains))
        if played.error <= error * played.goodput:
            return played
        gains = [one + other for one, other in zip(gains[::2], gains[1::2], strict=True)]
        each *= 2.0


def _played(job: _Job, each: float, gains: np.ndarray[Any, np.dtype[np.float64]]) -> Played:
    """What a job came to in batches of a length [s], of which each brought so much lasting work [s]."""
    shares = gains / each
    return Played(job.spent, float(shares.mean()), float(shares.std(ddof=1) / math.sqrt(len(shares))))


FACTORS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
"""Intervals that are tried, over the one that a job has."""


def play_intervals(
    what: Interruptions, iteration: float, seconds: float, seed: int, on_batch: Callable[[float], None]
) -> list[tuple[float, Played]]:
    """Work between checkpoints [s], and what the job comes to, for intervals around its own; the same failures each."""
    own = float(interval(what, iteration))
    wanted = dict.fromkeys(float(interval(replace(what, interval=own * factor), iteration)) for factor in FACTORS)
    found = []
    for number, each in enumerate(wanted):
        tell = partial(_tell_share, on_batch, number, len(wanted))
        found.append((each, play(replace(what, interval=each), iteration, seconds, seed, on_batch=tell)))
    return found


def _tell_share(on_batch: Callable[[float], None], number: int, count: int, done: float) -> None:
    on_batch((number + done) / count)
