"""Functions as `--compiled` calls them: through taeda.compile, as one graph."""

from collections.abc import Callable
from types import ModuleType
from typing import Any
from unittest import mock

from parity.ahead import AheadOfTime


class Captured(AheadOfTime):
    """A function compiled whole, numbers and sizes that only data tells included. One that seeds
    the random stream itself is compared with eager, whose numbers are not PyTorch's.
    """

    settings = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}

    def __init__(self, taeda: ModuleType, function: Callable, has_values: bool) -> None:
        super().__init__(taeda, function, has_values=has_values)
        self.compiled = taeda.compile(function, fullgraph=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own_args, own_kwargs = self.copies((args, kwargs))
        seed = self.taeda.manual_seed
        with mock.patch.object(self.taeda, "manual_seed", side_effect=seed) as seeded:
            with self.taeda.no_grad():
                want = self.function(*own_args, **own_kwargs)
            self.draws |= seeded.called
        with self.taeda._dynamo.config.patch(self.settings):
            got = self.compiled(*args, **kwargs)
        if self.draws and self.has_values:
            self.check_bits(want, got)
        return got
