"""Kernels compiled ahead: on a new machine a process of its own compiles the largest while this one begins.

That is the engine for designs whose groups share links, which a search meets sooner or later; it is twice as much code
as all the rest. The process plays the smallest such design, so that what is on the disk then is just what a search
asks for. Whoever needs a kernel before it is there waits for it (`simcore.kernels.compiling`). With one core there is
nothing to gain, and a search that uses no engine with compiled kernels asks for none.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from dse.execute.leash import end_with_input
from dse.execute.where import cores

ENGINES = ("auto", "flow")
"""Engines that play designs whose groups share links."""
SHARING: dict[str, Any] = {
    "workload": {
        "model": {"hidden": 64, "layers": 2, "heads": 2, "vocabulary": 64, "sequence_length": 16},
        "global_batch": 4,
    },
    "parallelism": {"pipeline": 2, "data": 2},
    "cluster": {
        "npu": {
            "peak": {"fp16": "1 TFLOP/s", "fp32": "1 TFLOP/s"},
            "memory": {"capacity": "1 GB", "bandwidth": "1 TB/s"},
            "power": {"max": "1 W", "idle": "0 W"},
            "price": "1 $",
        },
        "dimensions": [{"topology": "ring", "size": 4, "bandwidth": "1 GB/s", "latency": "1 us"}],
    },
}
"""The smallest design whose groups share links; its NPU has no kernels of its own, which the search compiles."""


@contextlib.contextmanager
def compiled_ahead(engine: str) -> Iterator[None]:
    """Compiles beside what is done inside, where the engine may need it and the disk has none of this version."""
    if engine not in ENGINES or cores() < 2 or not sys.executable or is_compiled():
        yield
        return
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # what goes wrong in it goes wrong here, too, and is said then
        start_new_session=True,
    )
    try:
        yield
    finally:
        process.kill()
        process.communicate()


def is_compiled() -> bool:
    """Whether the disk has the machine code of that engine."""
    from simcore.compiled import is_ready  # brings numba
    from simcore.engine.flow.loop import play_all

    return is_ready(play_all)


def main() -> None:
    """Compile: the work of the process."""
    end_with_input()
    from simcore import simulate
    from simcore.check.load import design_from

    simulate(design_from(SHARING), engine="flow")


if __name__ == "__main__":
    main()
