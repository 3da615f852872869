// Operators over lists of tensors above the devices: who sees their rows, and which writes count.
#pragma once

#include "taeda/autograd/forward.h"
#include "taeda/autograd/variable.h"
#include "taeda/autograd/write_watch.h"

namespace taeda::autograd {

// Whether anything above the devices wants to see the calls that an operator over lists stands for:
// a transform, a mode, a cast, a graph or a tangent.
template <class... T>
bool is_watched(KeySet keys, const T&... tensors) {
  constexpr KeySet kSilent = KeySet::backends() | KeySet(Key::Dense) |
                             KeySet(Key::ADInplaceOrView) | KeySet(Key::Autograd);
  return !(keys - kSilent).empty() || should_record(tensors...) || any_tangent(tensors...);
}

inline void before_writes(const Tensor& tensor) { before_write(tensor); }
inline void before_writes(TensorList list) {
  for (const Tensor& tensor : list) before_write(tensor);
}
inline void count_writes(const Tensor& tensor) { count_write(tensor); }
inline void count_writes(TensorList list) {
  for (const Tensor& tensor : list) count_write(tensor);
}

}  // namespace taeda::autograd
