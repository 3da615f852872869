"""PyTorch's path of counters (`taeda.compiler`), fake modes and comparisons."""

from taeda.backends._compiled import is_compile_supported
from taeda.compiler._counters import counters
from taeda.fx.fake.modes import detect_fake_mode
from taeda.testing._comparison import same
from taeda.utils._config_module import dynamo_config as _config

__all__ = [
    "counters",
    "detect_fake_mode",
    "ifdynstaticdefault",
    "is_compile_supported",
    "range_iterator",
    "same",
]

range_iterator = type(iter(range(0)))


def ifdynstaticdefault(count1, count2):
    """The first where sizes are constants until they change, the second otherwise."""
    return count1 if _config.assume_static_by_default else count2
