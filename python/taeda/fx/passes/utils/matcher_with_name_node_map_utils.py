"""A matcher whose patterns name the nodes that the caller wants to find."""

from taeda.fx.passes.utils.matcher_utils import SubgraphMatcher

__all__ = ["SubgraphMatcherWithNameNodeMap"]


def _split_names(module):
    """Takes the dict of names off the pattern's results; returns it."""
    output = module.graph.output_node()
    *results, names = output.args[0]
    if not isinstance(names, dict):
        raise AssertionError(
            "Expecting the graph to have the last output to be a dict from names to nodes"
        )
    output.args = (tuple(results),)
    module.graph.eliminate_dead_code()
    module.recompile()
    return dict(names)


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """Takes a graph module that returns its results and, last, a dict of names.

    `name_node_map` of a match leads from these names to the nodes that were found.
    """

    def __init__(
        self,
        pattern_gm,
        match_output=False,
        match_placeholder=False,
        remove_overlapping_matches=True,
        ignore_literals=False,
    ):
        self.name_node_map = _split_names(pattern_gm)
        self.pattern_gm = pattern_gm
        super().__init__(
            pattern_gm.graph,
            match_output,
            match_placeholder,
            remove_overlapping_matches,
            ignore_literals,
        )

    def match(self, graph, node_name_match=""):
        found = super().match(graph, node_name_match)
        for match in found:
            match.name_node_map = {
                name: match.nodes_map[node] for name, node in self.name_node_map.items()
            }
        return found
