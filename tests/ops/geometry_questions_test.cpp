// Operators that tell a tensor's geometry, in a process without Python.
#include <gtest/gtest.h>

#include "taeda/dispatch/dispatcher.h"
#include "taeda/ops/functions.h"

namespace taeda {
namespace {

using dispatch::Stack;
using dispatch::Value;

Value answer(const char* op, Stack stack) {
  dispatch::call_boxed(dispatch::get_operator(op), stack);
  return stack.at(0);
}

std::vector<int64_t> numbers(const Value& v) {
  if (v.is<std::vector<int64_t>>()) return v.get<std::vector<int64_t>>();
  std::vector<int64_t> out;
  for (const SymInt& n : v.get<std::vector<SymInt>>()) out.push_back(n.expect_int());
  return out;
}

TEST(GeometryQuestions, SizesAndStrides) {
  const Tensor t = taeda::ones({2, 3}).t();
  EXPECT_EQ(numbers(answer("size", {Value(t)})), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(numbers(answer("stride", {Value(t)})), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(answer("numel", {Value(t)}).to_int(), 6);
  EXPECT_EQ(answer("dim", {Value(t)}).to_int(), 2);
}

TEST(GeometryQuestions, Formats) {
  const Tensor t = taeda::ones({2, 3, 4, 4});
  const Tensor last = t.contiguous(MemoryFormat::ChannelsLast);
  const Value format(MemoryFormat::ChannelsLast);
  EXPECT_FALSE(answer("is_strides_like_format", {Value(t), format}).get<bool>());
  EXPECT_TRUE(answer("is_strides_like_format", {Value(last), format}).get<bool>());
  EXPECT_TRUE(answer("is_non_overlapping_and_dense", {Value(last)}).get<bool>());
  EXPECT_FALSE(answer("is_contiguous", {Value(last)}).get<bool>());
}

}  // namespace
}  // namespace taeda
