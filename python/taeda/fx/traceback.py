"""Stack traces and annotations of nodes: kept through rewrites, added for a scope.

What a scope says holds for its thread, as tracing does.
"""

import contextlib
import enum
import functools
import threading
import traceback

__all__ = [
    "NodeSource",
    "NodeSourceAction",
    "annotate",
    "annotate_fn",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]


class NodeSourceAction(enum.Enum):
    """What a pass did when it made a node of another one."""

    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """Where a node comes from, in `meta["from_node"]`: a node of another graph, and its sources."""

    def __init__(self, node, pass_name="", action=None):
        self.name = node.name if node is not None else ""
        self.target = str(node.target) if node is not None else ""
        self.graph_id = id(node.graph) if node is not None else -1
        self.pass_name = pass_name
        actions = [] if action is None else action
        self.action = actions if isinstance(actions, list) else [actions]
        self.from_node = list(node.meta.get("from_node", ())) if node is not None else []

    def _get_action_string(self):
        return "+".join(action.name.lower() for action in self.action)

    def print_readable(self, indent=0):
        """The source and those behind it, one per line."""
        text = "    " * indent + (
            f"(name={self.name}, pass_name={self.pass_name}, action={self._get_action_string()}, "
            f"graph_id={self.graph_id})\n"
        )
        return text + "".join(source.print_readable(indent + 1) for source in self.from_node)

    def to_dict(self):
        """The source as plain values."""
        return {
            "name": self.name,
            "target": self.target,
            "graph_id": self.graph_id,
            "pass_name": self.pass_name,
            "action": self._get_action_string(),
            "from_node": [source.to_dict() for source in self.from_node],
        }

    def __repr__(self):
        return self.print_readable()


class _Scope(threading.local):
    """What the thread's nodes are marked with, and whether they are."""

    def __init__(self):
        self.meta = {}
        self.is_preserving = False


_scope = _Scope()


def __getattr__(name):
    if name == "current_meta":
        return _scope.meta
    if name == "should_preserve_node_meta":
        return _scope.is_preserving
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# What a new node takes over from the node that is being rewritten.
_KEPT = (
    "nn_module_stack",
    "source_fn_stack",
    "original_aten",
    "recompute",
    "ac_graph_id",
    "from_node",
    "quantization_tag",
    "partitioner_tag",
    "custom",
    "stack_trace",
)


@contextlib.contextmanager
def preserve_node_meta(enable=True):
    """Within, nodes made while another node is interpreted take its meta over."""
    before = _scope.is_preserving, _scope.meta
    _scope.is_preserving, _scope.meta = enable, dict(_scope.meta)
    try:
        yield
    finally:
        _scope.is_preserving, _scope.meta = before


@contextlib.contextmanager
def annotate(annotation_dict):
    """Within, traced nodes get these entries in `meta["custom"]`; inner scopes add to them."""
    before = _scope.meta
    _scope.meta = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    try:
        with preserve_node_meta():
            yield
    finally:
        _scope.meta = before


def annotate_fn(annotation_dict):
    """A decorator: nodes that are traced in the function are annotated."""

    def decorate(function):
        @functools.wraps(function)
        def annotated(*args, **kwargs):
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorate


@contextlib.contextmanager
def set_current_meta(node, pass_name=""):
    """Within, `node` is the one that is being rewritten."""
    if not _scope.is_preserving or not node.meta:
        yield
        return
    before = _scope.meta
    source = NodeSource(node, pass_name, NodeSourceAction.CREATE)
    _scope.meta = {**node.meta, "from_node": [source]}
    try:
        yield
    finally:
        _scope.meta = before


def mark(node):
    """Gives a new node what the current scope says."""
    for key in _KEPT:
        if key in _scope.meta and key not in node.meta:
            node.meta[key] = _scope.meta[key]


def set_stack_trace(stack):
    """The stack trace of nodes made from here on, if meta is preserved."""
    if _scope.is_preserving and stack:
        _scope.meta["stack_trace"] = "".join(stack)


def set_grad_fn_seq_nr(seq_nr):
    """The number of the autograd node whose backward is traced."""
    if _scope.is_preserving:
        _scope.meta.setdefault("grad_fn_seq_nr", []).append(seq_nr)
        _scope.meta["in_grad_fn"] = _scope.meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr():
    """Ends what set_grad_fn_seq_nr began."""
    if _scope.is_preserving and _scope.meta.get("in_grad_fn"):
        _scope.meta["in_grad_fn"] -= 1
        _scope.meta["grad_fn_seq_nr"].pop()


def format_stack():
    """The stack trace of the node that is being rewritten, or of the caller."""
    if _scope.is_preserving:
        return [_scope.meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


def has_preserved_node_meta():
    return _scope.is_preserving


def get_current_meta():
    return _scope.meta
