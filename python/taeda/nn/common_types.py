"""Names of types in PyTorch's annotations: sizes, one value or one per dimension."""

from taeda import _C

_scalar_or_tuple_any_t = int | tuple[int, ...]
_scalar_or_tuple_1_t = int | tuple[int]
_scalar_or_tuple_2_t = int | tuple[int, int]
_scalar_or_tuple_3_t = int | tuple[int, int, int]
_scalar_or_tuple_4_t = int | tuple[int, int, int, int]
_scalar_or_tuple_5_t = int | tuple[int, int, int, int, int]
_scalar_or_tuple_6_t = int | tuple[int, int, int, int, int, int]

_size_any_t = _scalar_or_tuple_any_t
_size_1_t = _scalar_or_tuple_1_t
_size_2_t = _scalar_or_tuple_2_t
_size_3_t = _scalar_or_tuple_3_t
_size_4_t = _scalar_or_tuple_4_t
_size_5_t = _scalar_or_tuple_5_t
_size_6_t = _scalar_or_tuple_6_t

_size_any_opt_t = tuple[int | None, ...]
_size_2_opt_t = tuple[int | None, int | None]
_size_3_opt_t = tuple[int | None, int | None, int | None]

_ratio_2_t = float | tuple[float, float]
_ratio_3_t = float | tuple[float, float, float]
_ratio_any_t = float | tuple[float, ...]

_tensor_list_t = _C.Tensor | list[_C.Tensor]
_maybe_indices_t = _C.Tensor | tuple[_C.Tensor, _C.Tensor]
