"""Workers without processes or time: what happens is drawn, so that hundreds of histories can be tried in a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from dse.evaluate.evaluate import Outcome
from dse.execute.workers import Event, WorkerAnswer, WorkerGone, WorkerReady, Workers, WorkersUnfit


def outcome(document: Mapping[str, Any]) -> Outcome:
    return Outcome(str(document["n"]), "feasible", {"time": float(document["n"])}, {}, dict(document))


class Judge:
    """Stands for the evaluator."""

    def failure_outcome(self, document: Mapping[str, Any], text: str) -> Outcome:
        return Outcome(str(document["n"]), "failed", {}, {}, dict(document), error=text)


class MockWorkers(Workers):
    """Answers, dies, loses nodes and gains them as `random` says; documents with `crash` kill whoever tries them."""

    def __init__(
        self, random: Random, nodes: int = 3, deaths: float = 0.0, losses: float = 0.0, seconds: float = 0.001
    ) -> None:
        self.random, self.deaths, self.losses, self.seconds = random, deaths, losses, seconds
        self.cluster = {f"node{n}" for n in range(nodes)}
        self.made = nodes
        self.place: dict[int, str | None] = {}
        self.calls: dict[int, list[tuple[int, Sequence[Mapping[str, Any]]]]] = {}
        self.evaluated: list[int] = []
        self.tries: dict[int, list[tuple[int, str | None, int]]] = {}
        self.largest = self.flying = 0
        self.closed = self.never = self.unfit = False

    def start(self) -> int:
        worker = len(self.place) + 1
        self.place[worker], self.calls[worker] = None, []
        return worker

    def send(self, worker: int, call: int, documents: Sequence[Mapping[str, Any]]) -> None:
        assert self.place[worker] is not None
        self.calls[worker].append((call, documents))
        for document in documents:
            self.tries.setdefault(document["n"], []).append((worker, self.place[worker], len(documents)))
        self.flying = max(self.flying, sum(len(d) for calls in self.calls.values() for _, d in calls))
        self.largest = max(self.largest, len(documents))

    def events(self, seconds: float) -> list[Event]:
        found: list[Event] = []
        if self.never:
            return found
        for worker in list(self.calls):
            found += self._of(worker)
        if self.random.random() < self.losses and len(self.cluster) > 1:
            found += self._lose(self.random.choice(sorted(self.cluster)))
            self.made += 1
            self.cluster.add(f"node{self.made}")
        return found

    def _of(self, worker: int) -> list[Event]:
        if self.unfit:
            return [WorkersUnfit(worker, "other files there")]
        if self.place[worker] is None:
            if self.random.random() < 0.5:
                self.place[worker] = self.random.choice(sorted(self.cluster))
                return [WorkerReady(worker, str(self.place[worker]))]
            return []
        if not self.calls[worker] or self.random.random() < 0.4:
            return []
        call, documents = self.calls[worker][0]
        if any(document.get("hang") for document in documents):
            return []
        if any(document.get("crash") for document in documents) or self.random.random() < self.deaths:
            del self.calls[worker]
            return [WorkerGone(worker, "its worker process died (by lot)")]
        self.calls[worker].pop(0)
        self.evaluated += [document["n"] for document in documents]
        return [
            WorkerAnswer(worker, call, [outcome(document) for document in documents], self.seconds * len(documents))
        ]

    def _lose(self, node: str) -> list[Event]:
        self.cluster.remove(node)
        gone = [worker for worker in self.calls if self.place[worker] == node]
        for worker in gone:
            del self.calls[worker]
        return [WorkerGone(worker, "its machine left the cluster", blameless=True) for worker in gone]

    def stop(self, worker: int) -> None:
        del self.calls[worker]

    def room(self) -> int:
        return 2 * len(self.cluster)

    def nodes(self) -> int:
        return len(self.cluster)

    def shortage(self) -> str:
        return "all 4 CPUs are in use"

    def close(self) -> None:
        self.closed = True
