"""The call of a function of a graph, as one node: regions that are called more than once."""

__all__ = ["invoke_subgraph"]


def invoke_subgraph(subgraph, identifier, *operands):
    """Calls a module of a graph. The identifier is PyTorch's and may be None."""
    return subgraph(*operands)
