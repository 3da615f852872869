"""Import statements, packages that a finder makes, failing imports and a replaced __import__."""

import builtins
import contextlib
import importlib.abc
import importlib.util
import sys

from frames_corpus import over


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules from a dict of sources; a name with a dot at its end is a package."""

    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        for key in (name, name + "."):
            if key in self.sources:
                return importlib.util.spec_from_loader(name, self, is_package=key.endswith("."))
        return None

    def exec_module(self, module):
        package = hasattr(module, "__path__")
        exec(self.sources[module.__name__ + ("." if package else "")], vars(module))


@contextlib.contextmanager
def modules(**sources):
    """Makes modules importable; `__` in a name stands for a dot."""
    finder = Finder({name.replace("__", "."): text for name, text in sources.items()})
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in finder.sources:
            sys.modules.pop(name.rstrip("."), None)


def case_import_kinds(p):
    import os
    import os.path
    import os.path as short
    from os import path, sep as separator

    return os.sep == separator, short is path, os.path is path


def case_import_inside_loop(p):
    out = []
    for _ in range(2):
        import math
        from math import floor, pi as ratio

        out.append((floor(ratio), math.pi == ratio))
    return out


def case_module_executes_once(p):
    p.log("start")
    with modules(fc_once="import sys\ncount = 1\nclass A:\n    x = count\n"):
        import fc_once
        import fc_once as again

        fc_once.count += 1
        return again.count, fc_once.A.x, fc_once.__name__


@over(Finder.find_spec, Finder.exec_module)
def case_finder_in_python(p):
    with modules(fc_found="value = [i * i for i in range(3)]"):
        from fc_found import value

        return value


def case_package(p):
    with modules(fc_pack__="name = 'pack'", fc_pack__sub="from . import name\nfrom .other import y",
                 fc_pack__other="y = 5"):  # fmt: skip
        import fc_pack.sub

        return fc_pack.sub.name, fc_pack.sub.y, fc_pack.other.y


def case_from_package_imports_module(p):
    with modules(fc_pk2__="", fc_pk2__inner="z = 1"):
        from fc_pk2 import inner

        return inner.z, inner.__package__


def case_relative_levels(p):
    with modules(
        fc_pk3__="top = 1",
        fc_pk3__a__="from .. import top\nfrom ..b import leaf",
        fc_pk3__b="leaf = 'leaf'",
    ):
        from fc_pk3.a import leaf, top

        return leaf, top


def case_relative_without_package(p):
    out = []
    for namespace in ({"__name__": "alone"}, {"__name__": "alone", "__package__": ""}):
        try:
            exec("from . import anything", namespace)
        except (ImportError, KeyError) as error:
            out.append((type(error).__name__, str(error)))
    return out


def case_star_import(p):
    with modules(fc_star="a = 1\n_b = 2\nc = 3", fc_all="__all__ = ['_x']\n_x = 4\ny = 5"):
        one, two = {}, {}
        exec("from fc_star import *", one)
        exec("from fc_all import *", two)
    return sorted(n for n in one if n[:2] != "__"), sorted(n for n in two if n[:2] != "__")


def case_star_import_errors(p):
    with modules(fc_bad="__all__ = ['missing']", fc_num="__all__ = [1]"):
        out = []
        for name in ("fc_bad", "fc_num"):
            try:
                exec(f"from {name} import *", {})
            except (AttributeError, TypeError) as error:
                out.append(str(error))
        return out


def case_missing_module(p):
    try:
        import fc_nothing_at_all
    except ModuleNotFoundError as error:
        return str(error), error.name


def case_missing_submodule(p):
    out = []
    try:
        import math.missing
    except ModuleNotFoundError as error:
        out.append(str(error))
    with modules(fc_pk4__=""):
        try:
            import fc_pk4.missing
        except ModuleNotFoundError as error:
            out.append(str(error))
    return out


def case_missing_name(p):
    try:
        from math import nothing
    except ImportError as error:
        return str(error).split(" (")[0], error.name


def case_error_inside_module(p):
    with modules(fc_fails="x = 1\nraise ValueError('inside')"):
        out = []
        for _ in range(2):
            try:
                import fc_fails
            except ValueError as error:
                out.append((str(error), "fc_fails" in sys.modules))
        return out


def case_circular(p):
    with modules(
        fc_c1="import fc_c2\nx = 1\ny = fc_c2.f()",
        fc_c2="import fc_c1\ndef f():\n    return fc_c1.x + 1",
    ):
        import fc_c1

        return fc_c1.y


def case_circular_name_error(p):
    with modules(fc_d1="from fc_d2 import y\nx = 1", fc_d2="from fc_d1 import x\ny = 2"):
        try:
            import fc_d1
        except ImportError as error:
            return "partially initialized" in str(error), error.name


def case_module_getattr(p):
    text = "def __getattr__(name):\n    if name == 'lazy':\n        return 42\n    raise AttributeError(name)"
    with modules(fc_lazy=text):
        import fc_lazy
        from fc_lazy import lazy

        try:
            from fc_lazy import other
        except ImportError as error:
            return lazy, fc_lazy.lazy, error.name


def case_replaced_import(p):
    original = builtins.__import__

    def spy(name, *args, **kwargs):
        p.log(name, args[2] if len(args) > 2 else None, args[3] if len(args) > 3 else 0)
        return original(name, *args, **kwargs)

    builtins.__import__ = spy
    try:
        import math
        from os import path, sep

        return math.floor(1.5), path.sep == sep
    finally:
        builtins.__import__ = original


def case_import_from_own_builtins(p):
    def fake(name, globals=None, locals=None, fromlist=(), level=0):
        p.log(name, fromlist, level)
        return {"a": 1} if not fromlist else type("M", (), {"x": 5})

    namespace = {"__builtins__": {"__import__": fake}}
    exec("import anything\nfrom deep.module import x", namespace)
    return namespace["anything"], namespace["x"]


def case_no_import_function(p):
    try:
        exec("import math", {"__builtins__": {}})
    except ImportError as error:
        return str(error)


def case_import_in_class_and_nested(p):
    class A:
        import math as m
        from string import digits

    def outer():
        import math

        return lambda: math.ceil(1.2)

    return A.m.floor(2.7), A.digits[:3], outer()()


def case_global_import(p):
    def f():
        global imported_here
        import string as imported_here

    f()
    value = imported_here.digits[0]
    globals().pop("imported_here")
    return value


def case_optional_import(p):
    try:
        import fc_fast as engine
    except ImportError:
        import fractions as engine
    return engine.__name__


def case_sys_modules_entries(p):
    sys.modules["fc_value"] = type("M", (), {"x": 3})
    sys.modules["fc_blocked"] = None
    try:
        from fc_value import x

        try:
            import fc_blocked
        except ModuleNotFoundError as error:
            return x, str(error)
    finally:
        del sys.modules["fc_value"], sys.modules["fc_blocked"]


def case_future_and_import_module(p):
    namespace = {}
    exec("from __future__ import annotations\ndef f(x: undefined): return x", namespace)
    module = importlib.import_module("os.path")
    return namespace["f"].__annotations__, namespace["f"](1), module.basename("a/b")
