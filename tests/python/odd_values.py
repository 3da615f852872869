"""Texts of argument values for odd calls, by the type that a schema gives: tensors, numbers, lists.

`OddValues(rng).value(type)` gives an expression over `t`, the library. Most values have the type
asked for and sizes that fit one another, so that a call gets past the reading of its arguments;
some are at a limit of the type, and a few are of another type.
"""

DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "complex64",
    "complex128",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
)
FLOATS = DTYPES[:6]
SHAPES = (
    *("(2, 3)",) * 6,
    *("(3,)", "(3, 3)", "(2, 1)", "(1, 3)", "(1,)", "(4,)"),
    *("(2, 3, 4)", "(2, 2, 3, 3)", "(1, 2, 4, 4)", "(2, 1, 2, 1, 2, 1, 2)"),
    *("()",) * 2,
    *("(0,)", "(0, 3)", "(2, 0)", "(2, 0, 3)"),
)
# None of these lies between 2**20 and 2**31: a result of that size would be allocated, slowly.
WIDE_INTS = (
    *("2**31", "-2**31", "2**32", "2**53 + 1", "2**61", "2**62", "-2**62", "2**62 - 1"),
    *("2**63 - 1", "2**63 - 2", "-2**63", "-2**63 + 1", "2**63", "2**64", "-2**64", "10**40"),
)
SMALL_INTS = ("0", "1", "2", "3", "-1", "-2", "-3", "4", "7", "-7")
FLOAT_NUMBERS = (
    *("0.5", "1.0", "2.0", "-1.5", "0.0", "-0.0", "1e-300", "1e308", "-1e308", "5e-324"),
    *("nan", "inf", "-inf", "float(2**63)", "-float(2**63)", "float(2**64)"),
)
STRINGS = (
    *("'mean'", "'sum'", "'none'", "'floor'", "'trunc'", "'ij'", "'xy'", "'amax'", "'prod'"),
    *(
        "'tanh'",
        "'left'",
        "'constant'",
        "'float32'",
        "'cpu'",
        "'meta'",
        "'grad'",
        "''",
        "'no such'",
    ),
    *("'a\\0b'", "'\\ud800'", "'é' * 300", "'ij,jk->ik'", "'...i,i...'"),
)
OTHERS = (
    *("None", "True", "'text'", "b'bytes'", "object()", "t", "t.Tensor", "int", "{}", "[]", "()"),
    *("{'a': 1}", "{1, 2}", "[None]", "[[1], [2, 3]]", "...", "slice(None)", "range(3)", "1j"),
    *("iter([1, 2])", "bytearray(16)", "memoryview(bytes(8))", "(lambda *a: a[0])", "len", "t.sin"),
    *("t.float32", "t.strided", "t.device('meta')", "t.Size([2, 3])", "t.Generator()", "nan"),
    *("[t.ones(2), 3]", "[[[[]]]]", "[nan, 2**70]", "type('N', (), {'__index__': int})()"),
)
INDEX_PARTS = (
    *("0", "-1", "2", "2**62", "-2**63", "None", "...", "slice(None)", "slice(1, None)", "True"),
    *("slice(None, None, 2)", "slice(-2**63, 2**63 - 1, 2**62)", "slice(2**70, -2**70)", "[0, 1]"),
    *(
        "slice(None, None, -1)",
        "slice(None, None, 0)",
        "[[0], [1]]",
        "[]",
        "[True, False]",
        "range(2)",
    ),
)
# Changes of one argument `a`; those of tensors are refused by other values, which is an answer too.
CHANGES = (
    *("a.to('meta')", "a.t()", "a.mT", "a[..., ::2]", "a[..., :0]", "a[0]", "a[None]", "a.conj()"),
    *("a.expand(2, *a.shape)", "a.flip(0)", "a.clone().requires_grad_()", "a.unsqueeze(-1)", "-a"),
    *(
        "a.to(t.complex64).conj().imag",
        "a.to(t.bool)",
        "a.to(t.int32)",
        "a.to(t.float64)",
        "a * nan",
    ),
    *(
        "a.to(t.float8_e5m2)",
        "a.to(t.uint64)",
        "a.sum()",
        "a.as_strided((2, 2), (1, 1))",
        "a * 0 + 7",
    ),
    *("t.nn.Parameter(a)", "a - 2**40", "a * 2**62", "a + 1", "[a]", "[a, a]", "(*a, *a)", "a[1:]"),
)
FUNCTIONS = (
    "(lambda *a: a[0])",
    "(lambda x: x.sum())",
    "(lambda *a: a)",
    "t.sin",
    "t.sum",
    "t.mul",
)


class OddValues:
    """Draws values with `rng`, a random.Random."""

    def __init__(self, rng):
        self.rng = rng
        # A schema's type without its marks of aliasing and optionality: what gives a value of it.
        self.makers = {
            "Tensor": self.tensor,
            "int": self.integer,
            "SymInt": self.integer,
            "float": self.floating,
            "number": self.number,
            "Scalar": self.number,
            "bool": self.boolean,
            "str": lambda: self.pick(STRINGS),
            "ScalarType": self.dtype,
            "Layout": lambda: self.pick(("t.strided", "t.strided", "t.sparse_coo", "t.jagged")),
            "Device": lambda: self.pick(
                ("'cpu'", "'meta'", "t.device('cpu', 0)", "'cuda'", "'cpu:7'")
            ),
            "MemoryFormat": self.memory_format,
            "Generator": lambda: self.pick(("t.Generator()", "t.Generator().manual_seed(3)")),
            "function": lambda: self.pick(FUNCTIONS),
            "index": self.index,
            "any": self.anything,
        }

    def pick(self, choices):
        return choices[int(self.rng.random() * len(choices))]

    def value(self, schema_type):
        """A value for an argument of this type, now and then of another."""
        chance = self.rng.random()
        if chance < 0.03:
            return self.pick(OTHERS)
        optional = schema_type.endswith("?")
        if optional:
            if chance < 0.4:
                return "None"
            schema_type = schema_type[:-1]
        if schema_type.endswith("]"):
            return self.sequence(schema_type[: schema_type.rindex("[")])
        return self.makers.get(schema_type.split("(")[0], self.anything)()

    def anything(self):
        chance = self.rng.random()
        if chance < 0.4:
            return self.tensor()
        if chance < 0.6:
            return self.number()
        return self.sequence("int") if chance < 0.7 else self.pick(OTHERS)

    def integer(self):
        chance = self.rng.random()
        if chance < 0.78:
            return self.pick(SMALL_INTS)
        if chance < 0.97:
            return self.pick(WIDE_INTS)
        return self.pick(("t.tensor(1)", "True", "1.0", "t.ones(2).numel()", "t.tensor([0, 1])"))

    def floating(self):
        return self.pick(FLOAT_NUMBERS) if self.rng.random() < 0.8 else self.integer()

    def number(self):
        chance = self.rng.random()
        if chance < 0.4:
            return self.pick(FLOAT_NUMBERS)
        if chance < 0.9:
            return self.integer()
        return self.pick(("True", "False", "1j", "complex(nan, inf)", "t.tensor(2.5)"))

    def boolean(self):
        return self.pick(("True", "False")) if self.rng.random() < 0.95 else self.number()

    def dtype(self):
        return "t." + self.pick(DTYPES)

    def memory_format(self):
        names = ("contiguous", "preserve")
        if self.rng.random() < 0.4:
            return self.pick(("t.channels_last", "t.channels_last_3d"))
        return f"t.{self.pick(names)}_format"

    def sequence(self, element):
        """A list of up to four elements; for numbers now and then one number or a Size."""
        length = self.pick((0, 1, 1, 2, 2, 2, 3, 4))
        if element in ("int", "SymInt"):
            chance = self.rng.random()
            if chance < 0.1:
                return self.integer()
            if chance < 0.35:
                return self.pick(SHAPES)
            if chance < 0.4:
                return f"t.Size({self.pick(SHAPES)})"
        parts = ", ".join(self.value(element) for _ in range(length))
        return f"[{parts}]"

    def change(self):
        """A function that makes another argument of one."""
        if self.rng.random() < 0.55:
            return f"lambda a: {self.pick(CHANGES)}"
        kind = self.pick(("int", "int", "Tensor", "Tensor", "Tensor", "number", "SymInt[]", "any"))
        return f"lambda a: {self.value(kind)}"

    def index(self):
        """What stands between square brackets."""
        parts = [
            self.pick(INDEX_PARTS) if self.rng.random() < 0.75 else self.tensor()
            for _ in range(self.pick((1, 1, 1, 2, 2, 3)))
        ]
        return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"

    def tensor(self):
        """A small tensor in one of many forms."""
        return self.pick(_TENSORS)(self, self.pick(SHAPES))

    def _plain(self, shape):
        return f"t.ones({shape})"

    def _typed(self, shape):
        return f"t.ones({shape}, dtype={self.dtype()})"

    def _indices(self, shape):
        dtype = self.pick(("int64", "int64", "int32", "uint8", "bool"))
        return f"t.zeros({shape}, dtype=t.{dtype})"

    def _meta(self, shape):
        return f"t.empty({shape}, dtype={self.dtype()}, device='meta')"

    def _huge_meta(self, shape):
        sizes = self.pick(
            ("(2**31, 2**31)", "(2**62,)", "(2**40, 0, 2**40)", "(2, 2**60)", "(2**33,)")
        )
        return f"t.empty({sizes}, dtype=t.{self.pick(('int8', 'bool', 'uint8'))}, device='meta')"

    def _expanded(self, shape):
        sizes = self.pick(("(2, 3)", "(3,)", "(2, 2, 3)", "(0, 3)"))
        return f"t.ones(1, dtype={self.dtype()}).expand({sizes})"

    def _conjugated(self, shape):
        return f"t.ones({shape}, dtype=t.{self.pick(('complex64', 'complex128'))}).conj()"

    def _negative(self, shape):
        return f"t.ones({shape}, dtype=t.{self.pick(('complex64', 'complex128'))}).conj().imag"

    def _leaf(self, shape):
        dtype = self.pick((*FLOATS[:4], "complex64", "complex128"))
        return f"t.ones({shape}, dtype=t.{dtype}, requires_grad=True)"

    def _computed(self, shape):
        return f"t.ones({shape}, requires_grad=True).mul(2)"

    def _strided(self, shape):
        view = self.pick(
            ("[::2, 1:]", ".t()", "[:, ::3]", "[1]", "[1:1]", ".mT[1:]", "[..., None]")
        )
        return f"t.arange(12, dtype={self.dtype()}).view(3, 4){view}"

    def _overlapping(self, shape):
        return (
            f"t.ones(6, dtype={self.dtype()}).as_strided((2, 3), {self.pick(('(1, 1)', '(0, 2)'))})"
        )

    def _limits(self, shape):
        return self.pick(
            (
                "t.tensor([2**63 - 1, -2**63, 0])",
                "t.tensor([-1, 3])",
                "t.tensor([nan, inf, -inf])",
                "t.tensor([[1e38, -0.0, nan], [1e-45, 0.0, inf]])",
                "t.tensor([255, 0], dtype=t.uint8)",
                "t.tensor([2**64 - 1], dtype=t.uint64)",
                "t.tensor(2**62)",
                "t.tensor(nan)",
                "t.tensor(complex(nan, -inf))",
                "t.tensor(-128, dtype=t.int8)",
                "t.tensor([True, False, True])",
                "t.tensor([1e300, -1e308], dtype=t.float64)",
                "t.tensor([2, 0, 1])",
            )
        )

    def _parameter(self, shape):
        return f"t.nn.Parameter(t.ones({shape}))"


_TENSORS = (
    *(OddValues._plain,) * 5,
    *(OddValues._typed,) * 5,
    *(OddValues._indices,) * 3,
    *(OddValues._meta,) * 3,
    OddValues._huge_meta,
    *(OddValues._expanded,) * 2,
    OddValues._conjugated,
    OddValues._negative,
    *(OddValues._leaf,) * 3,
    OddValues._computed,
    *(OddValues._strided,) * 2,
    OddValues._overlapping,
    *(OddValues._limits,) * 2,
    OddValues._parameter,
)
