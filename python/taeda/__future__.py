"""Switches of how a module's conversions treat its parameters."""

_overwrite_module_params_on_conversion = False
_swap_module_params_on_conversion = False


def get_overwrite_module_params_on_conversion():
    """Whether conversions make new parameters."""
    return _overwrite_module_params_on_conversion


def set_overwrite_module_params_on_conversion(value):
    """Lets conversions make new parameters, in place of new memory for the same ones."""
    global _overwrite_module_params_on_conversion
    _overwrite_module_params_on_conversion = value


def get_swap_module_params_on_conversion():
    """Whether conversions and load_state_dict exchange parameters by swap_tensors."""
    return _swap_module_params_on_conversion


def set_swap_module_params_on_conversion(value):
    """Lets conversions and load_state_dict exchange parameters by swap_tensors."""
    global _swap_module_params_on_conversion
    _swap_module_params_on_conversion = value
