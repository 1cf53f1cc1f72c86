"""Edges between two neighbouring layers: which of them share a line, where they meet the boxes, and on which track."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tui.typeset.diagrams.graph import LineStyle, Mark
from tui.typeset.diagrams.placing import Item, ItemLink, spread

NEARLY = 2
"""Cells by which an edge may leave beside the middle of a box to be straight."""


@dataclass(slots=True, eq=False)
class Hop(ItemLink):
    """The part of an edge between two layers."""

    style: LineStyle = LineStyle.SOLID
    upper_mark: Mark = Mark.NONE
    lower_mark: Mark = Mark.NONE
    edge: int = -1
    """The number of its edge."""


@dataclass(slots=True, eq=False)
class Pin:
    """Where a net meets an item."""

    item: Item
    mark: Mark
    offset: int | None = None
    at: int = 0
    joined: Net | None = None
    """The net that continues here."""


@dataclass(slots=True, eq=False)
class Net:
    """Edges that share a line: all from one upper item or all to one lower item."""

    style: LineStyle
    uppers: list[Pin] = field(default_factory=list)
    lowers: list[Pin] = field(default_factory=list)
    track: int = -1

    @property
    def places(self) -> list[int]:
        return [pin.at for pin in (*self.uppers, *self.lowers)]

    @property
    def is_straight(self) -> bool:
        return len(set(self.places)) == 1

    @property
    def low(self) -> int:
        return min(self.places)

    @property
    def high(self) -> int:
        return max(self.places)


def nets_of(hops: Sequence[Hop], parted: set[int]) -> list[Net]:
    """Join edges of one look that leave or reach the same box, so that each net has one end on one side.

    ``parted`` has the edges that shared a line with others above: joined again, they would not be told apart.
    """
    parted -= {hop.edge for hop in hops if hop.upper.kind == "label"}
    parted |= {hop.edge for hop in hops if hop.upper.kind == "port" or hop.upper_offset is not None}
    upper_keys = [_key(hop.upper, hop.upper_offset, hop.style, hop.upper_mark) for hop in hops]
    lower_keys = [
        (number,) if hop.edge in parted else _key(hop.lower, hop.lower_offset, hop.style, hop.lower_mark)
        for number, hop in enumerate(hops)
    ]
    upper_counts, lower_counts = Counter(upper_keys), Counter(lower_keys)
    nets: dict[object, Net] = {}
    seen: set[object] = set()
    for number, hop in enumerate(hops):
        upper, lower = upper_keys[number], lower_keys[number]
        pair = (upper, _key(hop.lower, hop.lower_offset, hop.style, hop.lower_mark))
        by_upper = upper_counts[upper] >= lower_counts[lower]
        count = upper_counts[upper] if by_upper else lower_counts[lower]
        # Equal edges between the same boxes keep a line each.
        key: object = number if count == 1 or pair in seen else (by_upper, upper if by_upper else lower)
        seen.add(pair)
        net = nets.setdefault(key, Net(hop.style))
        if not (net.uppers and by_upper):
            net.uppers.append(Pin(hop.upper, hop.upper_mark, hop.upper_offset))
        if not (net.lowers and not by_upper):
            net.lowers.append(Pin(hop.lower, hop.lower_mark, hop.lower_offset))
        if by_upper and count > 1:
            parted.add(hop.edge)
    return list(nets.values())


def _key(item: Item, offset: int | None, style: LineStyle, mark: Mark) -> tuple[object, ...]:
    return (id(item), offset, style, mark)


def set_pins(nets: Sequence[Net], distance: int) -> None:
    """Choose where the nets meet the boxes: opposite their other end where possible."""
    sides: dict[tuple[int, bool], list[tuple[float, Pin]]] = {}
    fixed: dict[tuple[int, bool], set[int]] = {}
    for net in nets:
        for is_upper, pins, others in ((True, net.uppers, net.lowers), (False, net.lowers, net.uppers)):
            for pin in pins:
                pin.at = pin.item.at + (pin.offset or 0)
                side = (id(pin.item), is_upper)
                if pin.offset is not None:
                    fixed.setdefault(side, set()).add(pin.at)
                elif not pin.item.axis_only:
                    sides.setdefault(side, []).append((_wanted(pin, others), pin))
    for side, wanted in sides.items():
        wanted.sort(key=lambda entry: entry[0])
        pins = [pin for _, pin in wanted]
        for pin, place in zip(pins, _places(wanted, distance), strict=True):
            pin.at = place
        _avoid(pins, fixed.get(side, set()), beside_title=pins[0].item.title_below == side[1])


def _places(wanted: Sequence[tuple[float, Pin]], distance: int) -> list[int]:
    """Places within the side of a box, in the order of the wanted ones."""
    item = wanted[0][1].item
    count = len(wanted)
    step = distance if (count - 1) * distance <= item.high - item.low else 1
    places = spread([place for place, _ in wanted], [1.0] * count, [step] * (count - 1))
    for number, place in enumerate(places):
        places[number] = min(max(place, item.low + number * step), item.high - (count - 1 - number) * step)
    return places


def _avoid(pins: Sequence[Pin], taken: set[int], *, beside_title: bool) -> None:
    """Move pins away from where edges pass the frame of a group; lines without a mark would be hidden by its title."""
    for pin in pins:
        hidden = {pin.item.at + place for place in pin.item.title} if beside_title and not pin.mark else set[int]()
        if pin.at in taken | hidden:
            free = [place for place in range(pin.item.low, pin.item.high + 1) if place not in taken | hidden]
            apart = [place for place in free if place - 1 not in taken and place + 1 not in taken]
            wanted = pin.at
            pin.at = min(apart or free or [wanted], key=lambda place: abs(place - wanted))
        taken.add(pin.at)


def _wanted(pin: Pin, others: Sequence[Pin]) -> float:
    """The place opposite the other end; of several, the middle of the box is best."""
    item = pin.item
    if len(others) > 1:
        near = min((other.item.at for other in others), key=lambda at: abs(at - item.at))
        if abs(near - item.at) <= NEARLY and item.low <= near <= item.high:
            return float(near)
        middle = sum(other.item.at for other in others) / len(others)
        return float(item.at) + max(-0.4, min(0.4, (middle - item.at) / 1_000))
    other = others[0]
    if other.offset is not None or other.item.axis_only:
        return float(other.item.at + (other.offset or 0))
    low, high = max(item.low, other.item.low), min(item.high, other.item.high)
    if low > high:
        return float(other.item.at)
    narrow = item if item.high - item.low <= other.item.high - other.item.low else other.item
    return float(max(low, min(high, narrow.at)))


class _Span:
    """The places of a net, collected once."""

    __slots__ = ("high", "low", "lowers", "uppers")

    def __init__(self, net: Net) -> None:
        self.uppers = {pin.at for pin in net.uppers}
        self.lowers = {pin.at for pin in net.lowers}
        self.low, self.high = net.low, net.high

    def touches(self, other: _Span) -> bool:
        return self.low <= other.high and other.low <= self.high

    def cost_above(self, below: _Span) -> int:
        """Crossings if this net's track is above the other's."""
        found = sum(self.low <= place <= self.high for place in below.uppers)
        return found + sum(below.low <= place <= below.high for place in self.lowers)

    def gain(self, other: _Span) -> int:
        """How many crossings fewer there are if the other net's track is above this one's."""
        return self.cost_above(other) - other.cost_above(self) if self.touches(other) else 0


def set_tracks(nets: list[Net]) -> int:
    """Give every net that is not straight a track; returns the number of tracks. A net may become two."""
    spans = {net: _Span(net) for net in nets if not net.is_straight}
    order = _in_order(spans, {place for net in nets for place in net.places})
    nets[:] = [net for net in nets if net not in spans] + order
    for number, net in enumerate(order):
        span = spans[net]
        net.track = 1 + max((other.track for other in order[:number] if span.touches(spans[other])), default=-1)
    return 1 + max((net.track for net in order), default=-1)


def _in_order(spans: dict[Net, _Span], taken: set[int]) -> list[Net]:
    """The bent nets from the highest track to the lowest."""
    left = list(spans)
    # A net would cover the way of another one down to a shared place, if its track were above.
    above: dict[int, list[Net]] = {}
    for net in left:
        for place in spans[net].uppers:
            above.setdefault(place, []).append(net)
    blockers = {
        net: {other for place in spans[net].lowers for other in above.get(place, ()) if other is not net}
        for net in left
    }
    worse = {net: sum(spans[net].gain(spans[other]) for other in left if other is not net) for net in left}
    order: list[Net] = []
    while left:
        free = [net for net in left if not blockers[net]]
        if free:
            best = min(free, key=lambda net: (worse[net], spans[net].low))
        else:
            # Two nets change places: one of them takes a way around the other.
            best = min(left, key=lambda net: len(net.places))
            rest = _bent_twice(best, taken)
            left.append(rest)
            blockers[rest], worse[rest] = {*blockers[best], best}, 0
            spans[best], spans[rest] = _Span(best), _Span(rest)
        left.remove(best)
        order.append(best)
        for other in left:
            blockers[other].discard(best)
            worse[other] -= spans[other].gain(spans[best])
    return order


def _bent_twice(net: Net, taken: set[int]) -> Net:
    """Let a net end on a free place; returns a net that continues from there on a lower track."""
    middle = (net.low + net.high) // 2
    away = next(away for away in range(1, 100_000) if middle + away not in taken or middle - away not in taken)
    place = middle + away if middle + away not in taken else middle - away
    taken.add(place)
    rest = Net(net.style, [Pin(Item(), Mark.NONE, None, place, net)], net.lowers)
    net.lowers = [Pin(Item(), Mark.NONE, None, place, rest)]
    return rest
