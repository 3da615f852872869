"""The variables of a program that fuzz_views makes, with the shapes they have if nothing fails."""

LEAF_SHAPES = [(2, 3), (2, 3), (3,), (2, 2), (), (1, 2)]


class Scope:
    """The variables of a program under construction."""

    def __init__(self, rng):
        self.rng = rng
        self.shapes = {}
        self.handles = 0
        self.gone = 0
        self.complex_names = set()

    def next_name(self):
        return f"v{len(self.shapes) + self.gone}"

    def name(self, shape):
        name = self.next_name()
        self.shapes[name] = tuple(shape)
        return name

    def any(self, accept=lambda shape: True):
        """A variable whose shape is accepted, later ones more likely; None if there is none."""
        names = [name for name, shape in self.shapes.items() if accept(shape)]
        return self.rng.choices(names, range(1, len(names) + 1))[0] if names else None

    def number(self):
        return self.rng.choice((1, 2, 3, -1))

    def new_leaf(self):
        shape = self.rng.choice(LEAF_SHAPES)
        count = 1
        for size in shape:
            count *= size
        numbers = [float(self.rng.randint(-3, 4)) for _ in range(count)]
        grad = self.rng.choice(("", ", requires_grad=True", ", requires_grad=True"))
        if self.rng.random() < 0.08:
            numbers = [complex(number, self.rng.randint(-2, 2)) for number in numbers]
            self.complex_names.add(self.next_name())
        values = numbers[0] if shape == () else _nest(numbers, shape)
        dtype = "complex128" if isinstance(numbers[0], complex) else "float64"
        return f"{self.name(shape)} = t.tensor({values}, dtype=t.{dtype}{grad})"

    def in_mode(self, line):
        """The statement, at times under a mode."""
        modes = ("t.no_grad()", "t.inference_mode()", "t.enable_grad()", "t.inference_mode(False)")
        mode = self.rng.choices(("", *modes), (40, 5, 2, 1, 1))[0]
        if not mode or "leaf" in line or "\n" in line:
            return line
        # PyTorch records such a leaf only where another argument is no inference tensor.
        if mode == "t.inference_mode()" and "requires_grad=True" in line:
            return line
        return f"with {mode}: {line}"


def _nest(numbers, shape):
    if len(shape) == 1:
        return numbers
    step = len(numbers) // shape[0]
    return [_nest(numbers[i : i + step], shape[1:]) for i in range(0, len(numbers), step)]


def has_dims(shape):
    return len(shape) > 0 and 0 not in shape


def is_matrix(shape):
    return len(shape) == 2 and 0 not in shape


def size(shape):
    count = 1
    for size in shape:
        count *= size
    return count
