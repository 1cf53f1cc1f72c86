"""One level of a graph: its boxes and groups in layers, and the edges between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tui.typeset.diagrams.boxes import Box, wrapped
from tui.typeset.diagrams.graph import DiagramError, Direction, Edge, LineStyle, Mark
from tui.typeset.diagrams.layers import LayerOrder, ranks
from tui.typeset.diagrams.loops import add_loops, loop_room
from tui.typeset.diagrams.picture import Axes, Frame, Label, Picture
from tui.typeset.diagrams.placing import Item, Placement
from tui.typeset.diagrams.routing import Hop, Net, Pin, nets_of, set_pins, set_tracks
from tui.typeset.drawing import Measure

POINTED = (Mark.NONE, Mark.ARROW, Mark.TRIANGLE)
"""Marks that show to which end of an edge they belong."""
TITLE_ROOM = 6
"""Columns of a frame besides its title."""
MOST_ITEMS = 2_500
"""Boxes, labels and places that edges pass."""
LABEL_COLUMNS = 24
"""Columns of the text on an edge."""


@dataclass(slots=True)
class LevelEdge:
    number: int
    edge: Edge
    upper: int
    lower: int
    is_back: bool
    """It is drawn from its target to its source."""


@dataclass(slots=True)
class Outlet:
    """An edge between something inside and something outside of a group."""

    number: int
    style: LineStyle
    mark: Mark
    item: int
    at_end: bool


@dataclass(slots=True)
class Child:
    """A box or a group; a box is made when the number of its edges is known."""

    make: Callable[[int], Child] | None = None
    box: Box | None = None
    picture: Picture | None = None
    loops: list[Edge] = field(default_factory=list)

    @property
    def size(self) -> tuple[int, int]:
        if self.picture is not None:
            return self.picture.width, self.picture.height
        assert self.box is not None
        return self.box.width, self.box.height


@dataclass(slots=True)
class _Channel:
    """The cells between two layers."""

    nets: list[Net]
    lead: int
    pitch: int
    depth: int
    start: int = 0

    def track(self, net: Net) -> int:
        return self.start + self.lead + self.pitch * net.track


class Level:
    """Lays out one level; places are along the edges (main) and across them (cross)."""

    def __init__(
        self,
        children: list[Child],
        edges: Sequence[LevelEdge],
        outlets: Sequence[Outlet],
        direction: Direction,
        measure: Measure,
    ) -> None:
        self._children = children
        self._edges = edges
        self._outlets = outlets
        self._direction = direction
        self._vertical = direction.is_vertical
        self._measure = measure
        self._items: list[Item] = []
        self._labels: dict[int, Label] = {}
        self._ports: list[tuple[int, Item]] = []
        self._ranks: dict[int, list[int]] = {}
        self._hops: list[Hop] = []
        self.columns = 0
        """Where a row of boxes without edges continues in the next one."""

    def picture(self, title: str | None) -> Picture:
        """The level; with a title, in a frame."""
        self._make_items()
        self._check_size()
        layers = [self._ranks[rank] for rank in sorted(self._ranks)]
        number = {item: index for index, item in enumerate(self._items)}
        links = [(number[hop.upper], number[hop.lower]) for hop in self._hops]
        order = LayerOrder(layers, links).arrange()
        places = [[self._items[index] for index in layer] for layer in order]
        between = self._hops_between(places)
        parted: set[int] = set()
        nets = [nets_of(hops, parted) for hops in between]
        self._make_boxes(nets)
        Placement(places, self._hops, self._gap).place()
        channels = [self._channel(nets[at], places[at], places[at + 1]) for at in range(len(nets))]
        depth = self._stack(places, channels, title)
        return self._emit(places, channels, depth, title)

    # Layers

    def _make_items(self) -> None:
        for index, child in enumerate(self._children):
            self._add(Item(kind="box" if child.picture is None else "group", index=index, axis_only=False))
        found = self._child_ranks()
        label_items: dict[int, tuple[Item, int]] = {}
        for place, edge in enumerate(self._edges):
            label = self._label(edge)
            if label is not None:
                upper, lower = 2 * found[edge.upper], 2 * found[edge.lower]
                item = Item(kind="label", index=place)
                self._labels[place] = label
                self._add(item)
                label_items[place] = (item, lower - 1 if edge.is_back else upper + 1)
        used = {2 * rank for rank in found} | {rank for _, rank in label_items.values()}
        last = 2 * max(found, default=0)
        used |= {last + 1 if outlet.at_end else -1 for outlet in self._outlets}
        self._ranks = {rank: [] for rank in sorted(used)}
        for index, rank in enumerate(found):
            self._ranks[2 * rank].append(index)
        for item, rank in label_items.values():
            self._ranks[rank].append(self._items.index(item))
        for place, edge in enumerate(self._edges):
            if edge.edge.style is not LineStyle.HIDDEN:
                self._chain_edge(edge, label_items.get(place), (2 * found[edge.upper], 2 * found[edge.lower]))
        for outlet in self._outlets:
            self._chain_outlet(outlet, 2 * found[outlet.item], last + 1 if outlet.at_end else -1)

    def _check_size(self) -> None:
        if len(self._items) > MOST_ITEMS:
            raise DiagramError("Too large to draw: too many edges pass too many layers.")

    def _child_ranks(self) -> list[int]:
        count = len(self._children)
        found = ranks(count, [(edge.upper, edge.lower, max(1, edge.edge.length)) for edge in self._edges])
        linked = {end for edge in self._edges for end in (edge.upper, edge.lower)}
        linked |= {outlet.item for outlet in self._outlets}
        alone = [index for index in range(count) if index not in linked]
        if not self._vertical or len(alone) < 2:
            return found
        # Boxes without edges fill rows.
        used, row = 0, 0
        for index in alone:
            child = self._children[index]
            made = child.make(0) if child.make is not None else child
            width = made.size[0] + 3
            if used and used + width > self.columns:
                used, row = 0, row + 1
            used += width
            found[index] = row
        return found

    def _add(self, item: Item) -> None:
        self._items.append(item)

    def _label(self, edge: LevelEdge) -> Label | None:
        texts = [edge.edge.tail_label, edge.edge.label, edge.edge.head_label]
        if edge.is_back:
            texts.reverse()
        parts = [wrapped(text, LABEL_COLUMNS, self._measure) for text in texts if text]
        if not parts or edge.edge.style is LineStyle.HIDDEN:
            return None
        return Label(parts, self._measure)

    def _chain_edge(self, edge: LevelEdge, label: tuple[Item, int] | None, span: tuple[int, int]) -> None:
        upper, lower = self._items[edge.upper], self._items[edge.lower]
        marks = (edge.edge.head, edge.edge.tail) if edge.is_back else (edge.edge.tail, edge.edge.head)
        stops: dict[int, Item] = {label[1]: label[0]} if label is not None else {}
        offsets = (self._offset(edge.upper, edge.number), self._offset(edge.lower, edge.number))
        # An edge that continues inside a group has its mark there.
        ends = tuple(mark if offset is None else Mark.NONE for mark, offset in zip(marks, offsets, strict=True))
        self._chain((upper, lower), offsets, span, stops, (edge.edge.style, ends[0], ends[1]), edge.number)

    def _chain_outlet(self, outlet: Outlet, rank: int, port_rank: int) -> None:
        port = Item(kind="port", index=outlet.number)
        self._add(port)
        self._ranks[port_rank].append(len(self._items) - 1)
        self._ports.append((outlet.number, port))
        item, offset = self._items[outlet.item], self._offset(outlet.item, outlet.number)
        if outlet.at_end:
            look = (outlet.style, outlet.mark if offset is None else Mark.NONE, Mark.NONE)
            self._chain((item, port), (offset, None), (rank, port_rank), {}, look, outlet.number)
        else:
            look = (outlet.style, Mark.NONE, outlet.mark if offset is None else Mark.NONE)
            self._chain((port, item), (None, offset), (port_rank, rank), {}, look, outlet.number)

    def _offset(self, child: int, edge: int) -> int | None:
        """The place on a group where an edge leaves it, from the group's axis."""
        picture = self._children[child].picture
        if picture is None or edge not in picture.ports:
            return None
        breadth = picture.width if self._vertical else picture.height
        return picture.ports[edge] - breadth // 2

    def _chain(
        self,
        ends: tuple[Item, Item],
        offsets: tuple[int | None, int | None],
        span: tuple[int, int],
        stops: dict[int, Item],
        look: tuple[LineStyle, Mark, Mark],
        edge: int,
    ) -> None:
        """Add the hops of an edge, through all layers between its ends."""
        style, upper_mark, lower_mark = look
        row = [ends[0]]
        for rank in self._ranks:
            if span[0] < rank < span[1]:
                stop = stops.get(rank)
                if stop is None:
                    stop = Item(kind="pass")
                    self._add(stop)
                    self._ranks[rank].append(len(self._items) - 1)
                row.append(stop)
        row.append(ends[1])
        for at in range(len(row) - 1):
            first, last = at == 0, at == len(row) - 2
            self._hops.append(
                Hop(
                    row[at],
                    row[at + 1],
                    offsets[0] if first else None,
                    offsets[1] if last else None,
                    style,
                    upper_mark if first else Mark.NONE,
                    lower_mark if last else Mark.NONE,
                    edge,
                )
            )

    def _hops_between(self, places: list[list[Item]]) -> list[list[Hop]]:
        layer_of = {item: number for number, layer in enumerate(places) for item in layer}
        found: list[list[Hop]] = [[] for _ in range(len(places) - 1)]
        for hop in self._hops:
            found[layer_of[hop.upper]].append(hop)
        return found

    # Sizes

    def _make_boxes(self, nets: list[list[Net]]) -> None:
        pins: dict[tuple[Item, bool], int] = {}
        for net in (net for channel in nets for net in channel):
            for is_upper, side in ((True, net.uppers), (False, net.lowers)):
                for pin in side:
                    pins[pin.item, is_upper] = pins.get((pin.item, is_upper), 0) + 1
        for item in self._items:
            if item.kind in ("box", "group"):
                count = max(pins.get((item, True), 0), pins.get((item, False), 0))
                self._measure_child(item, count)
            elif item.kind == "label":
                breadth, item.depth = self._labels[item.index].size(vertical=self._vertical)
                item.before = breadth // 2 if self._vertical else (breadth - 1) // 2
                item.after = breadth - 1 - item.before

    def _measure_child(self, item: Item, pins: int) -> None:
        child = self._children[item.index]
        if child.make is not None:
            child = self._children[item.index] = child.make(pins)
        width, height = child.size
        margin = 0
        if child.loops and child.box is not None:
            more, margin = loop_room(child.loops, self._measure, vertical=self._vertical)
            if not self._vertical:
                child.box.width = width = max(width, more)
        breadth, item.depth = (width, height) if self._vertical else (height, width)
        item.before = breadth // 2 if child.picture is not None else (breadth - 1) // 2
        if child.picture is not None:
            self._note_title(item, child.picture)
            breadth += self._widened(child.picture, breadth, pins + len(item.title))
        item.after = breadth - 1 - item.before
        item.margin = margin
        item.axis_only = breadth < 3

    def _note_title(self, item: Item, picture: Picture) -> None:
        frame = picture.frames[0]
        if self._vertical and frame.title:
            first = frame.title_x - item.before
            item.title = range(first, first + self._measure(frame.title) + 2)
            item.title_below = self._direction.is_backward

    def _widened(self, picture: Picture, breadth: int, places: int) -> int:
        """Let a frame grow until it has a place for every edge; returns by how many cells it grew."""
        lack = max(0, places + 2 - breadth)
        if self._vertical:
            picture.width += lack
            picture.frames[0].width += lack
        else:
            picture.height += lack
            picture.frames[0].height += lack
        return lack

    def _gap(self, first: Item, second: Item) -> int:
        if not self._vertical:
            return 1
        kinds = {first.kind, second.kind}
        return 1 if kinds <= {"pass", "port"} else 2 if kinds & {"pass", "port", "label"} else 3

    def _channel(self, nets: list[Net], uppers: list[Item], lowers: list[Item]) -> _Channel:
        set_pins(nets, 2 if self._vertical else 1)
        tracks = set_tracks(nets)
        up = any(pin.mark for net in nets for pin in net.uppers)
        down = any(pin.mark for net in nets for pin in net.lowers)
        above, below = {item.kind for item in uppers}, {item.kind for item in lowers}
        real = {"box", "group"}
        apart = bool((above - {"port"} and below & real) or (above & below & {"label"}))
        if self._vertical:
            # A cell of the line itself shows its style, and to which of two boxes a round mark belongs.
            plain = all(net.style is LineStyle.SOLID for net in nets)
            pointed = all(pin.mark in POINTED for net in nets for pin in (*net.uppers, *net.lowers))
            dotted = any(net.style is LineStyle.DOTTED for net in nets)
            shown = max(tracks + dotted, int(not (plain and pointed)))
            return _Channel(nets, int(up), 1, max(int(up) + shown + int(down), int(apart)))
        lead, tail = (2 if up else 1), (2 if down else 1)
        return _Channel(nets, lead, 2, max(lead + max(0, 2 * tracks - 1) + tail, 3 if apart else 0))

    def _stack(self, places: list[list[Item]], channels: list[_Channel], title: str | None) -> int:
        """Set the places along the edges; returns the depth of everything."""
        pad = (1 if self._vertical else 2) if title is not None else 0
        depths = [max(item.depth for item in layer) for layer in places]
        first, last = 0 if self._has_ports(end=False) else pad, 0 if self._has_ports(end=True) else pad
        total = first + sum(depths) + sum(channel.depth for channel in channels) + last
        lack = 0 if self._vertical or not title else self._measure(title) + TITLE_ROOM - total
        if lack > 0 and self._has_ports(end=True):
            channels[-1].depth += lack
        elif lack > 0:
            last += lack
        at = first
        for number, layer in enumerate(places):
            for item in layer:
                if item.kind == "pass":
                    item.depth = depths[number]
                item.start = at + (depths[number] - item.depth) // 2
            at += depths[number]
            if number < len(channels):
                channels[number].start = at
                at += channels[number].depth
        return at + last

    def _has_ports(self, *, end: bool) -> bool:
        return any(outlet.at_end == end for outlet in self._outlets)

    # Drawing

    def _emit(self, places: list[list[Item]], channels: list[_Channel], depth: int, title: str | None) -> Picture:
        axes = Axes(self._direction, depth)
        found = Picture()
        for layer in places:
            for item in layer:
                self._emit_item(found, axes, item)
        for hop in self._hops:
            if hop.upper.kind == "pass" and hop.upper.depth > 1:
                self._emit_pass(found, axes, hop)
        for channel in channels:
            for net in channel.nets:
                self._emit_net(found, axes, channel, net)
        ends = [item.at + item.after + item.margin for layer in places for item in layer]
        ends += [place for channel in channels for net in channel.nets for place in net.places]
        breadth = 1 + max(ends, default=0)
        found.width, found.height = (breadth, depth) if self._vertical else (depth, breadth)
        for number, port in self._ports:
            found.ports[number] = port.at
        return found if title is None else self._framed(found, title)

    def _emit_item(self, found: Picture, axes: Axes, item: Item) -> None:
        x, y = axes.corner(item.start, item.at - item.before, item.depth)
        if item.kind == "box":
            child = self._children[item.index]
            assert child.box is not None
            found.boxes.append((x, y, child.box))
            add_loops(found, child.box, (x, y), child.loops, self._measure)
        elif item.kind == "group":
            picture = self._children[item.index].picture
            assert picture is not None
            found.include(picture, x, y)
        elif item.kind == "label":
            label = self._labels[item.index]
            found.texts += label.texts(axes, item.start, item.at)
            style = self._edges[item.index].edge.style
            for gap in label.gaps(vertical=self._vertical):
                ends = [axes.point(item.start + gap + side, item.at) for side in (-1, 1)]
                found.lines.append((ends, style))

    def _emit_pass(self, found: Picture, axes: Axes, hop: Hop) -> None:
        item = hop.upper
        ends = [axes.point(item.start, item.at), axes.point(item.start + item.depth - 1, item.at)]
        found.lines.append((ends, hop.style))

    def _emit_net(self, found: Picture, axes: Axes, channel: _Channel, net: Net) -> None:
        ends = [self._end_of(found, axes, channel, pin, up=True) for pin in net.uppers]
        ends += [self._end_of(found, axes, channel, pin, up=False) for pin in net.lowers]
        if net.is_straight:
            found.lines.append(([axes.point(ends[0], net.low), axes.point(ends[-1], net.low)], net.style))
            return
        track = channel.track(net)
        found.lines.append(([axes.point(track, net.low), axes.point(track, net.high)], net.style))
        for pin, end in zip((*net.uppers, *net.lowers), ends, strict=True):
            if pin.joined is None or pin in net.uppers:
                found.lines.append(([axes.point(end, pin.at), axes.point(track, pin.at)], net.style))

    def _end_of(self, found: Picture, axes: Axes, channel: _Channel, pin: Pin, *, up: bool) -> int:
        """The cell where the line of a pin ends; its mark is drawn there."""
        if pin.joined is not None:
            return channel.track(pin.joined)
        end = pin.item.start + pin.item.depth - 1 if up else pin.item.start
        if pin.mark:
            end += 1 if up else -1
            found.texts.append((*axes.point(end, pin.at), axes.mark(pin.mark, up=up), "arrow"))
        return end

    def _framed(self, inner: Picture, title: str) -> Picture:
        """Put a frame around everything; edges pass it where they did before."""
        pad = 2 if self._vertical else 1
        dx, dy = (pad, 0) if self._vertical else (0, pad)
        found = Picture(inner.width + 2 * dx, inner.height + 2 * dy)
        found.include(inner, dx, dy)
        found.ports = {number: place + pad for number, place in inner.ports.items()}
        width, at = self._title_place(title, found)
        found.width = width
        found.frames.insert(0, Frame(0, 0, found.width, found.height, title, at))
        return found

    def _title_place(self, title: str, found: Picture) -> tuple[int, int]:
        """The width of the frame, and where no edge passes through its title."""
        room = self._measure(title) + 2
        at_top = {outlet.number for outlet in self._outlets if outlet.at_end == self._direction.is_backward}
        taken = [found.ports[number] for number in at_top] if self._vertical else []
        for at in range(2, found.width - room - 1):
            if not any(at - 1 <= place <= at + room for place in taken):
                return found.width, at
        at = max([1, *taken]) + 1
        return max(found.width, at + room + 2), at
