"""Further C++ forms of functions and methods: what PyTorch's argument types take besides.

A number stands for a list of one, or of the sizes that a list of a fixed length has, braces for an
optional list, and one TensorOptions, or what converts to it, for the four arguments about type and
place:

    x.sum(0)   x.sum({0, 1})   zeros(3)   zeros({2, 3}, kFloat)   max_pool2d(x, 2, {1, 2})

Each form is inline and calls the plain one.
"""

from cpp_ops import return_type, self_index, with_functions
from schema import OPTIONS, cpp_default, cpp_type

_NUMBERS = {"int": "std::integral", "SymInt": "IntegerLike"}


class Form:
    """One call: template parameters, the parameters by name, what is handed to the plain call."""

    def __init__(self, s, is_method):
        self.schema = s
        self.is_method = is_method
        self.templates = []
        self.parameters = {}
        self.values = {}
        self.is_tracked = False
        for a in s.arguments:
            if is_method and a.name == "self":
                continue
            default = None if a.is_cpp_required else cpp_default(a)
            self.parameters[a.name] = (cpp_type(a), default)
            self.values[a.name] = a.name

    def require(self, name):
        """Takes the defaults from an argument and from those before it."""
        for other, (kind, _) in list(self.parameters.items()):
            self.parameters[other] = (kind, None)
            if other == name:
                return

    def take_number(self, a):
        self.require(a.name)
        self.templates.append(f"{_NUMBERS[a.type.base]} Number")
        self.parameters[a.name] = ("Number", None)
        item = "SymInt" if a.type.base == "SymInt" else "int64_t"
        items = ", ".join([f"static_cast<{item}>({a.name})"] * max(a.type.list_size, 1))
        self.values[a.name] = f"{_list_type(a)}({{{items}}})"

    def take_number_or_list(self, a):
        item = "SymInt" if a.type.base == "SymInt" else "int64_t"
        kind = f"const NumberOrList<{item}, {max(a.type.list_size, 1)}>&"
        self.parameters[a.name] = (kind, self.parameters[a.name][1])
        self.values[a.name] = f"{a.name}.list()"

    def take_text(self, a):
        """A text whose type is deduced, which a number does not fit."""
        self.templates.append("std::convertible_to<std::string_view> Text")
        self.parameters[a.name] = ("const Text&", self.parameters[a.name][1])
        self.values[a.name] = f"std::string_view({a.name})"

    def take_braces(self, a):
        self.require(a.name)
        self.parameters[a.name] = ("std::initializer_list<int64_t>", None)
        plain = f"IntList({a.name})"
        self.values[a.name] = f"as_symint({plain})" if a.type.base == "SymInt" else plain

    def take_options(self):
        first = OPTIONS[0]
        self.require(first)
        self.templates.append("OptionsLike Options")
        parameters = {}
        for name, parameter in self.parameters.items():
            if name == first:
                parameters["options"] = ("const Options&", None)
            elif name not in OPTIONS:
                parameters[name] = parameter
        self.parameters = parameters
        for name, part in zip(OPTIONS, ("dtype", "layout", "device", "pinned_memory"), strict=True):
            self.values[name] = f"o.{part}_opt()"
        if "memory_format" in self.values:
            self.values["memory_format"] = "memory_format ? memory_format : o.memory_format_opt()"
        self.is_tracked = True

    def text(self):
        s = self.schema
        head = f"template <{', '.join(self.templates)}>\n" if self.templates else ""
        inline = "" if self.templates or self.is_method else "inline "
        parameters = ", ".join(
            f"{kind} {name}" + (f" = {default}" if default is not None else "")
            for name, (kind, default) in self.parameters.items()
        )
        call = f"{s.name}({', '.join(self.values.values())})"
        if self.is_tracked:
            body = f"const TensorOptions o(options); return track_if_asked({call}, o);"
        else:
            body = f"return {call};"
        const = " const" if self.is_method else ""
        return f"{head}{inline}{return_type(s)} {s.name}({parameters}){const} {{ {body} }}"


def _list_type(a):
    return "SymIntList" if a.type.base == "SymInt" else "IntList"


def _is_number(a):
    return not a.type.is_list and a.type.base in ("int", "SymInt", "float", "bool", "Scalar")


def _is_text(a):
    return a.type.base == "str" and not a.type.is_optional


def _lists_of(s):
    return [a for a in s.arguments if a.type.is_list and a.type.base in _NUMBERS]


def _in_place_of(a, s, siblings):
    """What other overloads have in the place of an argument."""
    position = s.arguments.index(a)
    return [o.arguments[position] for o in siblings if o is not s and len(o.arguments) > position]


def _takes_number(a, s, siblings):
    """Whether a number may stand for a list: no other overload has a number in its place."""
    return not any(_is_number(other) for other in _in_place_of(a, s, siblings))


def _forms_of_lists(s, siblings):
    """Of several lists: each may be a number or a list.

    The form is a template, so that the plain one is taken where both fit. The number 0 converts to a
    null text too: where another overload has a text in the place of a list, a further form deduces
    the number, and an overload with a text has one form per list, which deduces both.
    """
    lists = [a for a in _lists_of(s) if not a.type.is_optional]
    lists = [a for a in lists if _takes_number(a, s, siblings)]
    if len(lists) < 2:
        return
    texts = [a for a in s.arguments if _is_text(a)]
    if texts:
        for i, number in enumerate(lists):
            yield _form_of_lists(s, number, lists[i + 1 :], texts)
        return
    beside_text = [a for a in lists if any(_is_text(o) for o in _in_place_of(a, s, siblings))]
    for number in (None, *beside_text):
        yield _form_of_lists(s, number, [a for a in lists if a is not number], [])


def _form_of_lists(s, number, numbers_or_lists, texts):
    form = Form(s, is_method=False)
    if number is None:
        form.templates.append("int = 0")
    else:
        form.take_number(number)
    for a in numbers_or_lists:
        form.take_number_or_list(a)
    for a in texts:
        form.take_text(a)
    return form.text()


def _forms(s, siblings, is_method):
    """All further forms of one overload."""
    lists = _lists_of(s)
    found = lists[0] if len(lists) == 1 else None
    has_options = {a.name for a in s.arguments}.issuperset(OPTIONS)
    changes = [[]]
    if found is not None and _takes_number(found, s, siblings):
        changes.append([lambda form: form.take_number(found)])
    if found is not None and found.type.is_optional:
        changes.append([lambda form: form.take_braces(found)])
    if has_options:
        changes += [[*change, Form.take_options] for change in changes]
    for change in changes[1:]:
        form = Form(s, is_method)
        for step in change:
            step(form)
        yield form.text()


def _public(records):
    for r in with_functions(records):
        for s in r.schemas:
            if not s.outs and not s.name.startswith("_"):
                yield r, s


def _by_name(pairs):
    names = {}
    for _, s in pairs:
        names.setdefault(s.name, []).append(s)
    return names


def functions(records):
    pairs = list(_public(records))
    siblings = _by_name(pairs)
    lines = []
    for _, s in pairs:
        lines += _forms(s, siblings[s.name], is_method=False)
        lines += _forms_of_lists(s, siblings[s.name])
    return "namespace taeda {\n\n" + "\n".join(lines) + "\n\n}  // namespace taeda\n"


def methods(records):
    pairs = [(r, s) for r, s in _public(records) if _is_method(r, s)]
    siblings = _by_name(pairs)
    lines = [text for _, s in pairs for text in _forms(s, siblings[s.name], is_method=True)]
    return "\n".join(lines) + "\n"


def _is_method(r, s):
    if not self_index(s):
        return False
    return "method" in r.variants or ("inplace" in r.variants and s.is_inplace)
