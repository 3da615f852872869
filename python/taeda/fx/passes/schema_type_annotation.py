"""AnnotateTypesWithSchema: types of nodes from the signatures of what they call."""

import inspect

import taeda
from taeda._own_names import own_module
from taeda.fx.graph_module import _get_attr
from taeda.fx.interpreter import Transformer
from taeda.fx.operator_schemas import overloads_of

__all__ = ["AnnotateTypesWithSchema"]

_PLAIN = (bool, int, float, complex, str)


class AnnotateTypesWithSchema(Transformer):
    """Gives nodes without a type the one that their target returns, where that is known.

    Known are operators (by schema), functions and modules of taeda.nn and functions with a return
    annotation, and attributes that are tensors or plain values.
    """

    def __init__(
        self, module, annotate_functionals=True, annotate_modules=True, annotate_get_attrs=True
    ):
        super().__init__(module)
        self.annotate_functionals = annotate_functionals
        self.annotate_modules = annotate_modules
        self.annotate_get_attrs = annotate_get_attrs

    def call_function(self, target, args, kwargs):
        proxy = super().call_function(target, args, kwargs)
        if self.annotate_functionals:
            _annotate(proxy, _returned_by_schema(target) or _returned(target))
        return proxy

    def call_module(self, target, args, kwargs):
        proxy = super().call_module(target, args, kwargs)
        if self.annotate_modules:
            module = self.fetch_attr(target)
            is_ours = own_module(type(module)).startswith("taeda.nn.modules")
            _annotate(proxy, _returned(module.forward) or (taeda.Tensor if is_ours else None))
        return proxy

    def get_attr(self, target, args, kwargs):
        proxy = super().get_attr(target, args, kwargs)
        if self.annotate_get_attrs:
            value = _get_attr(self.module, target)
            _annotate(proxy, taeda.Tensor if isinstance(value, taeda.Tensor) else _plain(value))
        return proxy


def _annotate(proxy, annotation):
    if proxy.node.type is None and annotation is not None:
        proxy.node.type = annotation


def _plain(value):
    return type(value) if type(value) in _PLAIN else None


def _returned(function):
    """The annotation of the result; functions of taeda.nn return tensors."""
    if getattr(function, "__module__", None) == "taeda.nn.functional":
        return taeda.Tensor
    try:
        annotation = inspect.signature(function).return_annotation
    except (TypeError, ValueError):
        return None
    return None if annotation is inspect.Signature.empty else annotation


def _returned_by_schema(target):
    """A tensor, or a tuple of tensors, where all overloads agree."""
    results = {
        tuple(str(r.type) for r in overload._schema.returns) for overload in overloads_of(target)
    }
    if len(results) != 1:
        return None
    (types,) = results
    if not types or set(types) != {"Tensor"}:
        return None
    return taeda.Tensor if len(types) == 1 else tuple[(taeda.Tensor,) * len(types)]
