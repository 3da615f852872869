"""An older path of what `taeda.library` has."""

from taeda.library import impl_abstract

__all__ = ["impl_abstract"]
