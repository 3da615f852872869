"""Groups of nodes that may be joined as long as no path leaves a group and comes back.

Nodes are added from the last to the first. A group, or a node that is in none, is a vertex of a
graph without cycles; for each vertex a number holds, as bits, the places of all nodes that can be
reached from it. So whether two vertices can be joined is a question to their neighbours alone.
"""


class Groups:
    """Disjoint groups of nodes, each known by the place in the graph of the node added last."""

    def __init__(self, graph):
        self.order = {node: i for i, node in enumerate(graph.nodes)}
        self.of = {}  # node -> group
        self.members = {}  # group -> its nodes
        self._begun = 0  # the groups, as bits
        self._joined_to = {}  # vertex -> the one that it became part of
        self._places = {}  # vertex -> its nodes, as bits
        self._below = {}  # vertex -> all nodes that can be reached from it, as bits
        self._next, self._previous = {}, {}  # vertex -> its neighbours, maybe by former names

    def add(self, node):
        """A vertex of its own; all users are there."""
        vertex = self.order[node]
        self._places[vertex] = 1 << vertex
        self._previous[vertex] = set()
        self._next[vertex] = {self._vertex(self.order[user]) for user in node.users}
        below = 0
        for user in self._next[vertex]:
            below |= self._places[user] | self._below[user]
            self._previous[user].add(vertex)
        self._below[vertex] = below

    def start(self, node):
        """Makes the node that was added last a group."""
        group = self.order[node]
        self.of[node] = group
        self.members[group] = {node}
        self._begun |= 1 << group

    def within_reach(self, group):
        """The other groups, as bits, to which no path from this one leads over a third vertex."""
        far = 1 << group
        for vertex in self._neighbours(self._next, group):
            far |= self._below[vertex]
        return self._begun & ~far

    def can_join(self, first, second):
        """Whether no path leads from one to the other over a third vertex."""
        return not (self._leads_around(first, second) or self._leads_around(second, first))

    def join(self, first, second):
        """Makes the second group part of the first."""
        self._begun &= ~(1 << second)
        moved = self.members.pop(second)
        for node in moved:
            self.of[node] = first
        self.members[first] |= moved
        self._joined_to[second] = first
        self._places[first] |= self._places.pop(second)
        self._below[first] = (self._below[first] | self._below.pop(second)) & ~self._places[first]
        for neighbours in (self._next, self._previous):
            neighbours[first] |= neighbours.pop(second)
        self._tell_above(first)

    def _tell_above(self, vertex):
        """All that lead to a joined vertex lead to what can be reached from any part of it."""
        gained = self._places[vertex] | self._below[vertex]
        waiting = [vertex]
        while waiting:
            for above in self._neighbours(self._previous, waiting.pop()):
                if self._below[above] & gained != gained:
                    self._below[above] |= gained
                    waiting.append(above)

    def _leads_around(self, source, target):
        places = self._places[target]
        return any(
            self._below[vertex] & places
            for vertex in self._neighbours(self._next, source)
            if vertex != target
        )

    def _neighbours(self, table, vertex):
        """The neighbours by their present names; the table is set right on the way."""
        table[vertex] = {self._vertex(v) for v in table[vertex]} - {vertex}
        return table[vertex]

    def _vertex(self, name):
        while name in self._joined_to:
            name = self._joined_to[name]
        return name
