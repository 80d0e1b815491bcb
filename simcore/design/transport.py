"""How messages travel as packets over the outermost dimension: queue pairs, switch buffers, pauses, marks, control.

Engine `packets` plays it. The others take one number from it, the share of the links' rate that collectives reach under
load (docs/roce.md). A name alone is the control: `transport: dcqcn`.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    field_serializer,
    field_validator,
    model_validator,
)

from simcore.document.field import Count, Flag, Frozen, Natural, Share
from simcore.document.form import format_value
from simcore.document.member import MemberOf
from simcore.document.problem import Refusal, suggest_nearest
from simcore.document.quantity import Size, Time, parse_quantity, write_quantity
from simcore.policy.control import CONTROLS, Control, Reached

Positive = Annotated[float, Field(strict=True, gt=0)]
PositiveSize = Annotated[Size, Field(gt=0)]
PositiveTime = Annotated[Time, Field(gt=0)]
_GIVEN = {"type": "object", "additionalProperties": {"anyOf": [{"type": "number"}, {"type": "string"}]}}


class Marks(Frozen):
    """Marking (ECN, RED): packets that leave a queue are marked, never below `low`, always above `high`."""

    low: Annotated[Size, Field(ge=0)]
    """The queue below which no packet is marked [B]."""
    high: Annotated[Size, Field(ge=0)]
    """The queue above which each packet is marked [B]; equal to `low`: a step."""
    most: Share = 1.0
    """The probability that is reached at `high`."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            low, high = write_quantity(self.low, "size"), write_quantity(self.high, "size")
            raise Refusal("'low' of at most 'high'", f"{low} and {high}", "exchange them")
        return self


class Transport(Frozen):
    """Packets of the outermost dimension: senders and switches."""

    control: Annotated[str, MemberOf(CONTROLS)] = "none"
    """Congestion control of the senders; `none`: line rate, and pauses."""
    parameters: Annotated[dict[str, float], WithJsonSchema(_GIVEN)] = Field(default_factory=dict)
    """Parameters of the control that are not its usual ones, with their units (docs/roce.md)."""
    mtu: Annotated[Size, Field(ge=64, le=65536)] = 1000.0
    """Bytes of a message in a full packet [B]."""
    header: Natural = 82
    """What each packet adds on the wire [B]: Ethernet 18, IPv4 20, UDP 8, BTH 12, ICRC 4, preamble and gap 20."""
    acknowledgement: Natural = 86
    """An acknowledgement on the wire [B]: the header and its AETH."""
    acknowledge_every: Count = 1
    """Packets that one acknowledgement speaks for; the last of a message, and what is out of order, at once."""
    seed: Natural = 0
    """Seed of the random marking of packets."""
    buffer: PositiveSize = 32e6
    """Memory that all ports of a switch share [B]."""
    pfc: Flag = True
    """Whether switches pause senders (priority flow control); else full buffers drop packets."""
    alpha: Positive = 0.125
    """Dynamic threshold: share of the free shared buffer that packets from one port may take before it is paused."""
    threshold: PositiveSize | None = None
    """Static threshold instead: bytes that packets from one port may take [B]."""
    reserve: Annotated[Size, Field(ge=0)] = 4096.0
    """Bytes that each port has to itself [B]."""
    resume_gap: Annotated[Size, Field(ge=0)] = 3072.0
    """How far below the threshold a port is resumed [B]."""
    marking: Marks | None = None
    """When packets are marked; unless given, what the control takes."""
    cnp_interval: PositiveTime = 50e-6
    """Least time between two congestion notifications to one sender [s]."""
    timeout: PositiveTime = 500e-6
    """After which a sender without acknowledgement begins again, where packets can be dropped [s]."""
    efficiency: Share | None = None
    """Share of the rate that collectives reach under load, for engines without packets; by the control unless given."""

    @field_validator("parameters", mode="before")
    @classmethod
    def _read_parameters(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict) or "control" not in info.data:
            return value
        control = CONTROLS[info.data["control"]]
        known = control.parameters(1.0, 1.0)
        for name in value:
            if name not in known:
                expected = f"a parameter of '{info.data['control']}'"
                raise Refusal(expected, f"'{name}'", suggest_nearest(str(name), known) or _list_names(known))
        return {name: _read_parameter(control, name, given) for name, given in value.items()}

    @field_serializer("parameters")
    def _write_parameters(self, value: dict[str, float]) -> dict[str, float | str]:
        kinds = CONTROLS[self.control].quantities
        return {name: write_quantity(v, kinds[name]) if name in kinds else v for name, v in value.items()}

    @property
    def payload(self) -> int:
        """Bytes of a message in a full packet."""
        return round(self.mtu)

    @property
    def reached(self) -> Reached:
        """Share of the links' rate that collectives reach under load: what headers leave of it, and the control."""
        if (given := self.efficiency) is not None:
            return Reached(given, given, given)
        payload = self.mtu / (self.mtu + self.header)
        point, low, high = CONTROLS[self.control].reached
        return Reached(point * payload, low * payload, high * payload)


def _list_names(known: dict[str, float]) -> str:
    return f"known: {', '.join(known)}" if known else "it has none"


def _read_parameter(control: Control, name: str, given: Any) -> float:
    """The SI value of a parameter; raises `Refusal` where it is none."""
    kind = control.quantities.get(name)
    if kind is not None and isinstance(given, str):
        value = parse_quantity(given, kind)
    elif kind is None and isinstance(given, int | float) and not isinstance(given, bool):
        value = float(given)
    else:
        raise Refusal(f"a {kind or 'number'} for '{name}'", format_value(given))
    if not 0 < value < math.inf:
        raise Refusal(f"a {kind or 'number'} above 0 for '{name}'", format_value(given))
    return value


def _read(value: Any) -> Any:
    return {"control": value} if isinstance(value, str) else value


def _write(value: Transport | None) -> Any:
    """Its control, and what is not usual of the rest."""
    if value is None:
        return None
    given = value.model_dump(mode="json", exclude_defaults=True)
    return {"control": value.control, **{key: entry for key, entry in given.items() if entry != {}}}


NamedTransport = Annotated[Transport | None, BeforeValidator(_read), PlainSerializer(_write)]
