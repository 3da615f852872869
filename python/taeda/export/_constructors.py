"""Constructors of tensor subclasses in programs that are exported."""

__all__ = ["mark_subclass_constructor_exportable_experimental"]


def mark_subclass_constructor_exportable_experimental(constructor):
    """Decorates `__init__` of a tensor subclass that exported programs call.

    Export runs constructors as it runs the rest of a program: the mark is for readers, and refuses
    what is no constructor.
    """
    if getattr(constructor, "__name__", None) != "__init__":
        raise RuntimeError(
            "torch._export.wrappers.mark_constructor_exportable_experimental can only be applied "
            f"on subclass tensor.__init__, got {constructor}"
        )
    constructor._is_exportable_constructor = True
    return constructor
