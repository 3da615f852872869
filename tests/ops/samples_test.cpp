// The records' sample calls: each runs on the CPU, looks the same without memory and in its out
// form, and texts that are no calls say so.
#include "taeda/ops/samples.h"

#include <gtest/gtest.h>

#include "taeda/dispatch/call_form.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/ops/functions.h"

namespace taeda {
namespace {

using dispatch::Operator;
using dispatch::Stack;
using dispatch::Value;

// Calls f(operator, text, dtype) for each sample in float32 and int64 that can be made.
template <class F>
void for_each_call(F&& f) {
  for (const OperatorSamples& samples : operator_samples())
    for (const DType dtype : {DType::Float, DType::Int64}) {
      if (!samples.takes(dtype)) continue;
      Operator& op = dispatch::get_operator(samples.op);
      for (const char* text : samples.texts) {
        SCOPED_TRACE(op.full_name() + "(" + text + ")");
        if (read_sample(op, text, dtype)) f(op, text, dtype);
      }
    }
}

std::vector<Tensor> tensors_in(const Stack& stack) {
  std::vector<Tensor> found;
  for (const Value& v : stack)
    dispatch::for_each_tensor(v, [&](const Tensor& t) { found.push_back(t); });
  return found;
}

// The results of a call, or of its copy without memory.
std::vector<Tensor> results_of(Operator& op, Stack stack) {
  dispatch::call_boxed(op, stack);
  return tensors_in(stack);
}

Tensor without_memory(const Tensor& t) {
  if (!t.defined()) return t;
  Tensor twin = empty_strided(t.sym_sizes(), t.sym_strides(), t.dtype(), std::nullopt,
                              Device(DeviceType::Meta));
  if (t.is_conj()) twin = twin.conj();
  return t.is_neg() ? twin._neg_view() : twin;
}

Stack without_memory(Stack stack) {
  for (Value& v : stack) {
    if (v.is<Tensor>()) v = without_memory(v.get<Tensor>());
    if (v.is<std::vector<Tensor>>())
      for (Tensor& t : v.get<std::vector<Tensor>>()) t = without_memory(t);
    if (v.is<Device>()) v = Device(DeviceType::Meta);
  }
  return stack;
}

using Geometry = std::tuple<DType, std::vector<int64_t>, std::vector<int64_t>>;
Geometry geometry(const Tensor& t) {
  return {
      t.dtype(), {t.sizes().begin(), t.sizes().end()}, {t.strides().begin(), t.strides().end()}};
}

// Whether a call failed because it reads numbers, which tensors without memory do not have.
bool wants_numbers(const Error& error) {
  const std::string_view text = error.what();
  for (const char* reading :
       {"'aten::nonzero'", "'aten::masked_select'", "'aten::_local_scalar_dense'", "to be on cpu"})
    if (text.find(reading) != std::string_view::npos) return true;
  return false;
}

// The overload that writes results of `op` into given tensors.
Operator* out_form(const Operator& op) {
  const dispatch::CallForm& form = dispatch::call_form(op);
  for (Operator* other : dispatch::find_overloads(op.name)) {
    const dispatch::CallForm& out = dispatch::call_form(*other);
    const size_t shared = form.arguments.size();
    if (out.arguments.size() != shared + form.returns.size()) continue;
    bool is_out = true;
    for (size_t i = 0; i < out.arguments.size(); ++i)
      is_out &= i < shared ? out.arguments[i].name == form.arguments[i].name &&
                                 out.arguments[i].type.text() == form.arguments[i].type.text()
                           : out.arguments[i].is_written && out.arguments[i].is_kwarg_only;
    if (is_out) return other;
  }
  return nullptr;
}

bool same_values(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.sym_sizes() != b.sym_sizes()) return false;
  return taeda::eq(a, b)
      .logical_or(taeda::ne(a, a).logical_and(taeda::ne(b, b)))
      .all()
      .item()
      .to_bool();
}

TEST(Samples, EachRunsOnTheCpu) {
  int count = 0;
  for_each_call([&](Operator& op, const char* text, DType dtype) {
    EXPECT_NO_THROW(results_of(op, *read_sample(op, text, dtype)));
    ++count;
  });
  EXPECT_GT(count, 1000);
}

TEST(Samples, TheSameTextGivesTheSameNumbers) {
  for_each_call([&](Operator& op, const char* text, DType dtype) {
    const auto first = tensors_in(*read_sample(op, text, dtype));
    const auto second = tensors_in(*read_sample(op, text, dtype));
    ASSERT_EQ(first.size(), second.size());
    for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(same_values(first[i], second[i]));
  });
}

TEST(Samples, ResultsLookTheSameWithoutMemory) {
  int count = 0;
  for_each_call([&](Operator& op, const char* text, DType dtype) {
    const Stack arguments = *read_sample(op, text, dtype);
    if (op.has(dispatch::Tag::DynamicOutputShape) || op.has(dispatch::Tag::DataDependentOutput))
      return;
    if (tensors_in(arguments).empty()) return;
    const std::vector<Tensor> real = results_of(op, arguments);
    std::vector<Tensor> meta;
    try {
      meta = results_of(op, without_memory(*read_sample(op, text, dtype)));
    } catch (const Error& error) {
      EXPECT_TRUE(wants_numbers(error)) << error.what();
      return;
    }
    ASSERT_EQ(real.size(), meta.size());
    for (size_t i = 0; i < real.size(); ++i) EXPECT_EQ(geometry(real[i]), geometry(meta[i]));
    ++count;
  });
  EXPECT_GT(count, 1000);
}

TEST(Samples, AnOutFormWritesTheSameNumbers) {
  int count = 0;
  for_each_call([&](Operator& op, const char* text, DType dtype) {
    Operator* const out = out_form(op);
    Stack arguments = *read_sample(op, text, dtype);
    for (const Value& v : arguments)
      if (v.is<Generator>()) return;
    if (!out || op.has(dispatch::Tag::NondeterministicSeeded)) return;
    const std::vector<Tensor> wanted = results_of(op, arguments);
    Stack call = *read_sample(op, text, dtype);
    std::vector<Tensor> written;
    for (const Tensor& t : wanted) call.push_back(written.emplace_back(taeda::zeros_like(t)));
    ASSERT_NO_THROW(results_of(*out, call));
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(same_values(wanted[i], written[i]));
    ++count;
  });
  EXPECT_GT(count, 300);
}

TEST(Samples, ADtypeThatCannotHoldTheNumbersHasNoCall) {
  const Operator& op = dispatch::get_operator("add.Tensor");
  EXPECT_FALSE(read_sample(op, "v[1.5], v[1]", DType::Int64));
  EXPECT_FALSE(read_sample(op, "v[1+2j], v[1]", DType::Float));
  EXPECT_FALSE(read_sample(op, "v[-1], v[1]", DType::UInt8));
  EXPECT_TRUE(read_sample(op, "v[1+2j], v[1]", DType::ComplexFloat));
}

TEST(Samples, TextsThatAreNoCallsSayWhere) {
  const Operator& op = dispatch::get_operator("add.Tensor");
  const auto error_of = [&](const char* text) -> std::string {
    try {
      read_sample(op, text, DType::Float);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  for (const char* text : {"t(2,3)", "t(2,3), t(2,3), 1, 2", "q(2,3), t(3)", "t(2,3, t(3)",
                           "v[[1,2],[3]], t(2)", "t(2).X, t(2)", "t(2), other=t(2), other=t(2)",
                           "t(2) t(2)", "t(2), t(2), alpha=", "t(2), t(2), beta=1"})
    EXPECT_NE(error_of(text).find("sample of add.Tensor, column"), std::string::npos)
        << text << ": " << error_of(text);
}

}  // namespace
}  // namespace taeda
