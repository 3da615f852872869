"""RewritingTracer: turns `assert` statements into steps of the graph before it traces."""

import ast
import copy
import inspect
import textwrap
from types import FunctionType

import taeda
from taeda._own_names import own_module
from taeda.fx._symbolic_trace import Tracer
from taeda.nn import Module

__all__ = ["AST_Rewriter", "RewritingTracer"]

_ASSERT = "_taeda_assert"


class AST_Rewriter(ast.NodeTransformer):
    """Rewrites functions; a method `visit_<kind of statement>` says what becomes of a statement."""

    def rewrite(self, fn):
        """The function with its statements replaced; globals, closure and defaults stay."""
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
        function = self.visit(tree.body[0])
        function.decorator_list = []
        # A function around it, so that names of the closure are found as such.
        names = [_ASSERT, *fn.__code__.co_freevars]
        outer = ast.parse(f"def outer({', '.join(names)}):\n    return None").body[0]
        outer.body = [function, *outer.body]
        module = ast.fix_missing_locations(ast.Module([outer], []))
        code = _inner_code(_inner_code(compile(module, fn.__code__.co_filename, "exec")))
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        cells[_ASSERT] = _cell_of(taeda._assert)
        closure = tuple(cells[name] for name in code.co_freevars)
        rewritten = FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
        rewritten.__kwdefaults__ = fn.__kwdefaults__
        rewritten.__annotations__ = dict(fn.__annotations__)
        return rewritten

    def visit_Assert(self, node):
        """`assert test, message` as a call of `taeda._assert`."""
        message = node.msg or ast.Constant("")
        call = ast.Call(ast.Name(_ASSERT, ast.Load()), [node.test, message], [])
        return ast.copy_location(ast.Expr(call), node)


def _inner_code(code):
    return next(c for c in code.co_consts if inspect.iscode(c))


def _cell_of(value):
    return (lambda: value).__closure__[0]


class RewritingTracer(Tracer):
    """Traces functions and modules with `assert` statements about traced values."""

    def trace(self, root, concrete_args=None):
        return super().trace(_rewritten(root), concrete_args)


def _rewritten(root):
    """A function, or a module that shares its parameters, with `assert` statements replaced."""
    if isinstance(root, FunctionType):
        return AST_Rewriter().rewrite(root)
    module = copy.copy(root)
    module._modules = {name: child and _rewritten(child) for name, child in root._modules.items()}
    kind = type(root)
    forward = kind.forward
    is_library = own_module(kind).startswith("taeda.nn")
    if isinstance(forward, FunctionType) and not is_library and kind is not Module:
        members = {"forward": AST_Rewriter().rewrite(forward), "__module__": kind.__module__}
        module.__class__ = type(kind.__name__, (kind,), members)
    return module
