// OutSpec: shape, strides, dtype and device of a result, before there is one.
//
// A shape rule returns an OutSpec; the functional form allocates it, the out form fits a given
// tensor to it, the in-place form checks that self has it. Meta tensors stop there.
#pragma once

#include <array>

#include "taeda/core/tensor.h"

namespace taeda {

struct TAEDA_API OutSpec {
  SymIntVec sizes;
  SymIntVec strides;  // empty: contiguous
  DType dtype = DType::Float;
  Device device;
  bool is_cast_allowed = false;  // out= may have any dtype the result can be cast to
  bool may_repeat = false;       // in place self may have elements in one place

  OutSpec() = default;
  OutSpec(SymIntList sizes, DType dtype, Device device)
      : sizes(sizes), dtype(dtype), device(device) {}
  OutSpec(IntList sizes, DType dtype, Device device) : OutSpec(as_symint(sizes), dtype, device) {}

  Tensor allocate() const;
  // Fits `out`: device must match, the dtype must be able to hold the result, a wrong size is
  // changed (with a warning unless it was empty).
  void prepare_out(Tensor& out, const char* op) const;
  // `fills_repeats`: one value is written, which PyTorch lets an expanded self take with a warning.
  void check_inplace(const Tensor& self, const char* op, bool fills_repeats = false) const;
};

// Gives out the sizes, with PyTorch's warning when it had other ones and elements in them.
TAEDA_API void resize_output(Tensor& out, SymIntList sizes);
TAEDA_API void resize_to(Tensor& t, SymIntList sizes);
// Makes the storage large enough for elements of these sizes without gaps, from the tensor's
// offset.
TAEDA_API void reserve_dense(const Tensor& t, IntList sizes);

// "unsupported operation: more than one element of the written-to tensor refers to a single memory
// location"
TAEDA_API void check_no_internal_overlap(const Tensor& out);
// Writing `out` while reading `input` is fine when they are the same elements in the same order or
// disjoint.
TAEDA_API void check_no_partial_overlap(const Tensor& out, const Tensor& input);
inline void check_no_overlap(const Tensor& out, const Tensor& input) {
  if (input.defined()) check_no_partial_overlap(out, input);
}
inline void check_no_overlap(const Tensor& out, TensorList inputs) {
  for (const Tensor& t : inputs) check_no_overlap(out, t);
}

// The keys of a device's own kernels for a tensor that lies there.
inline KeySet dense_keys(const Tensor& t) { return KeySet(Key::Dense) | KeySet(t.device().type); }

}  // namespace taeda
