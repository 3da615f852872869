"""Closures, cells, global and class scopes, exec, eval and the namespaces as dicts."""

import builtins

from frames_corpus import over, pure

counter = 0


@pure
def case_closure_reads(p):
    x = 1

    def f():
        y = 2

        def g():
            return x + y, (lambda: x * 10 + y)()

        return g()

    return f()


def case_nonlocal(p):
    def make():
        n = 0

        def up():
            nonlocal n
            n += 1
            return n

        def reset():
            nonlocal n
            del n
            n = 100

        return up, reset

    up, reset = make()
    out = [up(), up()]
    reset()
    return [*out, up()]


def case_nonlocal_levels(p):
    x = "outer"

    def one():
        def two():
            nonlocal x
            x = "two"

            def three():
                nonlocal x
                x += " three"

            three()

        two()
        return x

    return one(), x


def case_global_statement(p):
    global counter
    counter = 5

    def up():
        global counter
        counter += 1

    up()
    up()
    return counter


def case_global_created_and_deleted(p):
    def make():
        global made_here
        made_here = [1]
        made_here.append(2)

    make()
    out = list(made_here)

    def drop():
        global made_here
        del made_here

    drop()
    try:
        made_here
    except NameError as error:
        return out, str(error)


def case_builtin_shadowed(p):
    def f():
        len = lambda x: "mine"
        return len([])

    namespace = {"len": lambda x: "global"}
    exec("def g(): return len([1, 2])", namespace)
    first = namespace["g"]()
    del namespace["len"]
    return f(), first, namespace["g"]()


def case_builtins_replaced(p):
    original = builtins.abs
    builtins.abs = lambda x: "replaced"
    try:
        return abs(-1)
    finally:
        builtins.abs = original


def case_own_builtins(p):
    namespace = {"__builtins__": {"len": len, "answer": 42}}
    exec("def f(): return answer, len('ab')\ndef g(): return max(1, 2)", namespace)
    try:
        return namespace["f"](), namespace["g"]()
    except NameError as error:
        return namespace["f"](), str(error)


def case_cell_contents(p):
    def f():
        def g():
            return x

        before = g.__closure__[0]
        try:
            before.cell_contents
        except ValueError as error:
            p.log(str(error))
        x = 5
        return before.cell_contents, g()

    return f()


def case_cell_written_from_outside(p):
    x = 1

    def g():
        return x

    g.__closure__[0].cell_contents = 50
    return x, g()


def case_argument_cells(p):
    def f(a, *args, b=2, **kwargs):
        def g():
            nonlocal a
            a += b
            return a, args, kwargs

        return g(), a

    return f(1, 3, b=4, c=5)


def case_late_binding(p):
    functions = []
    for i in range(3):
        functions.append(lambda: i)
        functions.append(lambda i=i: i)
    return [f() for f in functions]


def case_del_names(p):
    x, y, z = 1, 2, 3
    del x, (y, z)
    out = []
    for name in ("x", "y", "z"):
        out.append(name in locals())
    x = 9
    return x, out


def case_free_variable_unbound(p):
    def f(define):
        if define:
            value = 1

        def g():
            return value

        return g

    out = [f(True)()]
    try:
        f(False)()
    except NameError as error:
        out.append(str(error))
    return out


def case_class_scope(p):
    x = "function"

    class A:
        x = "class"
        z = x

        def read(self):
            return x

    return A.z, A().read(), A.x


def case_class_scope_skips_function(p):
    counter = "function"

    class A:
        y = counter
        counter = "class"

    return type(A.y).__name__, counter


def case_class_scope_falls_back(p):
    x = "function"

    class A:
        seen = [x]

        class B:
            seen = x

    return A.seen, A.B.seen


def case_class_nonlocal(p):
    count = 0

    class A:
        nonlocal count
        count += 1

        def up(self):
            nonlocal count
            count += 10

    A().up()
    return count


def case_class_global(p):
    class A:
        global counter
        counter = "from class"

    return counter, hasattr(A, "counter")


def case_locals_in_function(p):
    def f(a, b=2):
        c = a + b
        seen = dict(locals())
        (lambda: c)
        return seen

    return f(1)


def case_locals_snapshot(p):
    def f():
        x = 1
        first = locals()
        first["x"] = 50
        first["y"] = 2
        return x, first["x"], "y" in first

    return f()


def case_locals_in_class(p):
    class A:
        a = 1
        locals()["b"] = 2
        names = sorted(n for n in locals() if not n.startswith("__"))

    return A.b, A.names


def case_exec_in_namespace(p):
    namespace = {"p": p}
    exec("x = 1\ny = [x + i for i in range(3)]\np.log('exec', y)\ndef f(): return x", namespace)
    return namespace["y"], namespace["f"]()


def case_exec_two_namespaces(p):
    outer, inner = {"a": 1}, {}
    exec("b = a + 1\nglobal c\nc = b * 10\nclass K:\n    d = c", outer, inner)
    return sorted(inner), outer["c"], inner["K"].d


def case_exec_sees_locals(p):
    x = 5
    namespace = {}
    exec("y = x * 2", {"x": x}, namespace)
    return namespace, eval("x + 1"), eval("[x for _ in range(2)]", {"x": 7})


def case_exec_mapping(p):
    class Names(dict):
        def __missing__(self, key):
            p.log("missing", key)
            if key == "unknown":
                return "found"
            raise KeyError(key)

    names = Names()
    exec("z = unknown\nw = len(z)\ndel z", {}, names)
    return dict(names)


def case_exec_delete_missing(p):
    try:
        exec("del nothing", {})
    except NameError as error:
        return str(error)


def case_exec_errors(p):
    out = []
    for text in ("x = (", "1 / 0", "undefined", "return 5"):
        try:
            exec(text, {})
        except (SyntaxError, ZeroDivisionError, NameError) as error:
            out.append(type(error).__name__)
    return out


def _compiled():
    return compile(
        "def f(a):\n    def g():\n        return a\n    return g\nr = f(3)()", "<t>", "exec"
    )


_code = _compiled()


@over(_code)
def case_exec_code_object(p):
    namespace = {}
    exec(_code, namespace)
    return namespace["r"]


def case_exec_with_closure(p):
    x = 3

    def f():
        nonlocal x
        x += 1

    exec(f.__code__, {}, closure=f.__closure__)
    return x


def case_globals_dict(p):
    globals()["dynamic_name"] = 3
    try:
        value = dynamic_name
    finally:
        del globals()["dynamic_name"]
    return value, "case_globals_dict" in globals(), "dynamic_name" in globals()


def case_vars(p):
    class A:
        x = 1

    a = A()
    vars(a)["y"] = 2
    local = 3
    return a.y, vars(a), "x" in vars(A), vars()["local"], sorted(set(dir()) - {"A"})


def case_lambda_defaults(p):
    n = 3
    f = lambda x, y=n, *, z=[]: (x, y, z)
    n = 100
    f(1)[2].append(n)
    return f(2), (lambda: n)()


def case_comprehension_scope(p):
    i, out = "outer", []
    squares = [i * i for i in range(3)]
    [out.append(j) for j in range(2)]
    nested = [[i for i in range(i)] for i in range(3)]
    return i, squares, out, nested, "j" in locals()


def case_comprehension_scope_after_error(p):
    x = "kept"
    try:
        [1 // x for x in (1, 0)]
    except ZeroDivisionError:
        p.log("error")
    return x


def case_comprehension_scope_unbound(p):
    def f():
        [y for y in range(2)]
        try:
            return y
        except NameError as error:
            y = 1
            return type(error).__name__, y

    return f()


def case_name_mangling_and_imports(p):
    def f():
        import math as m
        from os import path as pth

        def g():
            return m.floor(2.5), pth.basename("a/b")

        return g()

    return f()


def case_shared_cells(p):
    def make():
        log = []
        return (lambda x: log.append(x)), (lambda: log)

    add, read = make()
    add(1)
    add(2)
    other_add, other_read = make()
    other_add(3)
    return read(), other_read()
