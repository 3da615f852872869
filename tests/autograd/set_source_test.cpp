// The operators set_, in a process without Python.
#include <gtest/gtest.h>

#include "taeda/dispatch/dispatcher.h"
#include "taeda/ops/functions.h"
#include "tests/autograd/values.h"

namespace taeda::autograd {
namespace {

using dispatch::Stack;
using dispatch::Value;

void call(const char* op, Stack stack) { dispatch::call_boxed(dispatch::get_operator(op), stack); }

TEST(SetSource, ATensorTakesOverAnothersMemory) {
  const Tensor a = tensor({1, 2});
  Tensor b = tensor({3, 4, 5});
  call("set_.source_Tensor", {Value(a), Value(b)});
  EXPECT_EQ(values(a), (Floats{3, 4, 5}));
  b.mul_(tensor({10, 10, 10}));
  EXPECT_EQ(values(a), (Floats{30, 40, 50}));
}

TEST(SetSource, AWindowOfAStorage) {
  const Tensor a = tensor({1, 2}), b = tensor({3, 4, 5, 6});
  call("set_.source_Storage_storage_offset",
       {Value(a), Value(b.storage()), Value(int64_t{1}), Value(std::vector<int64_t>{2}),
        Value(std::vector<int64_t>{2})});
  EXPECT_EQ(values(a.contiguous()), (Floats{4, 6}));
}

TEST(SetSource, NothingAtAll) {
  const Tensor a = tensor({1, 2});
  call("set_", {Value(a)});
  EXPECT_EQ(a.numel(), 0);
}

TEST(SetSource, DTypesMustBeTheSame) {
  const Tensor a = tensor({1, 2});
  expect_error("Could not set tensor of type",
               [&] { call("set_.source_Tensor", {Value(a), Value(a.to(DType::Int64))}); });
}

}  // namespace
}  // namespace taeda::autograd
