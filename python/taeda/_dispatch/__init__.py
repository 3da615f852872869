"""Looks at the dispatcher: what each operator runs for each key, and all operators' names."""

from taeda._C._dispatch import _trace, dump, list_operators, schema

__all__ = ["_trace", "dump", "list_operators", "schema"]
