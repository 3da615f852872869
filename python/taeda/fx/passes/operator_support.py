"""Which nodes a backend takes: rules, and ways to put them together."""

import abc

from taeda.fx.passes.shape_prop import TensorMetadata
from taeda.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = [
    "OpSupports",
    "OperatorSupport",
    "OperatorSupportBase",
    "any_chain",
    "chain",
    "create_op_support",
]


class OperatorSupportBase(abc.ABC):
    """A rule: whether a node is supported."""

    @abc.abstractmethod
    def is_node_supported(self, submodules, node):
        """`submodules` holds the modules that call_module nodes name."""
        raise NotImplementedError


class OperatorSupport(OperatorSupportBase):
    """Supported are the targets in a dict, with dtypes for their arguments where they are given.

    A value is None for any dtypes, or a pair: lists of allowed dtypes for the positional arguments,
    and a dict of them for keyword arguments.
    """

    def __init__(self, support_dict=None):
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules, node):
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        dtypes = self._support_dict[target]
        if dtypes is None:
            return True
        args, kwargs = dtypes
        for i, allowed in enumerate(args):
            if i < len(node.args) and not _is_allowed(node.args[i], allowed):
                return False
        return all(
            _is_allowed(node.kwargs[name], allowed)
            for name, allowed in kwargs.items()
            if name in node.kwargs
        )


def _dtype_of(value):
    meta = getattr(value, "meta", None) or {}
    described = meta.get("tensor_meta")
    return described.dtype if isinstance(described, TensorMetadata) else None


def _is_allowed(value, allowed):
    dtype = _dtype_of(value)
    return dtype is None or not allowed or dtype in allowed


class _Rule(OperatorSupportBase):
    def __init__(self, rule):
        self._rule = rule

    def is_node_supported(self, submodules, node):
        return self._rule(submodules, node)


def create_op_support(is_node_supported):
    """A rule from a function of (submodules, node)."""
    return _Rule(is_node_supported)


def chain(*op_support):
    """Supported is what all rules support."""
    return _Rule(lambda submods, node: all(r.is_node_supported(submods, node) for r in op_support))


def any_chain(*op_support):
    """Supported is what some rule supports."""
    return _Rule(lambda submods, node: any(r.is_node_supported(submods, node) for r in op_support))


class OpSupports:
    """Rules that are often used."""

    @classmethod
    def decline_if_input_dtype(cls, dtype):
        """Nodes with an input of this dtype are not supported; needs ShapeProp."""

        def is_supported(submodules, node):
            return all(_dtype_of(arg) != dtype for arg in node.all_input_nodes)

        return create_op_support(is_supported)

    @classmethod
    def decline_if_node_in_names(cls, disallow_set):
        """Nodes with these names are not supported."""
        return create_op_support(lambda submodules, node: node.name not in disallow_set)
