"""Hashes of graphs, by which a backend may keep what it compiled; PyTorch's path."""

import base64
import hashlib
from operator import attrgetter

import taeda
from taeda.fx.fake.modes import is_fake

__all__ = ["FxGraphCache", "compiled_fx_graph_hash"]


def _tensor_text(t):
    sizes, strides = [str(n) for n in t.shape], [str(n) for n in t.stride()]
    return f"{t.dtype} {sizes} {strides} {t.device} {t.layout} {t.requires_grad}"


def _elements_text(t):
    """A hash of the elements; nothing for tensors without them."""
    if is_fake(t) or t.device.type == "meta":
        return ""
    flat = t.detach().cpu().resolve_conj().resolve_neg().contiguous().view(-1)
    return hashlib.sha256(flat.view(taeda.uint8).numpy().tobytes()).hexdigest()


def _text(value):
    return _tensor_text(value) if isinstance(value, taeda.Tensor) else repr(value)


def _graph_lines(gm, prefix=""):
    lines = [f"{prefix}graph: {gm.graph}"]
    for node in gm.graph.find_nodes(op="get_attr"):
        value = attrgetter(node.target)(gm)
        if isinstance(value, taeda.Tensor):
            lines.append(f"{prefix}{node.target}: {_text(value)} {_elements_text(value)}")
        elif isinstance(value, taeda.fx.GraphModule):
            lines += _graph_lines(value, f"{prefix}{node.target}.")
    return lines


def compiled_fx_graph_hash(gm, example_inputs, fx_kwargs, inputs_to_check):
    """The key of a graph for inputs like these, and the lines that it is the hash of.

    Graphs of the same operators on inputs of the same kinds with the same constants have the same
    key, in other processes too.
    """
    lines = [f"version: {taeda.__version__}", *_graph_lines(gm)]
    lines += [f"input {i}: {_text(value)}" for i, value in enumerate(example_inputs)]
    lines += [f"{name}: {fx_kwargs[name]!r}" for name in sorted(fx_kwargs)]
    lines.append(f"checked inputs: {list(inputs_to_check)}")
    digest = hashlib.sha256("\n".join(lines).encode()).digest()
    return "f" + base64.b32encode(digest).decode().rstrip("=").lower(), lines


class FxGraphCache:
    """PyTorch's cache of compiled graphs. Taeda keeps kernels instead, each by its own content."""

    @staticmethod
    def load_with_key(
        key,
        debug_lines,
        example_inputs,
        local,
        remote_cache,
        is_backward,
        constants,
        evaluate_guards=None,
    ):
        """The graph of a key and what is known about it: it is never there."""
        return None, {"cache_state": "miss", "key": key}

    @staticmethod
    def clear():
        """Removes the kernels that were kept."""
        taeda._C._inductor.cache_clear()
