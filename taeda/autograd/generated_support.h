// Functions for generated autograd code beside nodes, variables and formulas.
#pragma once

#include <optional>

#include "taeda/dispatch/value.h"

namespace taeda::autograd {

// Gradients of a list argument, from position `at` on.
inline void put_list(std::vector<Tensor>& grad_inputs, size_t at, std::vector<Tensor> grads) {
  for (size_t i = 0; i < grads.size(); ++i) grad_inputs[at + i] = std::move(grads[i]);
}

// A saved argument in the form in which visit_saved shows it.
template <class T>
dispatch::Value boxed(const T& value) {
  return dispatch::Value(value);
}
template <class T>
dispatch::Value boxed(const std::optional<T>& value) {
  return value ? boxed(*value) : dispatch::Value();
}

}  // namespace taeda::autograd
