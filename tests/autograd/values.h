// Small float tensors in and out of tests, and the check of an error's text.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "taeda/autograd/engine.h"
#include "taeda/autograd/variable.h"

namespace taeda::autograd {

using Floats = std::vector<float>;

inline Tensor tensor(const Floats& values) {
  Tensor t = make_tensor({static_cast<int64_t>(values.size())}, DType::Float, DeviceType::CPU);
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}
inline Tensor leaf(const Floats& values) {
  Tensor t = tensor(values);
  set_requires_grad(t, true);
  return t;
}
inline Floats values(const Tensor& t) {
  if (!t.defined()) return {};
  const Tensor dense = detached(t).clone(MemoryFormat::Contiguous);
  const float* data = dense.data<float>();
  return Floats(data, data + dense.numel());
}
inline void backward(const Tensor& root) { run_backward({root}, {}, false, false); }

inline void expect_error(const std::string& text, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find(text), std::string::npos) << e.message();
    return;
  }
  ADD_FAILURE() << "no error; expected: " << text;
}

}  // namespace taeda::autograd
