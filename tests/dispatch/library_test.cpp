// Libraries: schemas from C++ types, kernels before definitions, checks, removal.
#include "taeda/dispatch/library.h"

#include <gtest/gtest.h>

#include "taeda/ops/functions.h"

namespace taeda {
namespace {

using dispatch::CppFunction;
using dispatch::Library;
using dispatch::Operator;
using dispatch::Stack;
using dispatch::Value;

Tensor add_all(const std::vector<Tensor>& xs, double by, const std::optional<Tensor>& bias,
               const std::string& name, std::vector<int64_t> dims, bool negate) {
  Tensor out = xs.at(0);
  for (size_t i = 1; i < xs.size(); ++i) out = add(out, xs[i]);
  out = out.mul(Scalar(by + static_cast<double>(name.size() + dims.size())));
  if (bias) out = add(out, *bias);
  return negate ? out.neg() : out;
}

double first(const Stack& stack) { return stack.at(0).get<Tensor>().data<float>()[0]; }
Tensor ones() { return taeda::ones({SymInt(2)}); }

TEST(Library, AFunctionImpliesItsSchema) {
  EXPECT_EQ(CppFunction(&add_all).schema,
            "(Tensor[] _0, float _1, Tensor? _2, str _3, int[] _4, bool _5) -> Tensor");
  EXPECT_EQ(CppFunction([](TensorList, Scalar, DType, std::optional<Device>) {}).schema,
            "(Tensor[] _0, Scalar _1, ScalarType _2, Device? _3) -> ()");
  EXPECT_EQ(CppFunction([](int64_t n) { return std::make_tuple(n, 0.5, Tensor()); }).schema,
            "(int _0) -> (int, float, Tensor)");
}

TEST(Library, AFunctionIsDefinedByNameAlone) {
  Library library("library_test", std::nullopt, "here");
  Operator& op = library.def("add_all", &add_all);
  Stack stack{Value(std::vector<Tensor>{ones(), ones()}),
              Value(0.5),
              Value(ones()),
              Value(std::string("ab")),
              Value(std::vector<int64_t>{1}),
              Value(true)};
  dispatch::call_boxed(op, stack);
  EXPECT_EQ(first(stack), -8);
  library.remove();
  EXPECT_EQ(dispatch::find_operator("library_test::add_all"), nullptr);
}

TEST(Library, TuplesAndNumbersComeBack) {
  Library library("library_test", std::nullopt, "here");
  Operator& op =
      library.def("parts(Tensor x, int n) -> (Tensor, int, float)",
                  [](const Tensor& x, int64_t n) { return std::make_tuple(x.neg(), n + 1, 0.25); });
  Stack stack{Value(ones()), Value(int64_t{4})};
  dispatch::call_boxed(op, stack);
  ASSERT_EQ(stack.size(), 3u);
  EXPECT_EQ(first(stack), -1);
  EXPECT_EQ(stack[1].to_int(), 5);
  EXPECT_EQ(stack[2].to_double(), 0.25);
  library.remove();
}

TEST(Library, AKernelMayComeBeforeItsOperator) {
  Library kernels("library_test", dispatch::DispatchTarget::parse("CPU"), "kernels",
                  Library::Kind::Implementation);
  kernels.impl("late", [](const Tensor& x) { return x.neg(); });
  Library library("library_test", std::nullopt, "definitions");
  Operator& op = library.def("late(Tensor x) -> Tensor");
  Stack stack{Value(ones())};
  dispatch::call_boxed(op, stack);
  EXPECT_EQ(first(stack), -1);
  EXPECT_THROW(kernels.def("more(Tensor x) -> Tensor"), Error);
  kernels.remove();
  library.remove();
}

TEST(Library, ADefaultServesOnlyWhereNothingElseDoes) {
  Library library("library_test", std::nullopt, "here");
  Operator& op = library.def("pick(Tensor x) -> Tensor");
  library.impl("pick", "CPU", [](const Tensor& x) { return x.mul(Scalar(3)); });
  library.impl("pick", "CompositeExplicitAutograd", [](const Tensor& x) { return x.neg(); });
  Stack stack{Value(ones())};
  dispatch::call_boxed(op, stack);
  EXPECT_EQ(first(stack), 3);
  library.remove();
}

std::string message_of(void (*f)(Library&)) {
  Library library("library_test", std::nullopt, "here");
  try {
    f(library);
  } catch (const Error& error) {
    library.remove();
    return error.message();
  }
  library.remove();
  return "";
}

TEST(Library, WhatDoesNotFitIsRefused) {
  const auto says = [](void (*f)(Library&), const char* text) {
    const std::string message = message_of(f);
    EXPECT_NE(message.find(text), std::string::npos) << message;
  };
  says(+[](Library& m) { m.def("f(Tensr x) -> Tensor"); }, "unknown type specifier 'Tensr'");
  says(+[](Library& m) { m.def("other::f(Tensor x) -> Tensor"); }, "does not match namespace");
  says(
      +[](Library& m) { m.def("f(Tensor x, int n) -> Tensor", [](const Tensor& x) { return x; }); },
      "the number of arguments is different. 2 vs 1");
  says(
      +[](Library& m) {
        m.def("f(Tensor x, int n) -> Tensor", [](const Tensor& x, double) { return x; });
      },
      "type mismatch in arguments 2: int vs float");
}

TEST(Library, ANamespaceHasOneDefinition) {
  Library one("library_test", std::nullopt, "one", Library::Kind::Definition);
  EXPECT_THROW(Library("library_test", std::nullopt, "two", Library::Kind::Definition), Error);
  one.remove();
  Library("library_test", std::nullopt, "three", Library::Kind::Definition).remove();
}

TEST(Library, AReplacedKernelStaysCallable) {
  Operator& op = dispatch::get_operator("neg");
  const int slot = slot_of(Key::Dense, DeviceType::CPU);
  const dispatch::BoxedKernel before = dispatch::current_kernel(op, slot);
  Library library("aten", std::nullopt, "here");
  library.impl("neg", "CPU", [](const Tensor& x) { return x.mul(Scalar(5)); });
  EXPECT_EQ(taeda::neg(ones()).data<float>()[0], 5);
  Stack stack{Value(ones())};
  before.fn(op, KeySet(Key::Dense) | KeySet(DeviceType::CPU), stack, before.context);
  EXPECT_EQ(first(stack), -1);
  library.remove();
}

TAEDA_LIBRARY(library_test_broken, m) { m.def("f(Tensr x) -> Tensor"); }

TEST(Library, ErrorsOfABlockAreKeptForWhoLoadsIt) {
  EXPECT_NE(dispatch::take_library_errors().find("Tensr"), std::string::npos);
  EXPECT_EQ(dispatch::take_library_errors(), "");
}

}  // namespace
}  // namespace taeda
