"""What a user says about the sizes of tensors before a program is captured."""

from taeda._dynamo.decorators import (
    mark_dynamic,
    mark_static,
    mark_unbacked,
    maybe_mark_dynamic,
)

__all__ = ["mark_dynamic", "mark_static", "mark_unbacked", "maybe_mark_dynamic"]
