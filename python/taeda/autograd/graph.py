"""The backward graph: its nodes and edges, hooks on saved tensors and on several gradients."""

from collections import namedtuple

from taeda import _C
from taeda.autograd.mutation import allow_mutation_on_saved_tensors

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class _NodeMeta(type):
    """Nodes of operators and contexts of Functions are nodes; nothing else is."""

    def __instancecheck__(cls, other):
        return cls.__subclasscheck__(type(other))

    def __subclasscheck__(cls, other):
        from taeda.autograd.function import BackwardCFunction

        if cls is not Node:
            return type.__subclasscheck__(cls, other)
        return issubclass(other, (_C._Node, BackwardCFunction)) or other is Node


class Node(metaclass=_NodeMeta):
    """What `grad_fn` gives. It has `name()`, `next_functions`, `metadata`, `register_hook(fn)` and
    `register_prehook(fn)`; see docs/autograd.md."""

    def __new__(cls):
        raise TypeError("Can't instantiate abstract class Node")


class GradientEdge(
    namedtuple("GradientEdge", ("node", "output_nr", "ownership_token"), defaults=(None,))
):
    """Where a gradient flows: output `output_nr` of the operation whose node is `node`.

    `backward` and `grad` take edges beside tensors. A token keeps the graph where the node alone
    does not: contexts of Functions belong to their graph.
    """

    __slots__ = ()


def get_gradient_edge(tensor):
    """The edge along which the gradient of `tensor` arrives."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    node = _C._gradient_node(tensor)
    token = None
    if isinstance(node, _C._FunctionBase):
        from taeda.autograd.grad_mode import enable_grad

        with enable_grad():
            token = tensor.view_as(tensor).grad_fn
    return GradientEdge(node, tensor.output_nr, token)


def increment_version(tensor):
    """Notes that one or several tensors were written to by something the library cannot see."""
    _C._increment_version((tensor,) if isinstance(tensor, _C.Tensor) else tensor)


class saved_tensors_hooks:
    """Inside, `pack_hook(tensor)` is kept in place of what operations save for backward, and
    `unpack_hook` turns it back into the tensor. Of nested pairs the innermost counts."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self):
        _C._push_saved_tensors_default_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *_):
        _C._pop_saved_tensors_default_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Inside, tensors that operations save wait in the memory of the CPU.

    pin_memory: in copies, which are pinned where the device that `device_type` names is there.
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        def pack(tensor):
            if not pin_memory:
                return tensor.device, tensor.cpu()
            copy = tensor.to("cpu", copy=True)
            return tensor.device, copy.pin_memory() if module.is_available() else copy

        import taeda

        module = getattr(taeda, device_type, taeda.cuda)

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks:
    """Inside, and as a decorator, setting saved-tensor hooks raises `error_message`."""

    def __init__(self, error_message):
        self.error_message = error_message

    def __enter__(self):
        self.previous = _C._saved_tensors_hooks_get_disabled_error_message()
        _C._saved_tensors_hooks_disable(self.error_message)

    def __exit__(self, *_):
        if self.previous is None:
            _C._saved_tensors_hooks_enable()
        else:
            _C._saved_tensors_hooks_disable(self.previous)

    def __call__(self, function):
        from functools import wraps

        @wraps(function)
        def call(*args, **kwargs):
            with type(self)(self.error_message):
                return function(*args, **kwargs)

        return call


class _MultiHandle:
    """Removes several hooks as one."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls `fn` once per backward: with all gradients when the last of them is there ("all"; None
    for those that backward does not compute), or with the first one ("any")."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    nodes = tuple(_C._gradient_node(tensor) for tensor in tensors)
    if None in nodes:
        raise AssertionError("Expected gradient function to be set")
    watch = _AllGradients(nodes, fn) if mode == "all" else _AnyGradient(fn)
    return _MultiHandle(
        tensor.register_hook(watch.hook(position)) for position, tensor in enumerate(tensors)
    )


class _AllGradients:
    """Collects the gradients of each run apart: runs nest, and threads run at once."""

    def __init__(self, nodes, fn):
        from threading import Lock

        self.nodes, self.fn, self.lock, self.runs = nodes, fn, Lock(), {}

    def hook(self, position):
        def collect(grad):
            run = _C._current_graph_task_id()
            with self.lock:
                state = self.runs.get(run)
            if state is None:
                expected = sum(map(_C._will_engine_execute_node, self.nodes))
                state = {"missing": expected, "grads": [None] * len(self.nodes)}
                with self.lock:
                    self.runs[run] = state
                _C._queue_callback(lambda: self.forget(run))
            state["grads"][position] = grad
            state["missing"] -= 1
            if state["missing"] == 0:
                self.fn(state["grads"])

        return collect

    def forget(self, run):
        with self.lock:
            self.runs.pop(run, None)


class _AnyGradient:
    """Lets the first gradient of each run through."""

    def __init__(self, fn):
        from threading import Lock

        self.fn, self.lock, self.runs = fn, Lock(), set()

    def hook(self, position):
        def pass_first(grad):
            run = _C._current_graph_task_id()
            with self.lock:
                if run in self.runs:
                    return
                self.runs.add(run)
            _C._queue_callback(lambda: self.runs.discard(run))
            self.fn(grad)

        return pass_first
