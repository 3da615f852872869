"""Stack traces and annotations of nodes: kept through rewrites, added for a scope."""

import contextlib
import traceback

__all__ = [
    "annotate",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]

current_meta = {}
should_preserve_node_meta = False

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
    global should_preserve_node_meta, current_meta
    before = should_preserve_node_meta, current_meta
    should_preserve_node_meta, current_meta = enable, dict(current_meta)
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = before


@contextlib.contextmanager
def annotate(annotation_dict):
    """Within, traced nodes get these entries in `meta["custom"]`; inner scopes add to them."""
    global current_meta
    before = current_meta
    current_meta = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    try:
        with preserve_node_meta():
            yield
    finally:
        current_meta = before


@contextlib.contextmanager
def set_current_meta(node, pass_name=""):
    """Within, `node` is the one that is being rewritten."""
    global current_meta
    if not should_preserve_node_meta or not node.meta:
        yield
        return
    before = current_meta
    current_meta = {**node.meta, "from_node": [*node.meta.get("from_node", ()), node.name]}
    try:
        yield
    finally:
        current_meta = before


def mark(node):
    """Gives a new node what the current scope says."""
    for key in _KEPT:
        if key in current_meta and key not in node.meta:
            node.meta[key] = current_meta[key]


def set_stack_trace(stack):
    """The stack trace of nodes made from here on, if meta is preserved."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


def set_grad_fn_seq_nr(seq_nr):
    """The number of the autograd node whose backward is traced."""
    if should_preserve_node_meta:
        current_meta.setdefault("grad_fn_seq_nr", []).append(seq_nr)
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr():
    """Ends what set_grad_fn_seq_nr began."""
    if should_preserve_node_meta and current_meta.get("in_grad_fn"):
        current_meta["in_grad_fn"] -= 1
        current_meta["grad_fn_seq_nr"].pop()


def format_stack():
    """The stack trace of the node that is being rewritten, or of the caller."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


def has_preserved_node_meta():
    return should_preserve_node_meta


def get_current_meta():
    return current_meta
