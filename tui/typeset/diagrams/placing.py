"""Where the items of each layer are across the direction of the edges: straight edges, no overlaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

ROUNDS = 6


@dataclass(slots=True, eq=False)
class Item:
    """A box, a group, a label or the place where an edge passes a layer."""

    before: int = 0
    """Cells before its axis."""
    after: int = 0
    depth: int = 1
    """Cells in the direction of the edges."""
    axis_only: bool = True
    """Edges meet it only on its axis."""
    margin: int = 0
    """Cells after it that belong to it, but which edges do not meet: a loop."""
    at: int = 0
    """Its axis."""
    start: int = 0
    """Its first cell in the direction of the edges."""
    title: range = range(0)
    """The places of a title in its frame, from the axis, which edges leave free."""
    title_below: bool = False
    """Whether the title is on the side of the edges that leave it downwards."""
    kind: str = "pass"
    """box, group, label, pass or port."""
    index: int = -1

    @property
    def low(self) -> int:
        """The first place where an edge may meet it."""
        return self.at if self.axis_only else self.at - self.before + 1

    @property
    def high(self) -> int:
        return self.at if self.axis_only else self.at + self.after - 1


@dataclass(slots=True, eq=False)
class ItemLink:
    """Two items of neighbouring layers with an edge between them."""

    upper: Item
    lower: Item
    upper_offset: int | None = None
    """The fixed place on a group, from its axis."""
    lower_offset: int | None = None

    @property
    def weight(self) -> int:
        return 1 + (self.upper.axis_only + self.lower.axis_only) * 2


Gap = Callable[[Item, Item], int]


def spread(wanted: Sequence[float], weights: Sequence[float], distances: Sequence[int]) -> list[int]:
    """Places as near as possible to the wanted ones, each at least a distance after the one before it."""
    offsets = [0]
    for distance in distances:
        offsets.append(offsets[-1] + distance)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, members
    for place, weight, offset in zip(wanted, weights, offsets, strict=True):
        mean, total, members = place - offset, weight, 1
        while blocks and blocks[-1][0] >= mean:
            before, more, count = blocks.pop()
            mean = (before * more + mean * total) / (more + total)
            total, members = more + total, members + count
        blocks.append((mean, total, members))
    means = [mean for mean, _, members in blocks for _ in range(members)]
    return [round(mean) + offset for mean, offset in zip(means, offsets, strict=True)]


class Placement:
    """Moves the items of the layers, in their order, to where their neighbours are."""

    def __init__(self, layers: Sequence[Sequence[Item]], links: Sequence[ItemLink], gap: Gap) -> None:
        self._layers = layers
        self._distances = [
            [a.after + a.margin + gap(a, b) + b.before + 1 for a, b in pairwise(layer)] for layer in layers
        ]
        self._above: dict[Item, list[ItemLink]] = {item: [] for layer in layers for item in layer}
        self._below: dict[Item, list[ItemLink]] = {item: [] for layer in layers for item in layer}
        for link in links:
            self._below[link.upper].append(link)
            self._above[link.lower].append(link)

        self._up = {item: _pulls(self._above[item], upper=True) for item in self._above}
        self._down = {item: _pulls(self._below[item], upper=False) for item in self._below}

    def place(self) -> None:
        """Set the axis position of every item; the smallest cell in use becomes 0."""
        for number, layer in enumerate(self._layers):
            places = spread([0.0] * len(layer), [1.0] * len(layer), self._distances[number])
            for item, place in zip(layer, places, strict=True):
                item.at = place
        for _ in range(ROUNDS):
            self._pull(range(1, len(self._layers)), use_above=True, use_below=False)
            self._pull(range(len(self._layers) - 2, -1, -1), use_above=False, use_below=True)
        self._pull(range(len(self._layers)), use_above=True, use_below=True)
        for _ in range(ROUNDS):
            if not self._straighten():
                break
        self._close_ranks()
        least = min((item.at - item.before for layer in self._layers for item in layer), default=0)
        for layer in self._layers:
            for item in layer:
                item.at -= least

    def _pull(self, order: Sequence[int], *, use_above: bool, use_below: bool) -> None:
        for number in order:
            layer = self._layers[number]
            wanted: list[float] = []
            weights: list[float] = []
            for item in layer:
                pulls = (self._up[item] if use_above else []) + (self._down[item] if use_below else [])
                places = sorted([other.at + offset for other, offset in pulls])
                wanted.append(_middle(places) if places else float(item.at))
                weights.append(float(max(1, len(places))) if places else 0.1)
            for item, place in zip(layer, spread(wanted, weights, self._distances[number]), strict=True):
                item.at = place

    def _straighten(self) -> bool:
        """Move each item within its room to where most of its edges are straight."""
        changed = False
        for layer, distances in zip(self._layers, self._distances, strict=True):
            for number, item in enumerate(layer):
                low = layer[number - 1].at + distances[number - 1] if number else item.at - 10_000
                high = layer[number + 1].at - distances[number] if number + 1 < len(layer) else item.at + 10_000
                best = self._best(item, low, high)
                if best != item.at:
                    item.at = best
                    changed = True
        return changed

    def _best(self, item: Item, low: int, high: int) -> int:
        wishes: dict[int, int] = {}
        current = 0
        for place, weight in self._wishes(item):
            if low <= place <= high:
                wishes[place] = wishes.get(place, 0) + weight
            if place == item.at:
                current += weight
        best = max(wishes, key=lambda place: (wishes[place], -abs(place - item.at)), default=item.at)
        return best if wishes.get(best, 0) > current else item.at

    def _wishes(self, item: Item) -> list[tuple[int, int]]:
        """Places where an edge would be straight, with its weight; not where a box has several edges side by side."""
        above, below = self._above[item], self._below[item]
        found = [
            (_opposite(link, upper=True), link.weight)
            for link in above
            if _alone(self._below[link.upper], link.upper_offset) and _alone(above, link.lower_offset)
        ]
        found += [
            (_opposite(link, upper=False), link.weight)
            for link in below
            if _alone(self._above[link.lower], link.lower_offset) and _alone(below, link.upper_offset)
        ]
        return found

    def _close_ranks(self) -> None:
        """Move parts that no edge connects next to each other."""
        part_of = self._parts()
        members: dict[int, list[Item]] = {}
        for layer in self._layers:
            for item in layer:
                members.setdefault(part_of[item], []).append(item)
        done: set[int] = set()
        for part in sorted(members, key=lambda part: min(item.at - item.before for item in members[part])):
            room: list[int] = []
            for layer, distances in zip(self._layers, self._distances, strict=True):
                for number, item in enumerate(layer):
                    if part_of[item] != part:
                        continue
                    if number and part_of[layer[number - 1]] != part:
                        room.append(item.at - layer[number - 1].at - distances[number - 1])
                    elif not number and done:
                        room.append(item.at - item.before)
            done.add(part)
            shift = max(0, min(room, default=0))
            for item in members[part]:
                item.at -= shift

    def _parts(self) -> dict[Item, int]:
        found: dict[Item, int] = {}
        for layer in self._layers:
            for root in layer:
                stack = [root] if root not in found else []
                while stack:
                    item = stack.pop()
                    if item in found:
                        continue
                    found[item] = found.get(root, len(found))
                    stack += [link.upper for link in self._above[item]]
                    stack += [link.lower for link in self._below[item]]
        return found


def _alone(links: Sequence[ItemLink], offset: int | None) -> bool:
    return len(links) == 1 or offset is not None


def _opposite(link: ItemLink, *, upper: bool) -> int:
    """The place of an item opposite the other end of a link, which is the upper or the lower one."""
    if upper:
        return link.upper.at + (link.upper_offset or 0) - (link.lower_offset or 0)
    return link.lower.at + (link.lower_offset or 0) - (link.upper_offset or 0)


def _pulls(links: Sequence[ItemLink], *, upper: bool) -> list[tuple[Item, int]]:
    """The items at the other ends, each as often as the weight of its link, and how far beside them is straight."""
    found: list[tuple[Item, int]] = []
    for link in links:
        offset = (link.upper_offset or 0) - (link.lower_offset or 0)
        found += [(link.upper, offset) if upper else (link.lower, -offset)] * link.weight
    return found


def _middle(places: Sequence[int]) -> float:
    half = len(places) // 2
    return float(places[half]) if len(places) % 2 else (places[half - 1] + places[half]) / 2
