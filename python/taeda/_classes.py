"""taeda.classes: classes of C++ extensions, `taeda.classes.<namespace>.<name>`.

An extension registers a class with `torch::class_` or `m.class_`; objects of it are `ScriptObject`s
here, whose methods and properties are the C++ ones.
"""

import types

from taeda import _C
from taeda._C import _dispatch

__all__ = ["ScriptObject", "classes"]

_PREFIX = "__torch__.torch.classes."


class ScriptObject(_C._ScriptObjectHolder):
    """An object of a class that an extension registered."""

    def __getattr__(self, name):
        qualified = _dispatch.class_name_of(self)
        _, methods, properties = _dispatch.class_parts(qualified)
        if name in properties:
            return _dispatch.call_class(qualified, "getter", name, (self,), {})
        if name not in methods:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        before = () if methods[name] else (self,)

        def method(*args, **kwargs):
            return _dispatch.call_class(qualified, "method", name, (*before, *args), kwargs)

        method.__name__ = name
        method.__qualname__ = f"{qualified}.{name}"
        return method

    def __setattr__(self, name, value):
        qualified = _dispatch.class_name_of(self)
        properties = _dispatch.class_parts(qualified)[2]
        if name not in properties:
            super().__setattr__(name, value)
        elif not properties[name]:
            raise AttributeError("can't set attribute")
        else:
            _dispatch.call_class(qualified, "setter", name, (self, value), {})

    def _type(self):
        return _ClassType(_dispatch.class_name_of(self))

    def _method_names(self):
        return sorted(_dispatch.class_parts(_dispatch.class_name_of(self))[1])

    def _has_method(self, name):
        return name in self._method_names()

    def __reduce_ex__(self, protocol):
        qualified = _dispatch.class_name_of(self)
        if not self._has_method("__getstate__"):
            raise RuntimeError(
                f"Tried to serialize object {qualified} which does not have a __getstate__ method "
                "defined!"
            )
        state = _dispatch.call_class(qualified, "method", "__getstate__", (self,), {})
        return _restored, (qualified, state)

    def __copy__(self):
        return _restored(*self.__reduce_ex__(2)[1])

    def __deepcopy__(self, memo):
        return self.__copy__()


def _restored(qualified, state):
    return _dispatch.call_class(qualified, "method", "__setstate__", (state,), {})


_dispatch.set_object_class(ScriptObject)


class _ClassType:
    """The type of an object, by its name in schemas."""

    def __init__(self, qualified):
        self._qualified = qualified

    def qualified_name(self):
        return self._qualified

    def name(self):
        return self._qualified.rpartition(".")[2]

    def __str__(self):
        return self._qualified


class _Class:
    """A registered class: calling it makes an object; static methods are attributes."""

    def __init__(self, qualified):
        self._qualified = qualified
        self.__name__ = qualified.rpartition(".")[2]

    def __call__(self, *args, **kwargs):
        return _dispatch.call_class(self._qualified, "constructor", "__init__", args, kwargs)

    def __getattr__(self, name):
        methods = _dispatch.class_parts(self._qualified)[1]
        if name.startswith("__") or not methods.get(name):
            raise AttributeError(f"{self._qualified} has no static method '{name}'")
        return lambda *args, **kwargs: _dispatch.call_class(
            self._qualified, "method", name, args, kwargs
        )

    def __repr__(self):
        return f"<class {self._qualified}>"


class _Namespace(types.ModuleType):
    """The classes of one namespace."""

    def __init__(self, name):
        super().__init__(f"taeda.classes.{name}")
        self._namespace = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        qualified = f"{_PREFIX}{self._namespace}.{name}"
        if _dispatch.class_parts(qualified) is None:
            raise RuntimeError(f"Class {self._namespace}.{name} not registered!")
        made = _Class(qualified)
        setattr(self, name, made)
        return made


class _Classes(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = _Namespace(name)
        setattr(self, name, namespace)
        return namespace

    @property
    def loaded_libraries(self):
        import taeda

        return taeda.ops.loaded_libraries

    def load_library(self, path):
        """Loads a shared object with the classes and operators that it registers."""
        import taeda

        taeda.ops.load_library(path)


classes = _Classes("taeda.classes")
