"""What a pickle may name when only weights are loaded: the classes and functions of tensors, and
what the user adds."""

import functools
from _codecs import encode
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Hashable

import taeda
from taeda import _C, _rebuild
from taeda._storage_types import TYPES as STORAGE_TYPES
from taeda._tensor import _rebuild_from_type_v2
from taeda._tensor_types import TYPES as TENSOR_TYPES
from taeda.nn.parameter import Parameter
from taeda.serialization._files import add_place
from taeda.serialization._names import lacks, to_file
from taeda.storage import StorageType, TypedStorage, pickled_dtypes

# Nothing of these is loaded, whatever the user adds.
_BLOCKED_MODULES = frozenset(["sys", "os", "posix", "nt"])

_NESTED = (
    "``torch.nested`` and ``torch._dynamo`` must be imported to load nested jagged tensors (NJTs)"
)
_DISTRIBUTED = "``torch.distributed.tensor`` must be imported to load DTensors"
_ABSENT = {
    "torch.nested._internal.nested_tensor.NestedTensor": _NESTED,
    "torch.nested._internal.nested_tensor._rebuild_njt": _NESTED,
    "torch._dynamo.decorators._DimRange": _NESTED,
    "torch.distributed.device_mesh.DeviceMesh": _DISTRIBUTED,
    "torch.distributed.tensor._dtensor_spec.DTensorSpec": _DISTRIBUTED,
    "torch.distributed.tensor._dtensor_spec.TensorMeta": _DISTRIBUTED,
    "torch.distributed.tensor.DTensor": _DISTRIBUTED,
    "torch.distributed.tensor.placement_types.Partial": _DISTRIBUTED,
    "torch.distributed.tensor.placement_types.Replicate": _DISTRIBUTED,
    "torch.distributed.tensor.placement_types.Shard": _DISTRIBUTED,
}

_user_globals = set()


def add_safe_globals(safe_globals):
    """Lets files name these classes and functions: they are made and called while a file is read.

    An item may be a pair of the object and the name that files have for it.
    """
    _user_globals.update(safe_globals)


def get_safe_globals():
    """What was added."""
    return list(_user_globals)


def clear_safe_globals():
    """Forgets what was added."""
    _user_globals.clear()


class safe_globals:
    """A `with` block in which files may name more classes and functions."""

    def __init__(self, safe_globals):
        self.safe_globals = safe_globals

    def __enter__(self):
        add_safe_globals(self.safe_globals)

    def __exit__(self, type, value, tb):
        _user_globals.difference_update(self.safe_globals)


def _get_user_allowed_globals():
    """What was added, by the names that files have."""
    allowed = {}
    for item in _user_globals:
        if not isinstance(item, tuple):
            allowed[f"{to_file(str(item.__module__))}.{item.__qualname__}"] = item
            continue
        if len(item) != 2:
            raise ValueError(
                "Expected tuple of length 2 (global, str of callable full path), but got tuple of "
                f"length: {len(item)}"
            )
        if type(item[1]) is not str:
            raise TypeError(
                "Expected second item in tuple to be str of callable full path, but got: "
                f"{type(item[1])}"
            )
        allowed[item[1]] = item[0]
    return allowed


def _get_layout(name):
    """The layout that a text names."""
    for value in vars(_C).values():
        if isinstance(value, taeda.layout) and str(value) == name:
            return value
    raise KeyError(name)


_get_layout.__module__ = "taeda.serialization"


@functools.lru_cache(maxsize=1)
def _get_allowed_globals():
    """What every file may name, by the names that files have."""
    allowed = {
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "torch.nn.parameter.Parameter": Parameter,
        "torch.serialization._get_layout": _get_layout,
        "torch.Size": taeda.Size,
        "torch.Tensor": taeda.Tensor,
        "torch.device": taeda.device,
        "torch.storage.TypedStorage": TypedStorage,
        "torch.storage.UntypedStorage": taeda.UntypedStorage,
        "_codecs.encode": encode,
        "builtins.bytearray": bytearray,
        "builtins.set": set,
        "builtins.complex": complex,
        "torch._tensor._rebuild_from_type_v2": _rebuild_from_type_v2,
    }
    allowed.update({str(dtype): dtype for dtype in pickled_dtypes()})
    allowed.update({f"torch.{name}": kind for name, kind in TENSOR_TYPES.items()})
    allowed.update({f"torch.{name}": StorageType(name) for name in STORAGE_TYPES})
    allowed.update({f"torch._utils.{f.__name__}": f for f in _rebuild.FUNCTIONS})
    return allowed


class Rules:
    """What the restricted reader may make and call, and how storages are found."""

    blocked_modules = _BLOCKED_MODULES
    module_names = IMPORT_MAPPING
    global_names = NAME_MAPPING
    absent = _ABSENT
    tensor_class = taeda.Tensor
    parameter_class = Parameter
    ordered_dict_class = OrderedDict
    counter_class = Counter
    without_arguments = frozenset(
        [taeda.Tensor, taeda.UntypedStorage, TypedStorage, *TENSOR_TYPES.values()]
    )
    rebuild_from_type = staticmethod(_rebuild_from_type_v2)
    set_tensor = staticmethod(_rebuild.set_tensor)
    encode = staticmethod(encode)
    lacks = staticmethod(lacks)
    add_place = staticmethod(add_place)

    def __init__(self, persistent_load, encoding):
        # Through the private path of PyTorch's, where programs change it.
        from taeda import _weights_only_unpickler as names

        self.allowed = names._get_allowed_globals()
        self.user_allowed = names._get_user_allowed_globals()
        users = set(_hashable(self.user_allowed))
        self.callables = users.union(_hashable(self.allowed))
        self.rebuilders = users.union(_rebuild.FUNCTIONS)
        self.persistent_load = persistent_load
        self.encoding = encoding


def _hashable(allowed):
    return (value for value in allowed.values() if isinstance(value, Hashable))


def refuse_persistent(saved_id):
    """For pickles that have no storages."""
    from pickle import UnpicklingError

    raise UnpicklingError("unsupported persistent id encountered")


def get_globals_in_pkl(file):
    """The names in a pickle, as a set."""
    names = set()
    for full in _C._pickle_globals(file.read()):
        module, _, name = full.rpartition(".")
        if (module, name) in NAME_MAPPING:
            module, name = NAME_MAPPING[(module, name)]
        names.add(f"{IMPORT_MAPPING.get(module, module)}.{name}")
    return names
