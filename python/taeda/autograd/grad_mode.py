"""Context managers and decorators that switch recording for differentiation on and off."""

from taeda import _C


class _Mode:
    """Base of the modes: `with mode():`, `@mode()` and, for modes without arguments, `@mode`."""

    def __call__(self, function):
        from taeda.autograd._decorate import decorate

        return decorate(self.clone, function)

    def clone(self):
        """A fresh mode like this one: a decorated function enters one per call."""
        return type(self)()


class _PlainMode(_Mode):
    """A mode that takes no arguments, so that it may decorate without parentheses."""

    def __new__(cls, function=None):
        self = object.__new__(cls)
        return self if function is None else self(function)


class no_grad(_PlainMode):
    """Nothing inside is recorded; results do not require gradients."""

    def __enter__(self):
        self.prev = _C.is_grad_enabled()
        _C._set_grad_enabled(False)

    def __exit__(self, *_):
        _C._set_grad_enabled(self.prev)


class enable_grad(_PlainMode):
    """Records again inside `no_grad`."""

    def __enter__(self):
        self.prev = _C.is_grad_enabled()
        _C._set_grad_enabled(True)

    def __exit__(self, *_):
        _C._set_grad_enabled(self.prev)


class set_grad_enabled(_Mode):
    """Sets the mode at once; as a context manager also sets it back."""

    def __init__(self, mode):
        self.prev = _C.is_grad_enabled()
        self.mode = mode
        _C._set_grad_enabled(mode)

    def __call__(self, function):
        # Used as a decorator it must not act at the place of decoration.
        _C._set_grad_enabled(self.prev)
        return super().__call__(function)

    def clone(self):
        return set_grad_enabled(self.mode)

    def __enter__(self):
        _C._set_grad_enabled(self.mode)

    def __exit__(self, *_):
        _C._set_grad_enabled(self.prev)


class set_multithreading_enabled(_Mode):
    """PyTorch's switch for threads of backward; a run here stays on its caller's thread anyway."""

    def __init__(self, mode):
        self.prev = _C._is_multithreading_enabled()
        self.mode = mode
        _C._set_multithreading_enabled(mode)

    def __call__(self, function):
        _C._set_multithreading_enabled(self.prev)
        return super().__call__(function)

    def clone(self):
        return type(self)(self.mode)

    def __enter__(self):
        pass

    def __exit__(self, *_):
        _C._set_multithreading_enabled(self.prev)


class _unsafe_preserve_version_counter(_Mode):
    """Writes inside do not count: the tensors leave with the versions they entered with."""

    def __init__(self, tensors):
        self.tensors = (tensors,) if isinstance(tensors, _C.Tensor) else tuple(tensors)
        self.prev_versions = tuple(t._version for t in self.tensors)

    def clone(self):
        return type(self)(self.tensors)

    def __enter__(self):
        pass

    def __exit__(self, *_):
        _C._autograd._unsafe_set_version_counter(self.tensors, self.prev_versions)


class inference_mode(_Mode):
    """Like `no_grad`, and new tensors carry no tracking at all, which makes operations cheaper."""

    def __new__(cls, mode=True):
        self = object.__new__(cls)
        if isinstance(mode, bool):
            self.mode = mode
            return self
        self.mode = True
        return self(mode)

    def clone(self):
        return inference_mode(self.mode)

    def __enter__(self):
        self.prev = _C.is_grad_enabled(), _C.is_inference_mode_enabled()
        _C._set_inference_mode(self.mode)
        _C._set_grad_enabled(not self.mode)

    def __exit__(self, *_):
        grad, inference = self.prev
        _C._set_inference_mode(inference)
        _C._set_grad_enabled(grad)
