"""What tests of compiled programs compare with: counts that depend on settings, types."""

from taeda.utils._config_module import dynamo_config

range_iterator = type(iter(range(0)))


def ifdynstaticdefault(count1, count2):
    """The first where sizes are constants until they change, the second otherwise."""
    return count1 if dynamo_config.assume_static_by_default else count2
