"""Workers as Ray actors: one process each, one CPU each, wherever the cluster has room.

Actors, not tasks: a hung design can be told from one that waits for a CPU, and ended. They are never restarted by Ray,
which takes 20 s to notice that a node is gone; the pool asks for a new one at once. Ray says what is done by callbacks:
to ask it (`ray.wait`) takes longer the more there is that is not.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from dse.evaluate.evaluate import Evaluate
from dse.execute.ray_worker import ProcessBuild, RayWorker, describe_process
from dse.execute.workers import Event, WorkerAnswer, WorkerGone, WorkerReady, Workers, WorkersUnfit


class RayWorkers(Workers):
    """Workers on the cluster that this process is connected to."""

    def __init__(self, evaluator: Evaluate, own: bool, disconnect: bool = True) -> None:
        import ray

        self._ray: Any = ray
        self._own, self._disconnect = own, disconnect
        self._evaluator = ray.put(evaluator)
        self._actor: Any = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(RayWorker)
        self._actors: dict[int, Any] = {}
        self._nodes: dict[int, str] = {}
        self._calls: dict[int, deque[tuple[int | None, Any]]] = {}
        """Worker -> call and future of what it has to answer, in order; no call while it starts."""
        self._heard: SimpleQueue[int] = SimpleQueue()
        """Workers one of whose futures is done."""
        self._made = describe_process()
        self._started = 0

    def start(self) -> int:
        """See `Workers.start`."""
        self._started += 1
        actor = self._actor.remote(self._evaluator)
        self._actors[self._started] = actor
        self._calls[self._started] = deque()
        self._await(self._started, None, actor.describe_process.remote())
        return self._started

    def send(self, worker: int, call: int, documents: Sequence[Mapping[str, Any]]) -> None:
        """See `Workers.send`."""
        self._await(worker, call, self._actors[worker].evaluate.remote(documents))

    def _await(self, worker: int, call: int | None, reference: Any) -> None:
        future = reference.future()
        self._calls[worker].append((call, future))
        future.add_done_callback(lambda _: self._heard.put(worker))

    def events(self, seconds: float) -> list[Event]:
        """See `Workers.events`. An answer that overtakes another one of its worker waits for it."""
        found: list[Event] = []
        with contextlib.suppress(Empty):
            worker = self._heard.get(timeout=max(seconds, 1e-6))
            while True:
                while (calls := self._calls.get(worker)) and calls[0][1].done():  # a death takes all that it had
                    found.append(self._event(worker, *calls.popleft()))
                worker = self._heard.get_nowait()
        return found

    def _event(self, worker: int, call: int | None, future: Any) -> Event:
        errors = self._ray.exceptions
        try:
            value = future.result()
        except errors.RuntimeEnvSetupError as error:
            return WorkersUnfit(worker, f"the cluster cannot set up a worker's environment: {_last_line(error)}")
        except errors.RayTaskError as error:
            # The evaluator turns what a design raises into an outcome: this is the worker itself.
            return WorkersUnfit(worker, f"a worker on the cluster cannot evaluate designs: {_last_line(error)}")
        except errors.RayError as error:
            return self._gone_event(worker, call, error)
        if call is not None:
            return WorkerAnswer(worker, call, *value)
        return self._ready_event(worker, value)

    def _ready_event(self, worker: int, there: ProcessBuild) -> Event:
        different = self._made.differences(there)
        if different:
            return WorkersUnfit(worker, f"the cluster runs something else: {'; '.join(different)}")
        self._nodes[worker] = there.node
        return WorkerReady(worker, there.node)

    def _gone_event(self, worker: int, call: int | None, error: Exception) -> Event:
        said = " ".join(str(error).split())
        if call is None and ("ModuleNotFoundError" in said or "ImportError" in said or "creation task" in said):
            return WorkersUnfit(worker, f"a worker on the cluster cannot start: {_last_line(error)}")
        node = self._nodes.pop(worker, None)
        del self._actors[worker], self._calls[worker]
        lost = node is not None and node not in self._live_nodes()
        reason = "its machine left the cluster" if lost else f"its worker process died ({_cause(said)})"
        return WorkerGone(worker, reason, blameless=lost or "node died" in said.lower())

    def _live_nodes(self) -> set[str]:
        return {node["NodeID"] for node in self._ray.nodes() if node["Alive"]}

    def stop(self, worker: int) -> None:
        """See `Workers.stop`."""
        self._nodes.pop(worker, None)
        del self._calls[worker]
        self._ray.kill(self._actors.pop(worker), no_restart=True)

    def room(self) -> int:
        """See `Workers.room`: the cluster's CPUs, whoever uses them."""
        return int(self._ray.cluster_resources().get("CPU", 0))

    def nodes(self) -> int:
        """See `Workers.nodes`."""
        return len(self._live_nodes())

    def shortage(self) -> str:
        """See `Workers.shortage`."""
        free = self._ray.available_resources().get("CPU", 0)
        return (
            f"the cluster has {self.room()} CPUs on {self.nodes()} nodes, {free:g} of them free; "
            "end what uses them, add nodes, or wait longer with --start-timeout"
        )

    def close(self) -> None:
        """See `Workers.close`."""
        for worker in list(self._actors):
            self.stop(worker)
        if self._own or self._disconnect:
            self._ray.shutdown()


def _last_line(error: Exception) -> str:
    """The last line of an error that came from afar: the rest is a trace of Ray's own."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__


def _cause(said: str) -> str:
    """What Ray knows of a death, without its addresses and ids, which would differ from run to run."""
    text = said.lower()
    if "memory" in text and "oom" in text:
        return "out of memory"
    if "segfault" in text or "sigsegv" in text:
        return "segmentation fault"
    return "killed, crashed, or ended by the design"
