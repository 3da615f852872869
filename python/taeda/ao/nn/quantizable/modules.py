"""None yet."""

__all__ = []
