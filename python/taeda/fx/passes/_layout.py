"""Places boxes in layers from inputs to outputs, and leads the arrows between them.

An arrow over several layers passes each of them at a place of its own, so that it runs beside the
boxes there, not behind them. Arrows from one box share these places as far as they go together.
"""

_CHAR, _LINE, _GAP_X, _GAP_Y, _PAD = 7.3, 15, 26, 44, 8
_SWEEPS = 8
# Beyond this many passages arrows go straight: a picture of that size is searched, not looked at.
_MAX_PASSAGES = 20_000


class Layout:
    """`places`: (x, y, width, height) of each box by name; `routes`: the points of each edge."""

    def __init__(self, graph):
        self._graph = graph
        self._level = _levels(graph)
        self._layers = [[] for _ in range(max(self._level.values(), default=-1) + 1)]
        for name, level in self._level.items():
            self._layers[level].append(name)
        self._above, self._below = {}, {}
        self._chains = [self._chain(source, target) for source, target in graph.edges]
        self._order()
        self._x = self._columns()
        self.places, self.routes = {}, []
        self._fill()

    # ---- passages ----
    def _chain(self, source, target):
        """Source, passages, target: each in the layer below the one before."""
        first, last = self._level[source] + 1, self._level[target]
        is_long = last - first > _MAX_PASSAGES // max(1, len(self._graph.edges))
        chain = [source]
        for level in () if is_long else range(first, last):
            passage = (source, level)
            if passage not in self._below:
                self._layers[level].append(passage)
                self._link(chain[-1], passage)
            chain.append(passage)
        chain.append(target)
        self._link(chain[-2], target)
        return chain

    def _link(self, upper, lower):
        self._below.setdefault(upper, []).append(lower)
        self._above.setdefault(lower, []).append(upper)
        self._below.setdefault(lower, [])

    # ---- order within the layers ----
    def _order(self):
        """Neighbours stand where their own neighbours do, so that few arrows cross."""
        for sweep in range(_SWEEPS):
            is_down = sweep % 2 == 0
            neighbours = self._above if is_down else self._below
            rank = {n: i for layer in self._layers for i, n in enumerate(layer)}
            for layer in self._layers if is_down else reversed(self._layers):

                def middle(name, rank=rank, neighbours=neighbours):
                    known = neighbours.get(name)
                    return sum(map(rank.get, known)) / len(known) if known else rank[name]

                layer.sort(key=middle)
                rank.update({n: i for i, n in enumerate(layer)})

    # ---- x ----
    def _columns(self):
        """The middle of everything, by turns below what is above it and above what is below."""
        x = {}
        for layer in self._layers:
            x.update(zip(layer, _spread([0.0] * len(layer), self._widths(layer))))
        for sweep in range(_SWEEPS):
            is_down = sweep % 2 == 0
            neighbours = self._above if is_down else self._below
            for layer in self._layers if is_down else reversed(self._layers):
                wanted = []
                for name in layer:
                    known = neighbours.get(name)
                    wanted.append(sum(map(x.get, known)) / len(known) if known else x[name])
                x.update(zip(layer, _spread(wanted, self._widths(layer))))
        return x

    def _widths(self, layer):
        return [self._size(name)[0] for name in layer]

    def _size(self, name):
        if isinstance(name, tuple):
            return 0, 0
        lines = self._graph.nodes[name][0]
        return max(map(len, lines)) * _CHAR + 2 * _PAD, len(lines) * _LINE + 2 * _PAD

    # ---- boxes and arrows ----
    def _fill(self):
        left = min((self._x[n] - self._size(n)[0] / 2 for n in self._x), default=0) - _PAD
        tops, bottoms, y = [], [], _PAD
        for layer in self._layers:
            height = max(self._size(n)[1] for n in layer)
            tops.append(y)
            bottoms.append(y + height)
            for name in layer:
                self._x[name] -= left
                if not isinstance(name, tuple):
                    width, own = self._size(name)
                    self.places[name] = (self._x[name] - width / 2, y, width, own)
            y += height + _GAP_Y
        for chain in self._chains:
            self.routes.append(self._route(chain, tops, bottoms))

    def _route(self, chain, tops, bottoms):
        """(x, y) pairs, by turns the begin and the end of a vertical line through a layer."""
        source, target = chain[0], chain[-1]
        _, y, _, height = self.places[source]
        points = [(self._x[source], y + height), (self._x[source], bottoms[self._level[source]])]
        for passage in chain[1:-1]:
            level, x = passage[1], self._x[passage]
            points += [(x, tops[level]), (x, bottoms[level])]
        return [*points, (self._x[target], self.places[target][1])]


def _levels(graph):
    """The layer of each box: below all it gets arrows from; what gets none, just above its use."""
    inputs = {name: [] for name in graph.nodes}
    outputs = {name: [] for name in graph.nodes}
    for source, target in graph.edges:
        inputs[target].append(source)
        outputs[source].append(target)
    level = {}
    for name in graph.nodes:  # in the order of the graph, so inputs come first
        level[name] = max((level[i] + 1 for i in inputs[name] if i in level), default=0)
    for name in graph.nodes:
        if not inputs[name] and outputs[name]:
            level[name] = max(0, min(level[o] for o in outputs[name]) - 1)
    return level


def _spread(wanted, widths):
    """The positions nearest to the wanted ones at which boxes of these widths do not overlap.

    Least squares under the condition that each stands right of the one before: boxes that would
    overlap form a block, which stands at the mean of what its boxes want.
    """
    offsets, offset = [], 0.0
    for i, width in enumerate(widths):
        offset += (widths[i - 1] + width) / 2 + _GAP_X if i else 0.0
        offsets.append(offset)
    blocks = []  # [sum, count] of wanted places less offsets
    for place, offset in zip(wanted, offsets):
        blocks.append([place - offset, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    starts = [total / count for total, count in blocks for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets)]
