"""What a document says of a workload whatever its kind, and which kinds there are.

A design has one workload, whose section is of one of several *kinds*: training a transformer, serving one, a single
collective. The document knows of a kind how its section is spelled (`WorkloadForm`); what the simulator asks of it is
`simcore.workload.base.WorkloadKind`. Kinds are loaded when the first document is read, never when this module is
imported: so a kind, of the project or of an installed package, imports the design as it likes.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

from pydantic import BaseModel, GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema

from simcore import catalog
from simcore.document.field import Frozen, Precision
from simcore.document.named_files import Listed
from simcore.family import Family


class TokensNeeded(NamedTuple):
    """What a training needs at a batch."""

    tokens: float
    """Tokens, or samples, of the whole training."""
    batch: float
    """Tokens, or samples, of an iteration."""
    interval: tuple[float, float] | None = None
    """Between which `tokens` lie, where they depend on the batch."""
    why: str = ""
    """How they depend on the batch, and who says so."""


class Workload(Frozen):
    """Base of the sections of all kinds of workload."""

    if TYPE_CHECKING:
        # Every section has these, as fields or as properties; a property here would become the default of a field.

        @property
        def global_batch(self) -> int:
            """Sequences, samples or requests of an iteration, over all NPUs."""

        @property
        def precision(self) -> Precision:
            """What operators compute in."""

        @property
        def gradient_precision(self) -> Precision:
            """Precision of gradients, where the kind trains."""

    @property
    def computes(self) -> bool:
        """Whether there are operators that compute, in `precision`; else only the network works."""
        return True

    @property
    def measured_as(self) -> str:
        """The kind whose measured iterations have errors that hold for this one too; empty without any."""
        return ""

    @property
    def tokens_needed(self) -> TokensNeeded | None:
        """What a whole training takes at this batch, where the document says so."""
        return None

    @property
    def tokens_to_train(self) -> float | None:
        """Tokens that a whole training takes at this batch, where the document says so."""
        needed = self.tokens_needed
        return None if needed is None else needed.tokens

    def anchor(self) -> dict[str, float]:
        """Keys that tie `tokens_needed` to this batch, so that they hold at others too; none where it has them.

        A section without them is of one batch; whoever asks what another batch would do has to add them.
        """
        return {}

    def usual_microbatch(self, data: int, pipeline: int) -> int:
        """The microbatch where the document has none: all that an NPU of `data` gets, unless the kind has another."""
        return max(1, self.global_batch // max(1, data))

    def complete(self, document: dict[str, Any]) -> None:
        """Put what follows from other keys of the section into the canonical document of its design, in place."""

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """The section of a design, which must be of this class: `TransformerWorkload.of(design.workload)`.

        Raises `TypeError` for a section of another kind.
        """
        if not isinstance(workload, cls):
            raise TypeError(f"expected a {cls.__name__}, got a {type(workload).__name__}")
        return workload


class GivenWorkload(Workload):
    """Base of sections of one iteration in which nothing is computed in a precision of the NPU's."""

    @property
    def global_batch(self) -> int:
        """The iteration itself, which has no samples."""
        return 1

    @property
    def precision(self) -> Precision:
        """Unused: this workload computes nothing, or its times are given."""
        return "fp32"

    @property
    def gradient_precision(self) -> Precision:
        """Unused: sizes are given."""
        return "fp32"

    @property
    def computes(self) -> bool:
        """See `Workload.computes`."""
        return False

    def usual_microbatch(self, data: int, pipeline: int) -> int:
        """See `Workload.usual_microbatch`."""
        return 1


class WorkloadForm:
    """How documents spell a kind of workload; its name in `KINDS` is the kind's name.

    A section is of the kind that has one of its keys, else of the kind of its `model`: by the section of the catalogue
    that has the name, or by what a model that is spelled out looks like. What no kind claims trains a transformer.
    """

    section: type[Workload]
    """The section of the document."""
    keys: frozenset[str] = frozenset()
    """Keys of the section by which it is recognised."""
    catalogue: str | None = None
    """The section of the catalogue that has the kind's models."""
    rows: Mapping[str, type[BaseModel]] = {}
    """Keys of the section that may name a file of rows, each with what a row is."""
    files: Mapping[str, Listed] = {}
    """Keys of the section that name files which stay where they are (`simcore.document.named_files`), each with what
    lists the files of a name."""

    holds: bool = True
    """Whether the workload says what it holds in memory, so that a design of it fits or does not; what was recorded, or
    has given times, does not say it, nor is its time a prediction with an interval of errors."""

    def model_from(self, file: FilePath) -> tuple[dict[str, Any], tuple[str, ...]] | None:
        """The model that a configuration file of another program describes, and what that leaves out.

        The model is as a document spells it; None where the kind reads no such files.
        Raises `InputError` with everything that is wrong, `OSError` where the file cannot be read.
        """
        return None

    def describes(self, model: Mapping[str, Any]) -> bool:
        """Whether a model that is spelled out is one of this kind."""
        return False


USUAL = "transformer"
"""The kind of what no kind claims."""
KINDS: Family[WorkloadForm] = Family(
    "simcore.workloads",
    WorkloadForm,
    {
        USUAL: "simcore.workload.transformer.kind:KIND",
        "collective": "simcore.workload.collective.kind:KIND",
        "layers": "simcore.workload.layer_table.kind:KIND",
        "recommender": "simcore.workload.recommender.kind:KIND",
        "inference": "simcore.workload.serving.kind:KIND",
        "trace": "simcore.workload.trace.kind:KIND",
        "timed": "simcore.workload.timed.kind:KIND",
        "pruned": "simcore.workload.pruned.kind:KIND",
    },
)
"""The kinds of workload by name."""


def workload_tag(value: Any) -> str:
    """The name of the kind of a workload: of a document, or of a section that is read."""
    known = _tags().get(type(value))
    if known is not None:
        return known
    keys = value if isinstance(value, dict) else {}
    for name, form in _forms().items():
        if not form.keys.isdisjoint(keys):
            return name
    model = keys.get("model")
    if isinstance(model, str):
        return _tag_of_model(model)
    inside = model if isinstance(model, dict) else getattr(model, "__dict__", {})
    return next((name for name, form in _forms().items() if form.describes(inside)), USUAL)


def names_no_files(workload: Workload) -> bool:
    """Whether a section is all that there is of a workload: it names no files, which may change."""
    return not KINDS[workload_tag(workload)].files


@cache
def _forms() -> dict[str, WorkloadForm]:
    return dict(KINDS)


@cache
def _tags() -> dict[type, str]:
    return {form.section: name for name, form in KINDS.items()}


@cache
def _tag_of_model(name: str) -> str:
    """The kind of the model called `name`, or of the one that is most likely meant."""
    tags: dict[str, str] = {}
    for kind, form in KINDS.items():
        for known in catalog.section(form.catalogue) if form.catalogue else ():
            tags.setdefault(known, kind)
    meant = difflib.get_close_matches(name, tags, n=1)
    return tags.get(meant[0] if meant else name, USUAL)


class _OfAnyKind:
    """Reads a section as that of the kind that it is recognised as."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        sections = {name: handler.generate_schema(form.section) for name, form in KINDS.items()}
        return core_schema.tagged_union_schema(sections, workload_tag)


AnyWorkload = Annotated[Workload, _OfAnyKind()]
"""A workload of any kind, as a field of a model whose schema is built when it is first needed (`defer_build`)."""


def read_workload(value: Any) -> Workload:
    """The workload of a document's section.

    Raises pydantic's `ValidationError`.
    """
    return _reader().validate_python(value)


@cache
def _reader() -> TypeAdapter[Workload]:
    return TypeAdapter(AnyWorkload)
