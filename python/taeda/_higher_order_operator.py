"""Operators that take functions as arguments: `taeda.ops.higher_order`.

A call goes through the rules of its operator: transforms, autograd, modes, classes of tensors, and
at last the implementation. Control flow (`taeda.fx.control_flow`) is different: its rules are C++.
"""

from taeda import _C
from taeda.utils._python_dispatch import _get_current_dispatch_mode, _pop_mode_temporarily
from taeda.utils._pytree import tree_leaves, tree_map

__all__ = ["HigherOrderOperator"]

# The operators in `taeda.ops.higher_order`, by name.
_higher_order_ops = {}

# Keys of the implementation, in the order in which they are looked for.
_DENSE_KEYS = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "CPU", "CUDA")


def takes_closed_graphs(mode):
    """Whether a mode takes control flow that is traced as one call, and sees inside of other."""
    return getattr(mode, "takes_closed_graphs", False)


class HigherOrderOperator:
    """Base of operators that take functions."""

    def __init__(self, name, *, cacheable=False):
        if type(self) is HigherOrderOperator:
            raise RuntimeError(
                "Direct instantiation of HigherOrderOperator is not allowed. Please subclass it."
            )
        self._name = name
        self._ns = "higher_order"
        self._rules = {}
        self.__name__ = name
        self.__qualname__ = name
        self.__module__ = "taeda.ops.higher_order"
        _higher_order_ops[name] = self

    @property
    def namespace(self):
        return self._ns

    def name(self):
        return self._name

    def py_impl(self, k):
        """Decorates a rule.

        `k` is a dispatch key or its name (the implementation is "CompositeExplicitAutograd"), a
        transform ("Vmap", "Grad", "Jvp"), a class of modes or tensors, or the full name of such a
        class, which then need not be loaded. A rule of a mode gets the mode, one of a transform the
        number of the level, before the arguments.
        """

        def register(rule):
            key = _key_of(k)
            if key in self._rules:
                raise RuntimeError(f"Trying to override a python impl for {k} on {self._name}")
            self._rules[key] = rule
            return rule

        return register

    def py_autograd_impl(self, fn):
        """Decorates the rule for arguments that require gradients."""
        return self.py_impl("Autograd")(fn)

    def is_captured(self):
        """Whether the innermost mode wants the operator as one call."""
        mode = _get_current_dispatch_mode()
        return mode is not None and self._handler(mode) is not None

    def __call__(self, /, *args, **kwargs):
        return self.dispatch(args, kwargs)

    def dispatch(self, args, kwargs):
        """The outermost rule that applies."""
        if _C._num_levels():
            return self._at_level(args, kwargs)
        autograd = self._rules.get("Autograd")
        if autograd and _needs_gradient(args, kwargs):
            return autograd(*args, **kwargs)
        answer = self._ask_mode(args, kwargs)
        if answer is NotImplemented:
            answer = self._ask_classes(args, kwargs)
        return answer

    def _at_level(self, args, kwargs):
        level, kind, _, _ = _C._top_level()
        rule = self._rules.get(kind.capitalize())
        if rule:
            return rule(level, *args, **kwargs)
        if kind == "functionalize":
            return self._functionalized(level, args, kwargs)
        if any(_is_at(leaf, level) for leaf in tree_leaves((args, kwargs))):
            raise NotImplementedError(
                f"There was no rule registered for HigherOrderOperator {self._name} and the "
                f"transform {kind}."
            )
        return _C._call_below_level(lambda: self(*args, **kwargs))

    def _functionalized(self, level, args, kwargs):
        """The call on its operands' present values; its functions write to nothing outside."""

        def plain(leaf):
            if isinstance(leaf, _C.Tensor):
                return _C._functional_value(leaf, level)[0]
            return leaf

        def functional(leaf):
            return _C._make_functional(leaf, level) if isinstance(leaf, _C.Tensor) else leaf

        args, kwargs = tree_map(plain, (args, kwargs))
        result = _C._call_below_level(lambda: self(*args, **kwargs))
        return tree_map(functional, result)

    def _handler(self, mode):
        """The mode's rule for the operator, a function of (*args, **kwargs), or None."""
        rule = self._rule_of_class(type(mode))
        if rule:
            return lambda *args, **kwargs: rule(mode, *args, **kwargs)
        if getattr(mode, "supports_higher_order_operators", False) or takes_closed_graphs(mode):
            return lambda *args, **kwargs: mode.__torch_dispatch__(self, (), args, kwargs)
        return None

    def _rule_of_class(self, cls):
        for base in cls.__mro__:
            rule = self._rules.get(base) or self._rules.get(_full_name(base))
            if rule:
                return rule
        return None

    def _ask_mode(self, args, kwargs):
        mode = _get_current_dispatch_mode()
        if mode is None:
            return NotImplemented
        with _pop_mode_temporarily():
            return self._ask(mode, args, kwargs)

    def _ask(self, mode, args, kwargs):
        """The answer of a mode that is off."""
        handler = self._handler(mode)
        if handler is None:
            raise NotImplementedError(
                f"There was no rule registered for HigherOrderOperator {self._name} and mode "
                f"{mode}. Hint: set {mode}'s supports_higher_order_operators to True, and handle "
                "the operator in its __torch_dispatch__ or return NotImplemented there."
            )
        return handler(*args, **kwargs)

    def _ask_classes(self, args, kwargs):
        classes = _dispatching_classes(args, kwargs)
        for cls in classes:
            rule = self._rule_of_class(cls)
            if not rule:
                raise NotImplementedError(
                    f"There was no rule registered for HOP {self._name} and subclass {cls}."
                )
            answer = rule(*args, **kwargs)
            if answer is not NotImplemented:
                return answer
        if not classes and _get_current_dispatch_mode() is None:
            return self._implementation()(*args, **kwargs)
        raise TypeError(
            f"HigherOrderOperator '{self._name}' is not supported for the given input types: "
            f"all rules returned NotImplemented, of the mode {_get_current_dispatch_mode()} and of "
            f"the classes {[cls.__name__ for cls in classes]}"
        )

    def _implementation(self):
        for key in _DENSE_KEYS:
            if key in self._rules:
                return self._rules[key]
        raise NotImplementedError(
            f"could not find kernel for HigherOrderOperator {self._name}; register one with "
            f"py_impl({_DENSE_KEYS[0]!r})"
        )

    def __str__(self):
        return self._name

    def __repr__(self):
        return f"<HigherOrderOperator(op='{self._ns}.{self._name}')>"

    # One object an operator: copies are the object itself.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo=None):
        return self

    def __reduce__(self):
        return _operator_named, (self._name,)


def _operator_named(name):
    return _higher_order_ops[name]


def _full_name(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


def _key_of(k):
    return k if isinstance(k, (type, str)) else k.name


def _is_at(value, level):
    return isinstance(value, _C.Tensor) and _C._unwrap_level(value, level) is not value


def _needs_gradient(args, kwargs):
    """Whether autograd, backward or forward, has to do with the call."""
    if _C._is_below_autograd():
        return False
    tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, _C.Tensor)]
    if _C.is_grad_enabled() and any(x.requires_grad for x in tensors):
        return True
    is_forward = _C._is_fwd_grad_enabled() and _C._current_dual_level() >= 0
    return is_forward and any(_C._tangent_of(x) is not None for x in tensors)


def _dispatching_classes(args, kwargs):
    """The classes with a handler of their own, in the order of the call."""
    disabled = _C._disabled_torch_dispatch_impl
    found = {}
    for leaf in tree_leaves((args, kwargs)):
        if isinstance(leaf, _C.Tensor) and type(leaf).__torch_dispatch__ is not disabled:
            found[type(leaf)] = None
    return list(found)
