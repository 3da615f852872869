"""Fuzzer: tensors of random sizes, strides and layouts to measure a statement on.

Parameters are drawn by NumPy's RandomState, so that a seed gives PyTorch's sizes.
"""

import itertools
import math

import taeda


class FuzzedParameter:
    """A number to draw: `uniform` or `loguniform` between bounds, or {value: probability}.

    A `strict` one is drawn once, and kept while the others are drawn again to meet constraints.
    """

    def __init__(self, name, minval=None, maxval=None, distribution=None, strict=False):
        if isinstance(distribution, dict):
            if any(probability < 0 for probability in distribution.values()):
                raise AssertionError("Probabilities cannot be negative")
            if abs(sum(distribution.values()) - 1) > 1e-5:
                raise AssertionError("Distribution is not normalized")
            for bound, value in (("minval", minval), ("maxval", maxval)):
                if value is not None:
                    raise AssertionError(
                        f"When passing a custom distribution, '{bound}' must be None"
                    )
        elif distribution not in ("loguniform", "uniform"):
            raise AssertionError(f"Unknown distribution: {distribution}")
        self._name, self._minval, self._maxval = name, minval, maxval
        self._distribution, self.strict = distribution, strict

    @property
    def name(self):
        return self._name

    def sample(self, state):
        if isinstance(self._distribution, dict):
            choices = list(self._distribution)
            return choices[state.choice(len(choices), p=tuple(self._distribution.values()))]
        if self._distribution == "loguniform":
            drawn = int(2 ** state.uniform(math.log2(self._minval), math.log2(self._maxval)))
            return min(max(drawn, self._minval), self._maxval)
        if isinstance(self._minval, int) and isinstance(self._maxval, int):
            return int(state.randint(self._minval, self._maxval + 1))
        return state.uniform(self._minval, self._maxval)


class ParameterAlias:
    """The value of a parameter that is another one's."""

    def __init__(self, alias_to):
        self.alias_to = alias_to

    def __repr__(self):
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedTensor:
    """A tensor to make: sizes and steps are numbers or names of parameters.

    With `steps` a larger tensor is sliced; apart from that it is contiguous with a probability, and
    else permuted. `dim_parameter` cuts sizes and steps, or fills them with ones.
    """

    def __init__(
        self,
        name,
        size,
        steps=None,
        probability_contiguous=0.5,
        min_elements=None,
        max_elements=None,
        max_allocation_bytes=None,
        dim_parameter=None,
        roll_parameter=None,
        dtype=taeda.float32,
        cuda=False,
        tensor_constructor=None,
    ):
        self._name, self._size, self._steps = name, size, steps
        self._probability_contiguous = probability_contiguous
        self._min_elements, self._max_elements = min_elements, max_elements
        self._max_allocation_bytes = max_allocation_bytes
        self._dim_parameter, self._dtype, self._cuda = dim_parameter, dtype, cuda
        self._tensor_constructor = tensor_constructor or self.default_tensor_constructor

    @property
    def name(self):
        return self._name

    @staticmethod
    def default_tensor_constructor(size, dtype, **kwargs):
        if dtype.is_floating_point or dtype.is_complex:
            return taeda.rand(size, dtype=dtype, device="cpu")
        return taeda.randint(1, 127, size, dtype=dtype, device="cpu")

    def _make_tensor(self, params, state):
        """(tensor, what is known of it)"""
        size, steps, allocated = self._get_size_and_steps(params)
        tensor = self._tensor_constructor(size=allocated, dtype=self._dtype, **params)
        if self._cuda:
            tensor = tensor.cuda()
        dims = list(range(len(size)))
        order = dims
        if state.rand() > self._probability_contiguous:
            while len(dims) > 1 and order == dims:
                order = state.permutation(len(dims)).tolist()
            back = [order.index(dim) for dim in dims]
            tensor = tensor.permute(order).contiguous().permute(back)
        tensor = tensor[tuple(slice(0, n * step, step) for n, step in zip(size, steps))]
        properties = {
            "numel": tensor.numel(),
            "order": order,
            "steps": steps,
            "is_contiguous": tensor.is_contiguous(),
            "dtype": str(self._dtype),
        }
        return tensor, properties

    def _get_size_and_steps(self, params):
        """Sizes, steps, and the sizes of what is sliced."""
        dim = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]

        def resolved(values):
            values = tuple(params.get(value, value) for value in values)[:dim]
            return values + (1,) * (dim - len(values))

        size, steps = resolved(self._size), resolved(self._steps or ())
        return size, steps, tuple(n * step for n, step in zip(size, steps))

    def satisfies_constraints(self, params):
        size, _, allocated = self._get_size_and_steps(params)
        count, bytes_of = math.prod(size), math.prod(allocated) * self._dtype.itemsize
        if count < 0:
            raise AssertionError("Computed number of elements is negative")
        bounds = (
            (count, self._max_elements),
            (self._min_elements, count),
            (bytes_of, self._max_allocation_bytes),
        )
        return all(low is None or high is None or low <= high for low, high in bounds)


class Fuzzer:
    """Draws parameters until tensors and `constraints`, functions of them, accept them."""

    def __init__(self, parameters, tensors, constraints=None, seed=None):
        self._seed = _random_state().randint(0, 2**32 - 1, dtype="int64") if seed is None else seed
        self._parameters = self._unpack(parameters, FuzzedParameter)
        self._tensors = self._unpack(tensors, FuzzedTensor)
        self._constraints = constraints or ()
        if both := {p.name for p in self._parameters} & {t.name for t in self._tensors}:
            raise ValueError(f"Duplicate names in parameters and tensors: {both}")
        self._rejections = self._total_generated = 0

    @staticmethod
    def _unpack(values, cls):
        """Lists inside the list are taken apart."""
        parts = ([value] if isinstance(value, cls) else value for value in values)
        return tuple(itertools.chain.from_iterable(parts))

    def take(self, n):
        """n times (tensors, their properties, parameters), by name."""
        state = _random_state(self._seed)
        taeda.manual_seed(int(state.randint(0, 2**63, dtype="int64")))
        for _ in range(n):
            params = self._generate(state)
            made = {t.name: t._make_tensor(params, state) for t in self._tensors}
            tensors = {name: tensor for name, (tensor, _) in made.items()}
            yield tensors, {name: properties for name, (_, properties) in made.items()}, params

    @property
    def rejection_rate(self):
        return self._rejections / self._total_generated if self._total_generated else 0.0

    def _generate(self, state):
        kept = {}
        for _ in range(1000):
            drawn = {}
            for p in self._parameters:
                drawn[p.name] = kept[p.name] if p.name in kept else p.sample(state)
                if p.strict:
                    kept[p.name] = drawn[p.name]
            params = self._resolve_aliases(drawn)
            self._total_generated += 1
            if all(accepts(params) for accepts in self._constraints) and all(
                tensor.satisfies_constraints(params) for tensor in self._tensors
            ):
                return params
            self._rejections += 1
        raise ValueError("Failed to generate a set of valid parameters.")

    @staticmethod
    def _resolve_aliases(params):
        """Follows each alias to its value."""

        def value_of(name):
            seen = {name}
            while isinstance(params[name], ParameterAlias):
                name = params[name].alias_to
                if name in seen:
                    raise ValueError(f"ParameterAlias cycle detected\n{params}")
                seen.add(name)
            return params[name]

        return {name: value_of(name) for name in params}


def _random_state(seed=None):
    from numpy.random import RandomState

    return RandomState(seed)
