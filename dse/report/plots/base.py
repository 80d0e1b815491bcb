"""A kind of picture: `dse plot KIND RUN…`. What it takes out of runs and designs, and how it draws that.

`collect` finds the numbers, `draw` makes a figure of nothing but these, and `numbers` gives them for `--json`. So what
is drawn can be tested without looking at pixels, and two pictures of the same numbers are the same to the byte.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from simcore.document.problem import InputError, Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dse.whatif.subject import Subject

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may ask of a picture; a kind says which of these it takes (`Plot.takes`)."""

    trial: tuple[str, ...] = ()
    """Designs of a run: numbers of trials, `knee`, `robust`, `best:METRIC`."""
    x: str | None = None
    """Key along the x axis, such as `parallelism.tensor`."""
    y: str | None = None
    value: str | None = None
    """Metric that colours show."""
    fill: int = 0
    """Most designs to simulate for cells that no trial fell into."""
    npus: tuple[int, ...] = ()
    """Sizes of the cluster."""
    mode: Literal["weak", "strong"] | None = None
    """How the global batch goes with the NPUs."""


class Plot(ABC, Generic[T]):
    """A kind of picture. Members hold no state; `T` is what a picture is drawn from, a dataclass of plain values."""

    about: ClassVar[str]
    """What it shows, in a line."""
    takes: ClassVar[frozenset[str]] = frozenset()
    """The fields of `Options` that it heeds; any other is refused."""
    most: ClassVar[int] = 8
    """Runs that it can show at once."""
    designs: ClassVar[bool] = False
    """Whether a design document may stand in place of a run."""
    bounds: ClassVar[bool] = False
    """Whether it shows what is proven of the space, which takes time to find."""

    @abstractmethod
    def collect(self, subjects: Sequence[Subject], options: Options) -> T:
        """What to draw. Raises `InputError` where the runs have no such thing, with what to do about it."""

    @abstractmethod
    def draw(self, data: T) -> Figure:
        """The figure."""

    def numbers(self, data: T) -> dict[str, Any]:
        """What is drawn, for JSON: SI units, by name."""
        return asdict(data)  # type: ignore[call-overload,no-any-return]


def check_request(name: str, kind: Plot[Any], subjects: Sequence[Subject], options: Options) -> None:
    """Raise `InputError` with everything that a kind cannot show."""
    problems = [
        Problem((f"--{field.name}",), f"an option of '{name}' ({_listed(kind)})", f"--{field.name}")
        for field in fields(options)
        if getattr(options, field.name) != field.default and field.name not in kind.takes
    ]
    if len(subjects) > kind.most:
        found = f"{len(subjects)}"
        problems.append(Problem(("RUN",), f"at most {kind.most} for '{name}'", found))
    for subject in subjects:
        if subject.record is None and not kind.designs:
            fix = f"'{name}' shows what a search came to: dse optimize SPACE --out RUN"
            problems.append(Problem(("RUN",), "a run folder", f"the design document '{subject.name}'", fix))
    if problems:
        raise InputError(problems, "command line")


def _listed(kind: Plot[Any]) -> str:
    return ", ".join(f"--{name}" for name in sorted(kind.takes)) or "it has none"
