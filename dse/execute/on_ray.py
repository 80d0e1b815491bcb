"""On a Ray cluster: a pool whose workers are Ray actors."""

from __future__ import annotations

from dse.evaluate.evaluate import Evaluate
from dse.execute.pool import Pool
from dse.execute.ray_cluster import check_address, check_installed, connect
from dse.execute.where import Where


def ray_pool(evaluator: Evaluate, where: Where) -> Pool:
    """A pool on the cluster that `where` names; in a process that is connected already, on that one.

    Raises `InputError` where Ray is missing or the address is none, `ClusterError` where it cannot be reached.
    """
    check_installed()
    address = check_address(where.cluster)
    import ray

    from dse.execute.ray_workers import RayWorkers

    connected = ray.is_initialized()
    own = False if connected else connect(address, where.jobs, _modules(evaluator))
    workers = RayWorkers(evaluator, own, disconnect=not connected)
    return Pool(evaluator, workers, where.jobs, where.design_timeout, where.start_timeout)


def _modules(evaluator: Evaluate) -> list[str]:
    """Modules that the engine comes from, where it is not built in."""
    engine = evaluator.engine
    name = engine.partition(":")[0] if isinstance(engine, str) and ":" in engine else getattr(engine, "__module__", "")
    return [name.partition(".")[0]] if name and name != "__main__" else []
