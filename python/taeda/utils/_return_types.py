"""The classes of taeda.return_types by their names, also before an operator has returned one."""

import sys
import warnings

import taeda
from taeda import _C

# Operators make the class of their results when they are called: these are calls that do.
_OF_A_MATRIX = {
    *("aminmax", "frexp", "geqrf", "histogram", "mode", "qr", "slogdet", "sort"),
    *("linalg_cholesky_ex", "linalg_inv_ex", "linalg_lu_factor", "linalg_lu_factor_ex"),
    *("linalg_qr", "linalg_slogdet"),
}
_WITH_A_NUMBER = {"cummax", "cummin", "kthvalue", "max", "median", "min", "nanmedian", "topk"}
_WITH_A_MATRIX = {"linalg_solve_ex", "triangular_solve"}
NAMES = _OF_A_MATRIX | _WITH_A_NUMBER | _WITH_A_MATRIX | {"lu_unpack"}


def _arguments(name, matrix):
    if name in _WITH_A_NUMBER:
        return matrix, 1
    if name in _WITH_A_MATRIX:
        return matrix, matrix
    if name == "lu_unpack":
        return taeda.linalg.lu_factor(matrix)
    return (matrix,)


def make(name):
    """The class of the results of an operator."""
    if name not in NAMES:
        raise AttributeError(f"module 'taeda.return_types' has no attribute '{name}'")
    of_linalg = name.startswith("linalg_")
    module, own_name = (taeda.linalg, name[len("linalg_") :]) if of_linalg else (taeda, name)
    # The call is no part of the program: nobody is to see it.
    with warnings.catch_warnings(), _C.DisableTorchFunction(), taeda.no_grad():
        warnings.simplefilter("ignore")
        matrix = taeda.ones(1, 1, dtype=taeda.float32, device="cpu")
        result = getattr(module, own_name)(*_arguments(name, matrix))
    set_home()
    return type(result)


def set_home():
    """Gives the classes that there are the module in which pickles find them."""
    if sys.modules.get("torch") is taeda:
        return  # they are made with PyTorch's
    for value in vars(taeda.return_types).values():
        if isinstance(value, type):
            value.__module__ = "taeda.return_types"
