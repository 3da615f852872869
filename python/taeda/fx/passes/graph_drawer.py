"""FxGraphDrawer: pictures of graph modules, as dot, SVG, or a page with search and zoom."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import taeda
from taeda.fx._code import described_value, short_dtype
from taeda.fx.graph_module import GraphModule, _get_attr
from taeda.fx.node import _format_arg
from taeda.fx.passes._drawing import html_page, svg_of

__all__ = ["DotGraph", "FxGraphDrawer"]

_PALETTE = (
    "AliceBlue",
    "LemonChiffon1",
    "Yellow2",
    "LightGoldenrod1",
    "PowderBlue",
    "PaleTurquoise1",
    "DarkSeaGreen3",
    "LightSalmon1",
    "Khaki1",
    "Thistle2",
)
_FIXED = {"placeholder": "AliceBlue", "output": "Yellow2", "get_attr": "LightGrey"}


class DotGraph:
    """Boxes and arrows: `to_string()` in the language of graphviz, `write(path)` as a file."""

    def __init__(self, name):
        self.name = name
        self.nodes = {}
        self.edges = []

    def add_node(self, name, label, color):
        """`label` is a list of lines."""
        self.nodes[name] = (label, color)

    def add_edge(self, source, target):
        self.edges.append((source, target))

    def to_string(self):
        lines = [f"digraph {_quoted(self.name)} {{", "rankdir=TB;", "node [shape=record];"]
        for name, (label, color) in self.nodes.items():
            text = r"\l".join(_escaped(line) for line in label) + r"\l"
            lines.append(
                f'{_quoted(name)} [label="{{{text}}}", style="filled,rounded", fillcolor={color}];'
            )
        lines += [f"{_quoted(a)} -> {_quoted(b)};" for a, b in self.edges]
        return "\n".join([*lines, "}"]) + "\n"

    def create_svg(self):
        """The picture, by graphviz where it is installed, else by a layout of our own."""
        dot = shutil.which("dot")
        if dot is None:
            return svg_of(self).encode()
        done = subprocess.run(
            [dot, "-Tsvg"], input=self.to_string().encode(), capture_output=True, check=True
        )
        return done.stdout

    def write(self, path):
        """Writes a file whose ending says what: .dot or .gv, .svg, .html."""
        path = Path(path)
        if path.suffix in (".dot", ".gv"):
            path.write_text(self.to_string())
        elif path.suffix == ".svg":
            path.write_bytes(self.create_svg())
        elif path.suffix == ".html":
            path.write_text(html_page(self))
        else:
            raise ValueError(f"a picture is .dot, .gv, .svg or .html, got '{path.name}'")

    def write_svg(self, path):
        Path(path).write_bytes(self.create_svg())

    def write_raw(self, path):
        Path(path).write_text(self.to_string())

    write_dot = write_raw


def _quoted(text):
    return '"' + text.replace('"', r"\"") + '"'


def _escaped(text):
    for c in '\\"{}<>|':
        text = text.replace(c, f"\\{c}")
    return text


class FxGraphDrawer:
    """Draws a graph module and the graph modules inside it.

    Shapes and dtypes are shown where ShapeProp noted them.
    """

    def __init__(
        self,
        graph_module,
        name,
        ignore_getattr=False,
        ignore_parameters_and_buffers=False,
        skip_node_names_in_args=True,
        parse_stack_trace=False,
        dot_graph_shape=None,
        normalize_args=False,
    ):
        self._name = name
        self._ignore_getattr = ignore_getattr
        self._ignore_parameters_and_buffers = ignore_parameters_and_buffers
        self._skip_node_names_in_args = skip_node_names_in_args
        self._parse_stack_trace = parse_stack_trace
        self._normalize_args = normalize_args
        self._dot_graphs = {name: self._to_dot(graph_module, name)}
        for node in graph_module.graph.nodes:
            if node.op == "call_module":
                inner = _get_attr(graph_module, node.target)
                if isinstance(inner, GraphModule):
                    full = f"{name}_{node.target}"
                    self._dot_graphs[full] = self._to_dot(inner, full)

    def get_dot_graph(self, submod_name=None):
        """The picture of the module, or of one inside it."""
        if submod_name is None:
            return self.get_main_dot_graph()
        return self.get_submod_dot_graph(submod_name)

    def get_main_dot_graph(self):
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name):
        return self._dot_graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self):
        return self._dot_graphs

    def write(self, path):
        """Writes the picture of the module: .dot, .gv, .svg or .html."""
        self.get_main_dot_graph().write(path)

    # ---- boxes ----
    def _to_dot(self, graph_module, name):
        dot = DotGraph(name)
        hidden = set()
        for node in graph_module.graph.nodes:
            if node.op == "get_attr" and self._ignore_getattr:
                hidden.add(node)
                continue
            dot.add_node(node.name, self._label(graph_module, node), self._color(node))
        for node in graph_module.graph.nodes:
            if node in hidden:
                continue
            for used in node.all_input_nodes:
                if used not in hidden:
                    dot.add_edge(used.name, node.name)
        return dot

    def _color(self, node):
        if node.op in _FIXED:
            return _FIXED[node.op]
        digest = hashlib.md5(node._pretty_print_target(node.target).encode()).digest()
        return _PALETTE[digest[0] % len(_PALETTE)]

    def _label(self, graph_module, node):
        lines = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            lines += self._module_lines(_get_attr(graph_module, node.target), node.target)
        elif node.op == "get_attr":
            value = (
                None if described_value(node) is not None else _get_attr(graph_module, node.target)
            )
            lines += [f"target={node.target}", *_tensor_lines(value)]
        else:
            target = node._pretty_print_target(node.target)
            lines += [f"target={target}", *self._argument_lines(node)]
        lines.append(f"num_users={len(node.users)}")
        if self._parse_stack_trace and node.stack_trace:
            lines.append(node.stack_trace.strip().split("\n")[-1].strip())
        return lines + _tensor_lines(described_value(node))

    def _module_lines(self, module, target):
        lines = [f"target={target}", type(module).__name__]
        lines += [f"{key}={getattr(module, key)}" for key in getattr(module, "__constants__", ())]
        if not self._ignore_parameters_and_buffers:
            named = [*module.named_parameters(), *module.named_buffers()]
            lines += [f"{name}: {', '.join(_tensor_lines(t))}" for name, t in named]
        return lines

    def _argument_lines(self, node):
        args, kwargs = node.args, node.kwargs
        if self._skip_node_names_in_args:
            args = [a for a in args if not hasattr(a, "op")]
            kwargs = {k: v for k, v in kwargs.items() if not hasattr(v, "op")}
        lines = [f"args={_format_arg(tuple(args), max_list_len=8)}"] if args else []
        return lines + ([f"kwargs={_format_arg(kwargs)}"] if kwargs else [])


def _tensor_lines(value):
    if isinstance(value, taeda.Tensor) or (hasattr(value, "dtype") and hasattr(value, "shape")):
        return [f"{short_dtype(value.dtype)}[{', '.join(map(str, value.shape))}]"]
    return []
