"""Types of arguments and results in schemas: texts that can be asked what they hold.

A type is a `str`, as the schema prints it (`Optional[List[int]]`), of the class of its kind.
"""

__all__ = [
    "BoolType",
    "ComplexType",
    "DeviceObjType",
    "FloatType",
    "IntType",
    "ListType",
    "NoneType",
    "NumberType",
    "OptionalType",
    "StringType",
    "TensorType",
    "Type",
    "type_of_text",
]


class Type(str):
    """A type; those without a class of their own (a generator, a script class) are of this one."""

    __slots__ = ()

    def kind(self):
        """The name of its class."""
        return type(self).__name__

    def containedTypes(self):
        """The types that it is made of."""
        return []

    def isSubtypeOf(self, other):
        """Whether a value of this type may be given where the other one is asked for."""
        return self == other or other._takes(self)

    def _takes(self, given):
        return False


class _PlainType(Type):
    """A type that is made of no other."""

    __slots__ = ()
    text = ""

    def __new__(cls):
        return super().__new__(cls, cls.text)

    @classmethod
    def get(cls):
        """The type."""
        return cls()


class TensorType(_PlainType):
    __slots__ = ()
    text = "Tensor"


class IntType(_PlainType):
    __slots__ = ()
    text = "int"


class FloatType(_PlainType):
    __slots__ = ()
    text = "float"


class ComplexType(_PlainType):
    __slots__ = ()
    text = "complex"


class BoolType(_PlainType):
    __slots__ = ()
    text = "bool"


class StringType(_PlainType):
    __slots__ = ()
    text = "str"


class DeviceObjType(_PlainType):
    __slots__ = ()
    text = "Device"


class NoneType(_PlainType):
    __slots__ = ()
    text = "NoneType"


class NumberType(_PlainType):
    """Any number: an integer, a float or a complex one."""

    __slots__ = ()
    text = "number"

    def _takes(self, given):
        return isinstance(given, (IntType, FloatType, ComplexType))


class _TypeOfOne(Type):
    """A type that is made of one other."""

    __slots__ = ("_element",)
    text = ""

    def __new__(cls, element):
        self = super().__new__(cls, f"{cls.text}[{element}]")
        self._element = element
        return self

    def containedTypes(self):
        return [self._element]

    def getElementType(self):
        """The type that it is made of."""
        return self._element


class ListType(_TypeOfOne):
    text = "List"


class OptionalType(_TypeOfOne):
    text = "Optional"

    def _takes(self, given):
        if isinstance(given, OptionalType):
            given = given.getElementType()
        return isinstance(given, NoneType) or given.isSubtypeOf(self._element)


_PLAIN = {cls.text: cls() for cls in _PlainType.__subclasses__()}


def type_of_text(text):
    """The type that a schema prints so."""
    for cls in (ListType, OptionalType):
        if text.startswith(f"{cls.text}["):
            return cls(type_of_text(text[len(cls.text) + 1 : -1]))
    return _PLAIN.get(text) or Type(text)
