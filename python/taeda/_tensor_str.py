"""Prints tensors the way PyTorch does: `repr(tensor)` and `set_printoptions`.

Numbers are read with `tolist()` from the (summarized) tensor, so printing needs no operator beyond
indexing. Three steps: collect the visible numbers as nested lists, choose one number format for all
of them, lay the lists out in lines.
"""

import contextlib
import dataclasses
import math

import taeda


@dataclasses.dataclass
class PrintOptions:
    """How tensors print; `sci_mode` None means that each tensor decides for itself."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = PrintOptions()

_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}


def set_printoptions(
    precision=None,
    threshold=None,
    edgeitems=None,
    linewidth=None,
    profile=None,
    sci_mode=None,
):
    """Sets how tensors print.

    precision: digits after the point (default 4).
    threshold: number of elements above which a tensor is summarized (default 1000).
    edgeitems: elements shown at each end of a summarized dimension (default 3).
    linewidth: columns a line (default 80).
    profile: "default", "short" or "full"; the other arguments override it.
    sci_mode: True or False forces scientific notation on or off; None lets each tensor decide.
    """
    if profile is not None:
        base = _PROFILES.get(profile)
        if base is not None:
            for name in ("precision", "threshold", "edgeitems", "linewidth"):
                setattr(PRINT_OPTS, name, getattr(base, name))
    if precision is not None:
        PRINT_OPTS.precision = precision
    if threshold is not None:
        PRINT_OPTS.threshold = threshold
    if edgeitems is not None:
        PRINT_OPTS.edgeitems = edgeitems
    if linewidth is not None:
        PRINT_OPTS.linewidth = linewidth
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions():
    """The current options as a dict that `set_printoptions` accepts."""
    return dataclasses.asdict(PRINT_OPTS)


@contextlib.contextmanager
def printoptions(**options):
    """Sets options for the length of a `with` block."""
    saved = get_printoptions()
    try:
        set_printoptions(**options)
        yield
    finally:
        set_printoptions(**saved)


class _Gap:
    """Stands in a collected list for the elements that a summary leaves out."""


_GAP = _Gap()


def _collect(tensor, is_summarized):
    """The numbers to print as nested lists; left-out stretches become `_GAP`."""
    if not is_summarized or tensor.dim() == 0:
        return tensor.tolist()
    edge = PRINT_OPTS.edgeitems
    length = tensor.size(0)
    if length <= 2 * edge:
        if tensor.dim() == 1:
            return tensor.tolist()
        return [_collect(tensor[i], True) for i in range(length)]
    if edge == 0:
        return [_GAP]
    if tensor.dim() == 1:
        return [*tensor[:edge].tolist(), _GAP, *tensor[length - edge :].tolist()]
    head = [_collect(tensor[i], True) for i in range(edge)]
    tail = [_collect(tensor[i], True) for i in range(length - edge, length)]
    return [*head, _GAP, *tail]


def _numbers(data):
    """Walks the numbers of a collected list in order."""
    if isinstance(data, list):
        for item in data:
            yield from _numbers(item)
    elif data is not _GAP:
        yield data


class _PlainFormat:
    """Integers and booleans: padded to the widest."""

    def __init__(self, values):
        self.width = max((len(str(value)) for value in values), default=1)

    def __call__(self, value):
        return str(value).rjust(self.width)


class _RealFormat:
    """Floating-point numbers: whole (`3.`), fixed (`3.1400`) or scientific (`3.1400e+00`).

    The choice and the width depend on the finite nonzero values only: a lone nan never widens.
    """

    def __init__(self, values):
        values = [value for value in values if value != 0 and math.isfinite(value)]
        self.is_whole = all(value.is_integer() for value in values)
        self.is_scientific = bool(values) and self._wants_scientific(values)
        self.width = max((len(self._digits(value)) for value in values), default=1)

    @staticmethod
    def _wants_scientific(values):
        if PRINT_OPTS.sci_mode is not None:
            return PRINT_OPTS.sci_mode
        smallest = min(abs(value) for value in values)
        largest = max(abs(value) for value in values)
        return largest / smallest > 1000 or largest > 1e8 or smallest < 1e-4

    def _digits(self, value):
        if self.is_scientific:
            return f"{value:.{PRINT_OPTS.precision}e}"
        if self.is_whole:
            return f"{value:.0f}" + ("." if math.isfinite(value) else "")
        return f"{value:.{PRINT_OPTS.precision}f}"

    def __call__(self, value):
        return self._digits(value).rjust(self.width)


class _ComplexFormat:
    """Complex numbers: real and imaginary parts choose their formats independently."""

    def __init__(self, values):
        values = list(values)
        self.real = _RealFormat([value.real for value in values])
        self.imag = _RealFormat([value.imag for value in values])
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value):
        imag = self.imag(value.imag).lstrip() + "j"
        sign = "" if imag[0] in "+-" else "+"
        return self.real(value.real) + sign + imag


def _choose_format(tensor, data):
    values = _numbers(data)
    if tensor.is_complex():
        return _ComplexFormat(values)
    if tensor.is_floating_point():
        return _RealFormat(values)
    return _PlainFormat(values)


def _layout_row(row, indent, number_format):
    """One innermost list, broken into lines that fit."""
    if row == [_GAP]:
        cells = ["..."]
    else:
        cells = [" ..." if value is _GAP else number_format(value) for value in row]
    per_line = max(1, (PRINT_OPTS.linewidth - indent) // (number_format.width + 2))
    lines = [", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _layout(data, ndim, indent, number_format):
    """Nested lists as text; `indent` is the column of the opening bracket."""
    if ndim == 0:
        return number_format(data)
    if ndim == 1:
        return _layout_row(data, indent, number_format)
    parts = [
        "..." if part is _GAP else _layout(part, ndim - 1, indent + 1, number_format)
        for part in data
    ]
    separator = "," + "\n" * (ndim - 1) + " " * (indent + 1)
    return "[" + separator.join(parts) + "]"


def _contents(tensor, indent):
    data = _collect(tensor, is_summarized=tensor.numel() > PRINT_OPTS.threshold)
    return _layout(data, tensor.dim(), indent, _choose_format(tensor, data))


def _has_implied_dtype(dtype):
    """Whether a reader would infer this dtype from the printed numbers."""
    default = taeda.get_default_dtype()
    default_complex = taeda.complex128 if default == taeda.float64 else taeda.complex64
    return dtype in (default, default_complex, taeda.int64, taeda.bool)


def _grad_suffix(tensor):
    try:
        grad_fn = tensor.grad_fn
    except RuntimeError:  # A view whose base was changed where views must not be.
        return "grad_fn=<Invalid>"
    if grad_fn is not None:
        return f"grad_fn=<{grad_fn.name().rsplit('::', 1)[-1]}>"
    return "requires_grad=True" if tensor.requires_grad else None


def _append_suffixes(text, suffixes, indent):
    """Adds `, name=value` parts, each on a new line where the current one is full."""
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


def _wrapper_str(value, level, batch_dim):
    """A tensor inside a transform prints the tensor it wraps."""
    text = "\n".join("    " + line for line in repr(value).split("\n"))
    if level == 0:
        return f"DeadTensor(value=\n{text}\n)"
    if batch_dim >= 0:
        return f"BatchedTensor(lvl={level}, bdim={batch_dim}, value=\n{text}\n)"
    return f"GradTrackingTensor(lvl={level}, value=\n{text}\n)"


def _without_history(tensor):
    """Its values, whatever its class does with operators."""
    with taeda._C._DisableTorchDispatch():
        return tensor.detach()


def _str(tensor, *, tensor_contents=None):
    """The text of `repr(tensor)`; `tensor_contents` replaces the printed numbers."""
    wrapped = taeda._C._wrapper_info(tensor)
    if wrapped is not None:
        return _wrapper_str(*wrapped)
    kind = type(tensor)
    is_plain = kind is taeda.Tensor or kind.__name__ == "Parameter"
    prefix = "tensor(" if is_plain else f"{kind.__name__}("
    indent = len(prefix)
    is_wrapper = taeda._C._is_memoryless(tensor)
    data = tensor if is_wrapper else _without_history(tensor)
    is_hidden = is_wrapper and tensor_contents is None
    is_meta = data.device.type == "meta" or is_hidden or taeda._C._fx.is_fake(data)
    # A meta tensor shows its size anyway, and may not know whether it is empty.
    is_empty = not is_meta and data.numel() == 0

    suffixes = []
    if data.device.type != "cpu":
        suffixes.append(f"device='{data.device}'")
    is_size_hidden = data.dim() != 1 if is_empty else PRINT_OPTS.edgeitems == 0
    if is_meta or is_size_hidden:
        suffixes.append(f"size={tuple(data.size())}")
    if is_meta or is_empty:
        shows_dtype = data.dtype != taeda.get_default_dtype()
    else:
        shows_dtype = not _has_implied_dtype(data.dtype)
    if shows_dtype:
        suffixes.append(f"dtype={data.dtype}")
    grad = _grad_suffix(tensor)
    if grad is not None:
        suffixes.append(grad)
    tangent = taeda._C._tangent_of(tensor)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")

    if tensor_contents is None:
        if is_meta:
            tensor_contents = "..."
        elif is_empty:
            tensor_contents = "[]"
        else:
            tensor_contents = _contents(data, indent)
    return _append_suffixes(prefix + tensor_contents, suffixes, indent)
