// What a wrapper subclass tells about its instances at each read.
//
// Note [Reads from the class]: _make_subclass and _make_wrapper_subclass may leave sizes, strides,
// device or layout to the class. Python's reads of them then call its __torch_dispatch__ with the
// operator named here, and so do methods that decide by them (contiguous, data_ptr, type_as); None
// stands for what was given when the tensor was made, which is also what C++ works with.
#pragma once

#include "python/interop/python.h"

#include "taeda/core/tensor.h"

namespace taeda::python {

enum class ClassRead : uint8_t { Strides = 1, Sizes = 2, Device = 4, Layout = 8 };

inline bool is_read_from_class(const Tensor& t, ClassRead what) {
  const TensorExtra* extra = t.impl()->extra_or_null();
  return __builtin_expect(extra && (extra->read_from_class & static_cast<uint8_t>(what)), 0);
}

// The bits of what is left to the class: sizes and strides by PyTorch's name of the policy, which
// may be empty.
uint8_t class_reads(std::string_view policy, bool has_device, bool has_layout);

// The answer of the class to `op`, "dim" or "prim::device", for (self, *rest); null where
// the tensor itself knows. Throws what the class raises.
Ref read_from_class(PyObject* self, ClassRead what, const char* op, PyObject* rest = nullptr);

// Sizes or strides as a tuple of the class, or null.
Ref sizes_from_class(PyObject* self);
Ref strides_from_class(PyObject* self);

// The device as Python sees it.
Device shown_device(PyObject* self);

}  // namespace taeda::python
