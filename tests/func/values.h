// Small tensors in and out of the tests of transforms, and the check of an error.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "taeda/autograd/grad_mode.h"
#include "taeda/dispatch/levels.h"
#include "taeda/func/func.h"
#include "taeda/ops/functions.h"

namespace taeda::func {

using Doubles = std::vector<double>;

inline Tensor vec(const Doubles& values) {
  Tensor t = make_tensor({static_cast<int64_t>(values.size())}, DType::Double, DeviceType::CPU);
  std::copy(values.begin(), values.end(), t.data<double>());
  return t;
}
inline Doubles values(const Tensor& t) {
  const Tensor dense = t.detach().clone(MemoryFormat::Contiguous);
  const double* data = dense.data<double>();
  return Doubles(data, data + dense.numel());
}
inline Tensor cube_sum(const Tensor& x) { return x.pow(3).sum(); }
inline double number(const Tensor& t) { return read_scalar(t).to_double(); }

inline void expect_near(const Tensor& t, const Doubles& expected) {
  const Doubles found = values(t);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
}

// The error has this kind and text, and leaves neither levels nor modes behind.
inline void expect_error(ErrorKind kind, const std::string& text,
                         const std::function<void()>& body) {
  const size_t depth = dispatch::num_levels();
  const bool is_recording = autograd::grad_enabled();
  try {
    body();
    ADD_FAILURE() << "no error; expected: " << text;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.message();
    EXPECT_NE(e.message().find(text), std::string::npos) << e.message();
  }
  EXPECT_EQ(dispatch::num_levels(), depth);
  EXPECT_EQ(autograd::grad_enabled(), is_recording);
}

}  // namespace taeda::func
