"""Takes arguments apart as a known spec says, where flattening would follow the values instead.

A dict may hold its keys in another order than when the graph was traced; the spec's order counts.
"""

from collections import OrderedDict, defaultdict, namedtuple

from taeda.utils._pytree import SUPPORTED_NODES, LeafSpec

SUPPORTED_STRUCTURES = {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """`flatten_fn_spec(value, spec)` gives the children of a container of class `cls`."""
    SUPPORTED_STRUCTURES[cls] = flatten_fn_spec


def tree_flatten_spec(pytree, spec):
    """The leaves of `pytree`, one for each leaf of `spec`."""
    if isinstance(spec, LeafSpec):
        return [pytree]
    take_apart = SUPPORTED_STRUCTURES.get(spec.type)
    if take_apart is None:
        # A class may have been a container while the spec was made only.
        node = SUPPORTED_NODES.get(spec.type, spec._node)
        if node is None:
            raise RuntimeError(
                f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please "
                "register one with torch.fx._pytree.register_pytree_flatten_spec."
            )
        children = node.flatten_fn(pytree)[0]
    else:
        children = take_apart(pytree, spec)
    return [
        leaf
        for child, child_spec in zip(children, spec.children_specs)
        for leaf in tree_flatten_spec(child, child_spec)
    ]


def _by_position(values, spec):
    return [values[i] for i in range(spec.num_children)]


register_pytree_flatten_spec(dict, lambda d, spec: [d[key] for key in spec.context])
register_pytree_flatten_spec(OrderedDict, lambda d, spec: [d[key] for key in spec.context])
register_pytree_flatten_spec(defaultdict, lambda d, spec: [d[key] for key in spec.context[1]])
register_pytree_flatten_spec(list, _by_position)
register_pytree_flatten_spec(tuple, _by_position)
register_pytree_flatten_spec(namedtuple, _by_position)
