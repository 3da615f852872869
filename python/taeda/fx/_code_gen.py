"""CodeGen: puts the function of a graph together from its statements."""

import inspect
import keyword
import re
from collections import namedtuple

import taeda
from taeda.fx._code import (
    Globals,
    PythonCode,
    Statements,
    Values,
    described_value,
    last_uses,
    short_dtype,
)
from taeda.fx._naming import qualified_name
from taeda.fx.node import symbolic_types
from taeda.utils import _pytree as pytree

_COLORS = {"red": 31, "blue": 34, "dim": 2}


def _plain(text, color):
    return text


def _colored(text, color):
    return f"\x1b[{_COLORS[color]}m{text}\x1b[0m"


class _Annotations:
    """What stands behind a name: its type, or with `verbose` the tensor that a pass found."""

    def __init__(self, known, verbose, include_stride, include_device, paint):
        self._known, self._verbose = known, verbose
        self._include_stride, self._include_device = include_stride, include_device
        self._paint = paint

    def of(self, node):
        value = described_value(node) if self._verbose else None
        if value is None:
            return "" if node.type is None else f" : {self._known.type_text(node.type)}"
        if isinstance(value, symbolic_types):
            return f': "Sym({value})"'
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            return f': "{self._tensor(value)}"'
        return ""

    def _tensor(self, value):
        text = self._paint(short_dtype(value.dtype), "red")
        text += self._paint(f"[{', '.join(map(str, value.shape))}]", "blue")
        if isinstance(value, taeda.Tensor):
            if self._include_stride:
                text += f"[{', '.join(map(str, value.stride()))}]"
            if self._include_device:
                text += str(value.device)
        return text


class CodeGen:
    """Writes the code of a graph; subclasses change the signature and the return statement."""

    def __init__(self):
        self._body_transformer = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        """The line with `def`; `self` is put in front of the parameters."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        parameters = ", ".join(free_vars)
        if expanded_def:
            parameters = "\n" + "".join(f"    {name},\n" for name in free_vars)
        return f"def {self._func_name}({parameters}){maybe_return_annotation}:"

    def generate_output(self, output_args, *, descs=None, repr_fn=repr):
        """The return statement."""
        return f"return {repr_fn(output_args)}"

    def process_inputs(self, *args):
        """The values of the placeholders for these arguments of the function."""
        return args

    def process_outputs(self, outputs):
        """The function's result for this value of the output node."""
        return outputs

    def additional_globals(self):
        """(name, value) pairs that the code of a subclass refers to."""
        return []

    def _gen_python_code(
        self,
        nodes,
        root_module,
        namespace,
        *,
        verbose=False,
        include_stride=False,
        include_device=False,
        colored=False,
        expanded_def=False,
        additional_meta=None,
    ):
        nodes = list(nodes)
        known = Globals(namespace)
        names = {node: namespace.create_name(node.name, node) for node in nodes}
        values = Values(names, known)
        paint = _colored if colored else _plain
        annotations = _Annotations(known, verbose, include_stride, include_device, paint)
        statements = Statements(names, known, values, root_module)
        unneeded = last_uses(nodes)
        free_vars, body, lines_of, wrapped = [], [], [], {}
        returned, previous, parameters = "", None, set()
        for index, node in enumerate(nodes):
            if node.op == "placeholder":
                default = f" = {values.text(node.args[0])}" if node.args else ""
                parameter = node.target.lstrip("*")
                _check_parameter(node, parameter, parameters)
                parameters.add(parameter)
                free_vars.append(f"{node.target}{annotations.of(node)}{default}")
                if parameter != names[node]:
                    body.append(f"{names[node]} = {parameter}\n")
                    lines_of.append(index)
                continue
            if node.op == "output":
                if node.type is not None:
                    returned = f" -> {known.type_text(node.type)}"
                body.append(self._output_statement(node.args[0], values.text) + "\n")
                lines_of.append(index)
                continue
            if verbose:
                comment = _comment(node, additional_meta)
                if comment != previous:
                    previous = comment
                    body.append(f"\n{paint(comment, 'dim')}\n")
                    lines_of += [None, None]
            statement = statements.of(node, annotations.of(node))
            if node.meta.get("is_wrapped"):
                wrapped[known.add(qualified_name(node.target), node.target)] = None
            dying = unneeded.get(node, []) + ([] if node.users else [node])
            if dying:
                freed = " = ".join([names[n] for n in dying] + ["None"])
                statement += f";  {paint(freed, 'dim')}"
            body.append(statement + "\n")
            lines_of.append(index)
        return self._assemble(known, free_vars, body, lines_of, wrapped, returned, expanded_def)

    def _output_statement(self, value, text):
        # A subclass may take the value alone.
        parameters = inspect.signature(self.generate_output).parameters
        form = {"repr_fn": text} if "repr_fn" in parameters else {}
        return self.generate_output(value, **form)

    def _assemble(self, known, free_vars, body, lines_of, wrapped, returned, expanded_def):
        if not body:
            body, lines_of = ["pass\n"], [None]
        if wrapped:
            wrap = known.add("taeda.fx.wrap", taeda.fx.wrap)
            wrapping = "\n".join(f'{wrap}("{name}")' for name in wrapped)
        else:
            wrapping = ""
        if self._body_transformer is not None:
            nodes_of_lines = dict(zip("".join(body).split("\n"), lines_of))
            body = self._body_transformer(body)
            lines_of = [nodes_of_lines.get(line) for line in "".join(body).split("\n")[:-1]]
        for name, value in self.additional_globals():
            known.add(name, value)
        # Subclasses may know nothing of the wide form.
        form = {"expanded_def": True} if expanded_def else {}
        head = self.gen_fn_def(free_vars, returned, **form)
        text = "".join(body).lstrip("\n")
        text = "\n".join("    " + line for line in text.split("\n"))
        start = wrapping.count("\n") + 4
        below = start + head.count("\n") + 1
        skipped = 1 if body[0].startswith("\n") else 0
        first = below - start
        lineno_map = {first + i: node for i, node in enumerate(lines_of[skipped:])}
        return PythonCode(f"\n{wrapping}\n\n{head}\n{text}", known.table, lineno_map, start)


def _check_parameter(node, name, others):
    """Raises where the target of a placeholder cannot be a parameter of the function."""
    problem = ""
    if not name.isidentifier() or keyword.iskeyword(name):
        problem = "is no name"
    elif name in others or (name == "self" and others):
        problem = "is the name of two parameters"
    if problem:
        raise RuntimeError(
            f"no code for placeholder {node}: its target {node.target!r} {problem}; assign another "
            "one to node.target"
        )


_FRAME = re.compile(r'File "(.+)", line (\d+), in (.+)')


def _comment(node, additional_meta):
    """Where a node comes from: the innermost line of its stack trace, and what is asked for."""
    shown = ", ".join(f"{k}: {node.meta[k]}" for k in additional_meta or () if k in node.meta)
    text = f"# {shown} # " if shown else "# "
    custom = node.meta.get("custom")
    if custom:
        text += f"Annotation: {custom} "
    lines = [line.strip() for line in (node.stack_trace or "").strip().split("\n")]
    for place, code in zip(reversed(lines[:-1]), reversed(lines[1:])):
        found = _FRAME.fullmatch(place)
        if found:
            return f"{text}File: {found[1]}:{found[2]} in {found[3]}, code: {code}"
    return f"{text}No stacktrace found for following nodes"


_PyTreeInfo = namedtuple("_PyTreeInfo", ["orig_args", "in_spec", "out_spec"])


class _PyTreeCodeGen(CodeGen):
    """For functions of containers: takes arguments apart by their spec, joins the results."""

    def __init__(self, pytree_info):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *args):
        return pytree.tree_leaves(args)

    def process_outputs(self, outputs):
        if self.pytree_info.out_spec is None:
            return outputs
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        return pytree.tree_unflatten(outputs, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        fn_args = self.pytree_info.orig_args
        if fn_args and fn_args[0] == "self":
            free_vars.insert(0, "self")
        head = super().gen_fn_def(fn_args[:], maybe_return_annotation, expanded_def=expanded_def)
        if not free_vars:
            return head
        annotated = [name for name in free_vars if ":" in name]
        if annotated:
            head += "\n    " + "".join(name + "; " for name in annotated) + "\n"
        targets = ", ".join(name.split(":")[0].split("#")[0] for name in free_vars)
        values = f"fx_pytree.tree_flatten_spec({self._arguments()}, self._in_spec)"
        return f"{head}\n    {targets}, = {values}"

    def _arguments(self):
        names, spec = self.pytree_info.orig_args, self.pytree_info.in_spec
        if not _is_args_and_kwargs(spec):
            return f"[{', '.join(names)}]"
        args, kwargs = spec.children_specs
        count = args.num_children
        pairs = ", ".join(f"'{k}':{v}" for k, v in zip(kwargs.context, names[count:]))
        return f"([{', '.join(names[:count])}], {{{pairs}}})"

    def generate_output(self, output_args, *, descs=None, repr_fn=repr):
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args, descs=descs, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({repr_fn(output_args)}, self._out_spec)"


def _is_args_and_kwargs(spec):
    """Whether the spec is that of a pair (args, kwargs)."""
    children = spec.children_specs
    return (
        spec.type is tuple
        and len(children) == 2
        and children[0].type is tuple
        and children[1].type is dict
    )


class _BoxedCodeGen(CodeGen):
    """The function takes its arguments in one list and empties it, so that they may be freed."""

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        lines = [f"def {self._func_name}(self, args_list){maybe_return_annotation}:"]
        names = [re.split("[:=]", name)[0].strip() for name in free_vars if name != "self"]
        if names:
            lines.append("    args_iter = iter(args_list)")
            lines += [f"    {name} = next(args_iter)" for name in names]
            lines.append("    args_list.clear()")
        return "\n".join(lines)
