"""Which box is in which layer, and in which order: ranks along the edges, then few crossings."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

Link = tuple[int, int]
"""From one item to another, by number."""
SWEEPS = 8
"""Passes over the layers; more rarely remove another crossing."""
SWEEPS_WITHOUT_GAIN = 3
"""Passes without an improvement after which ordering ends."""
MOST_TO_EXCHANGE = 60
"""Items of a layer up to which neighbours are exchanged one by one."""


def backward_links(count: int, links: Sequence[Link]) -> set[int]:
    """The numbers of the links that close a circle, found from the first item on."""
    outgoing: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for number, (source, target) in enumerate(links):
        outgoing[source].append((number, target))
    state = bytearray(count)
    found: set[int] = set()
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(outgoing[root]))]
        while stack:
            item, following = stack[-1]
            step = next(following, None)
            if step is None:
                state[item] = 2
                stack.pop()
                continue
            number, target = step
            if state[target] == 1:
                found.add(number)
            elif not state[target]:
                state[target] = 1
                stack.append((target, iter(outgoing[target])))
    return found


def ranks(count: int, links: Sequence[tuple[int, int, int]]) -> list[int]:
    """The layer of each item; links lead down and have a least length."""
    incoming: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    outgoing: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for upper, lower, length in links:
        outgoing[upper].append((lower, length))
        incoming[lower].append((upper, length))
    waiting = [len(sources) for sources in incoming]
    order = [item for item in range(count) if not waiting[item]]
    found = [0] * count
    for item in order:
        for lower, length in outgoing[item]:
            found[lower] = max(found[lower], found[item] + length)
            waiting[lower] -= 1
            if not waiting[lower]:
                order.append(lower)
    # Items with more edges below than above are moved down, so that these edges are short.
    for item in reversed(order):
        if len(outgoing[item]) > len(incoming[item]):
            found[item] = min(found[lower] - length for lower, length in outgoing[item])
    lowest = min(found, default=0)
    return [rank - lowest for rank in found]


class LayerOrder:
    """The order of items in layers; links lead from each layer to the next one."""

    def __init__(self, layers: list[list[int]], links: Sequence[Link]) -> None:
        self.layers = layers
        self._above: dict[int, list[int]] = {item: [] for layer in layers for item in layer}
        self._below: dict[int, list[int]] = {item: [] for layer in layers for item in layer}
        for upper, lower in links:
            self._below[upper].append(lower)
            self._above[lower].append(upper)
        self._place: dict[int, int] = {}

    def arrange(self) -> list[list[int]]:
        """Reduce crossings; returns the layers."""
        self._follow_links()
        best, fewest, idle = [list(layer) for layer in self.layers], self._crossings(), 0
        for sweep in range(SWEEPS):
            if not fewest or idle >= SWEEPS_WITHOUT_GAIN:
                break
            self._sweep(down=sweep % 2 == 0)
            self._exchange()
            crossings = self._crossings()
            idle += 1
            if crossings < fewest:
                best, fewest, idle = [list(layer) for layer in self.layers], crossings, 0
        self.layers = best
        return best

    def _follow_links(self) -> None:
        """The order in which a walk down the links meets the items."""
        met: dict[int, int] = {}
        for layer in self.layers:
            for root in layer:
                stack = [root] if root not in met else []
                while stack:
                    item = stack.pop()
                    if item not in met:
                        met[item] = len(met)
                        stack.extend(reversed(self._below[item]))
        for layer in self.layers:
            layer.sort(key=met.__getitem__)
        self._note_places()

    def _note_places(self) -> None:
        self._place = {item: place for layer in self.layers for place, item in enumerate(layer)}

    def _sweep(self, *, down: bool) -> None:
        near = self._above if down else self._below
        for layer in self.layers if down else reversed(self.layers):
            wanted = {}
            for place, item in enumerate(layer):
                places = [self._place[other] for other in near[item]]
                wanted[item] = sum(places) / len(places) if places else float(place)
            layer.sort(key=wanted.__getitem__)
            for place, item in enumerate(layer):
                self._place[item] = place

    def _exchange(self) -> None:
        for layer in self.layers:
            if len(layer) > MOST_TO_EXCHANGE:
                continue
            for at in range(len(layer) - 1):
                left, right = layer[at], layer[at + 1]
                if self._pair(left, right) > self._pair(right, left):
                    layer[at], layer[at + 1] = right, left
                    self._place[left], self._place[right] = at + 1, at

    def _pair(self, left: int, right: int) -> int:
        """Crossings between the links of two neighbours in this order."""
        found = 0
        for near in (self._above, self._below):
            rights = sorted(self._place[other] for other in near[right])
            found += sum(bisect_left(rights, self._place[other]) for other in near[left])
        return found

    def _crossings(self) -> int:
        found = 0
        for layer in self.layers:
            ends: list[int] = []
            for item in layer:
                places = sorted(self._place[other] for other in self._below[item])
                for place in places:
                    found += len(ends) - bisect_left(ends, place + 1)
                for place in places:
                    insort(ends, place)
        return found
