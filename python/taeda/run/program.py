"""Runs a script, a module or a line of code as `__main__`, as the interpreter itself does."""

import io
import os
import sys
from importlib.machinery import BuiltinImporter, SourceFileLoader, SourcelessFileLoader

ModuleType = type(sys)


class ProgramError(Exception):
    """There is no such program; the text is what the interpreter would print."""


def _fresh_main():
    """A new `__main__`; the one before it is kept alive by whoever runs."""
    main = ModuleType("__main__")
    main.__builtins__ = sys.modules["builtins"]
    main.__annotations__ = {}
    sys.modules["__main__"] = main
    return main


def _set_first_path(entry):
    if not sys.flags.safe_path:
        sys.path[0] = entry


def _in_main_of(folder, path):
    """`__main__` of a folder or an archive, found by its loader."""
    from importlib.util import find_spec

    sys.path.insert(0, path) if sys.flags.safe_path else _set_first_path(path)
    del sys.modules["__main__"]
    spec = find_spec("__main__")
    if spec is None or spec.loader is None:
        raise ProgramError(f"can't find '__main__' module in {folder!r}")
    return spec, spec.loader.get_code("__main__")


def _script(path):
    if os.path.isdir(path) or (not path.endswith(".py") and _is_archive(path)):
        spec, code = _in_main_of(path, path)
        main = _fresh_main()
        main.__spec__, main.__loader__, main.__file__ = spec, spec.loader, spec.origin
        main.__package__ = ""
        return main, code
    full_path = os.path.join(os.getcwd(), path)
    try:
        with io.open_code(full_path) as file:
            source = file.read()
    except OSError as error:
        text = f"can't open file {full_path!r}: [Errno {error.errno}] {error.strerror}"
        raise ProgramError(text) from None
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    main = _fresh_main()
    main.__file__, main.__cached__ = full_path, None
    main.__loader__ = SourceFileLoader("__main__", main.__file__)
    if path.endswith(".pyc"):
        return main, SourcelessFileLoader("__main__", path).get_code("__main__")
    return main, compile(source, main.__file__, "exec", dont_inherit=True)


def _is_archive(path):
    import zipimport

    try:
        zipimport.zipimporter(path)
    except zipimport.ZipImportError:
        return False
    return True


def _module(name):
    from importlib.util import find_spec

    _set_first_path(os.getcwd())
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            package, name = name, f"{name}.__main__"
            spec = find_spec(name)
            if spec is None:
                raise ProgramError(
                    f"No module named {name}; {package!r} is a package and cannot be directly "
                    "executed"
                )
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ProgramError(
            f"Error while finding module specification for {name!r} "
            f"({type(error).__name__}: {error})"
        ) from None
    code = spec.loader.get_code(name) if spec is not None else None
    if code is None:
        raise ProgramError(f"No module named {name}")
    main = _fresh_main()
    main.__spec__, main.__loader__, main.__package__ = spec, spec.loader, spec.parent
    main.__file__, main.__cached__ = spec.origin, spec.cached
    sys.argv[0] = spec.origin
    return main, code


def _text(source, name):
    _set_first_path("")
    main = _fresh_main()
    main.__loader__ = BuiltinImporter
    return main, compile(source, name, "exec", dont_inherit=True)


def _find(kind, value):
    if kind == "module":
        return _module(value)
    if kind == "code":
        return _text(value, "<string>")
    return _text(sys.stdin.read(), "<stdin>") if value == "-" else _script(value)


def _without_own_frames(trace):
    """The traceback from the program's first frame on."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def _report(error):
    """Prints an error that nobody caught, as the interpreter does; the exit status."""
    trace = _without_own_frames(error.__traceback__)
    error.__traceback__ = trace
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    sys.last_exc = error
    sys.excepthook(type(error), error, trace)
    if isinstance(error, KeyboardInterrupt):
        import signal

        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 1


def run(kind, value, arguments):
    """Runs a "script", a "module" or "code"; returns the exit status of a program that raised.

    A program that ends by SystemExit raises it here.
    """
    sys.argv[:] = [{"module": "-m", "code": "-c"}.get(kind, value), *arguments]
    before = sys.modules["__main__"]  # whose functions are on the stack
    try:
        main, code = _find(kind, value)
        exec(code, vars(main))
    except (SystemExit, ProgramError):
        raise
    except BaseException as error:
        return _report(error)
    finally:
        del before
    return 0
