"""One call of a module that has hooks: pre-hooks, forward, hooks, and the ties for backward."""

from functools import partial
from warnings import warn

from taeda import _C
from taeda.nn.modules import _hooks
from taeda.utils.hooks import BackwardHook


class HookedCall:
    """The state of the call, which hooks that run after a failure still see."""

    def __init__(self, module, args, kwargs):
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result = None
        self.called = set()

    def run(self):
        """The result of the call."""
        try:
            self._run()
        except Exception:
            self._call_always_called()
            raise
        return self.result

    def _run(self):
        module = self.module
        full, older = module._get_backward_hooks()
        pre = module._get_backward_pre_hooks()
        self._call_pre_hooks()
        backward = BackwardHook(module, full, pre) if full or pre else None
        if backward is not None:
            self.args = backward.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for number, hook, has_kwargs, is_always in self._forward_hooks():
            if is_always:
                self.called.add(number)
            self._call_forward_hook(hook, has_kwargs)
        if backward is not None:
            self._warn_of_result()
            self.result = backward.setup_output_hook(self.result)
        if older:
            _tie_to_last_node(module, older, self.args, self.result)

    def _call_pre_hooks(self):
        module = self.module
        for hook in tuple(_hooks._global_forward_pre_hooks.values()):
            self._take_args(hook(module, self.args))
        for number, hook in tuple(module._forward_pre_hooks.items()):
            if number not in module._forward_pre_hooks_with_kwargs:
                self._take_args(hook(module, self.args))
                continue
            replaced = hook(module, self.args, self.kwargs)
            if replaced is None:
                continue
            if not (isinstance(replaced, tuple) and len(replaced) == 2):
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                    f"got {replaced}."
                )
            self.args, self.kwargs = replaced

    def _take_args(self, args):
        if args is not None:
            self.args = args if isinstance(args, tuple) else (args,)

    def _forward_hooks(self):
        """(number, hook, takes kwargs, runs after failures) of the hooks, those of all first."""
        tables = (
            (
                _hooks._global_forward_hooks,
                _hooks._global_forward_hooks_with_kwargs,
                _hooks._global_forward_hooks_always_called,
            ),
            (
                self.module._forward_hooks,
                self.module._forward_hooks_with_kwargs,
                self.module._forward_hooks_always_called,
            ),
        )
        return [
            (number, hook, number in with_kwargs, number in always)
            for hooks, with_kwargs, always in tables
            for number, hook in hooks.items()
        ]

    def _call_forward_hook(self, hook, has_kwargs):
        if has_kwargs:
            replaced = hook(self.module, self.args, self.kwargs, self.result)
        else:
            replaced = hook(self.module, self.args, self.result)
        if replaced is not None:
            self.result = replaced

    def _call_always_called(self):
        """After an error: the hooks that are to run all the same and did not."""
        for number, hook, has_kwargs, is_always in self._forward_hooks():
            if not is_always or number in self.called:
                continue
            try:
                self._call_forward_hook(hook, has_kwargs)
            except Exception as error:
                scope = "module" if number in self.module._forward_hooks else "global module"
                warn(
                    f"{scope} forward hook with ``always_call=True`` raised an exception that was "
                    f"silenced as another error was raised in forward: {error}",
                    stacklevel=4,
                )

    def _warn_of_result(self):
        if not isinstance(self.result, (_C.Tensor, tuple)):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(self.result)}",
                stacklevel=4,
            )


def _tie_to_last_node(module, hooks, args, result):
    """Older backward hooks run with the node that made the result."""
    tensor = result
    while not isinstance(tensor, _C.Tensor):
        if isinstance(tensor, dict):
            tensor = next(value for value in tensor.values() if isinstance(value, _C.Tensor))
        else:
            tensor = tensor[0]
    node = tensor.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(partial(hook, module))
    _warn_of_lost_gradients(args, result, node)


_LOST = (
    "is deprecated and will be removed in future versions. This hook will be missing some {}. "
    "Please use register_full_backward_hook to get the documented behavior."
)


def _warn_of_lost_gradients(args, result, node):
    """Says what an older backward hook does not see."""
    for values, verb, what in (
        (result, "return", "grad_output"),
        (args, "take as input", "grad_input"),
    ):
        values = values if isinstance(values, tuple) else (values,)
        if not all(isinstance(value, _C.Tensor) for value in values):
            warn(
                f"Using non-full backward hooks on a Module that does not {verb} a single Tensor "
                "or a tuple of Tensors " + _LOST.format(what),
                FutureWarning,
                stacklevel=6,
            )
            return
    results = result if isinstance(result, tuple) else (result,)
    if any(value.grad_fn is not node for value in results):
        warn(
            "Using a non-full backward hook when outputs are generated by different autograd "
            "Nodes " + _LOST.format("grad_output"),
            FutureWarning,
            stacklevel=6,
        )
        return
    inputs = {value.grad_fn for value in args if value.grad_fn is not None}
    following = {following for following, _ in node.next_functions if following is not None}
    if inputs != following:
        warn(
            "Using a non-full backward hook when the forward contains multiple autograd Nodes "
            + _LOST.format("grad_input"),
            FutureWarning,
            stacklevel=6,
        )
