"""Operators and kernels of your own: in Python here, in C++ with TORCH_LIBRARY.

`custom_op` makes a function an operator. `Library` gives the dispatcher's own terms: define
operators from schemas, register kernels by dispatch key, override those of others.

`registration.py` has the functions, `custom_operators.py` and `libraries.py` the two classes. The
parts of an operator stand beside them: its schema from annotations (`schemas.py`), its derivative,
its rule for vmap, the context of its fake kernel; `operator_checks.py` compares them.
"""

from taeda.library.custom_operators import CustomOpDef, custom_op
from taeda.library.fake_context import get_ctx
from taeda.library.libraries import Library, _impls, fallthrough_kernel
from taeda.library.operator_checks import opcheck
from taeda.library.registration import (
    _scoped_library,
    define,
    get_kernel,
    impl,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from taeda.library.schemas import infer_schema

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]
