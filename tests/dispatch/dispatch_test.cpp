// Registration at run time: override, removal, fallbacks, alias keys, operators defined from a
// schema.
#include <gtest/gtest.h>

#include "taeda/base/trace.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/dispatch/library.h"
#include "taeda/dispatch/modes.h"
#include "taeda/ops/functions.h"

namespace taeda {
namespace {

using dispatch::Library;
using dispatch::Operator;
using dispatch::Stack;

Tensor ones(int64_t n) { return taeda::ones({SymInt(n)}); }
double first(const Tensor& t) { return t.data<float>()[0]; }

Tensor always_seven(const Tensor& self, const Tensor&, const Scalar&) {
  Tensor out = taeda::empty_like(self);
  out.fill_(Scalar(7));
  return out;
}

TEST(Dispatch, AKernelOverridesAndItsRemovalRestores) {
  Library library("aten", std::nullopt, "dispatch_test");
  library.impl("add.Tensor", "CPU", &always_seven);
  EXPECT_EQ(first(taeda::add(ones(2), ones(2))), 7);
  EXPECT_NE(dispatch::dump("add.Tensor").find("CPU: dispatch_test"), std::string::npos);
  library.remove();
  EXPECT_EQ(first(taeda::add(ones(2), ones(2))), 2);
  EXPECT_EQ(dispatch::dump("add.Tensor").find("dispatch_test"), std::string::npos);
}

TEST(Dispatch, TheNewestOfTwoKernelsWins) {
  Library older("aten", std::nullopt, "older"), newer("aten", std::nullopt, "newer");
  older.impl("neg", "CPU", +[](const Tensor& self) -> Tensor { return self.add(Scalar(1)); });
  newer.impl("neg", "CPU", +[](const Tensor& self) -> Tensor { return self.add(Scalar(2)); });
  EXPECT_EQ(first(taeda::neg(ones(1))), 3);
  newer.remove();
  EXPECT_EQ(first(taeda::neg(ones(1))), 2);
  older.remove();
  EXPECT_EQ(first(taeda::neg(ones(1))), -1);
}

TEST(Dispatch, AFunctionOfAnotherTypeIsRefused) {
  Library library("aten", std::nullopt, "wrong");
  EXPECT_THROW(
      library.impl("add.Tensor", "CPU", +[](const Tensor& self) -> Tensor { return self; }), Error);
}

int fallback_calls = 0;
void counting_fallback(const Operator& op, KeySet keys, Stack& stack, void*) {
  ++fallback_calls;
  const_cast<Operator&>(op).call_boxed(const_cast<Operator&>(op), keys & KeySet::below(Key::Python),
                                       stack);
}

TEST(Dispatch, ABoxedFallbackSeesEveryOperatorBelowItsKey) {
  Library library("_", dispatch::DispatchTarget::parse("Python"), "fallback");
  library.fallback({&counting_fallback, nullptr});
  fallback_calls = 0;
  {
    IncludeKeys scope((KeySet(Key::Python)));
    Tensor t = taeda::add(ones(2), ones(2));
    EXPECT_EQ(first(t), 2);
  }
  EXPECT_GE(fallback_calls, 3);  // two factories and the sum
  library.remove();
  const int before = fallback_calls;
  {
    IncludeKeys scope((KeySet(Key::Python)));
    taeda::add(ones(2), ones(2));
  }
  EXPECT_EQ(fallback_calls, before);
}

class Counting final : public dispatch::Mode {
 public:
  int calls = 0;
  size_t modes_inside = 9;
  void run(Operator& op, Stack& stack) override {
    ++calls;
    modes_inside = dispatch::modes().size();
    dispatch::call_boxed(op, stack);
  }
};

TEST(Dispatch, AModeTakesEveryOperatorAndIsOffWhileItRuns) {
  auto outer = make_intrusive<Counting>(), inner = make_intrusive<Counting>();
  dispatch::push_mode(outer);
  dispatch::push_mode(inner);
  EXPECT_TRUE(local_keys().include.has(Key::Python));
  const Tensor t = taeda::add(ones(2), ones(2));
  EXPECT_EQ(inner->calls, 3);  // two factories and the sum
  EXPECT_EQ(inner->modes_inside, 1u);
  EXPECT_EQ(outer->calls, 3);
  EXPECT_EQ(outer->modes_inside, 0u);
  EXPECT_EQ(dispatch::pop_mode().get(), inner.get());
  dispatch::pop_mode();
  EXPECT_FALSE(local_keys().include.has(Key::Python));
  EXPECT_EQ(first(t), 2);
  EXPECT_EQ(inner->calls, 3);
  EXPECT_THROW(dispatch::pop_mode(), Error);
}

Tensor twice(const Tensor& x) { return x.mul(Scalar(2)); }

TEST(Dispatch, AnOperatorDefinedFromASchemaIsCallableBoxed) {
  static Library library("testops", std::nullopt, "defined");
  Operator& op = library.def("twice(Tensor x) -> Tensor", &twice);
  Stack stack{dispatch::Value(ones(3))};
  dispatch::call_boxed(op, stack);
  EXPECT_EQ(first(stack.at(0).get<Tensor>()), 2);
  EXPECT_EQ(&dispatch::get_operator("testops::twice"), &op);
  EXPECT_THROW(library.def("twice(Tensor x) -> Tensor"), Error);
  EXPECT_THROW(library.def("broken(Tensor x"), Error);
}

TEST(Dispatch, AliasKeysExpand) {
  using T = dispatch::DispatchTarget;
  EXPECT_EQ(T::parse("Autograd").alias, T::Alias::Autograd);
  EXPECT_EQ(T::parse("AutogradCPU").backend, DeviceType::CPU);
  EXPECT_EQ(T::parse("PrivateUse1").key, Key::Dense);
  EXPECT_EQ(T::parse("CompositeExplicitAutograd").alias, T::Alias::CompositeExplicit);
  EXPECT_THROW(T::parse("NoSuchKey"), Error);
}

TEST(Dispatch, AMissingBackendNamesWhatThereIs) {
  Operator& op = dispatch::get_operator("copy_");
  const KeySet keys = KeySet(Key::Dense) | KeySet(DeviceType::OpenCL);
  try {
    dispatch::resolve_boxed(op, keys);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::NotImplemented);
    EXPECT_NE(e.message().find("'OpenCL' backend"), std::string::npos);
    EXPECT_NE(e.message().find("CPU"), std::string::npos);
  }
}

TEST(KeySet, TheOutermostKeyAnswersAndBackendsSelectTheSlot) {
  const KeySet keys = KeySet(Key::Dense) | KeySet(Key::Autograd) | KeySet(DeviceType::CPU) |
                      KeySet(DeviceType::Meta);
  EXPECT_EQ(keys.highest_key(), Key::Autograd);
  EXPECT_EQ(keys.backend(), DeviceType::Meta);
  EXPECT_EQ(slot_name(keys.slot()), "AutogradMeta");
  EXPECT_EQ(slot_name((keys - KeySet(Key::Autograd)).slot()), "Meta");
  // Functionalities in the design's order, outermost first.
  const Key order[] = {Key::TransformFront, Key::Autocast, Key::Autograd,      Key::ADInplaceOrView,
                       Key::Conjugate,      Key::Negative, Key::Functionalize, Key::Python,
                       Key::TransformBack,  Key::Fake,     Key::BackendSelect, Key::Dense};
  for (size_t i = 0; i + 1 < std::size(order); ++i)
    EXPECT_EQ((KeySet(order[i]) | KeySet(order[i + 1])).highest_key(), order[i]);
}

TEST(Schema, ReadsPyTorchsSyntax) {
  const auto s = dispatch::parse_schema(
      "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_EQ(s.name, "add");
  EXPECT_EQ(s.overload, "out");
  ASSERT_EQ(s.arguments.size(), 4u);
  EXPECT_FALSE(s.arguments[1].is_kwarg_only);
  EXPECT_TRUE(s.arguments[3].is_kwarg_only && s.arguments[3].is_written);
  EXPECT_EQ(s.arguments[2].default_value().to_int(), 1);
  const auto list = dispatch::parse_schema(
      "index(Tensor self, Tensor?[] indices, int[2] x=[1, 2], str? s=None) -> (Tensor a, Tensor "
      "b)");
  EXPECT_EQ(list.arguments[1].type.base, "Tensor?");
  EXPECT_EQ(list.arguments[2].default_value().get<std::vector<int64_t>>(),
            (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(list.arguments[3].default_value().is_none());
  EXPECT_EQ(list.returns[1].name, "b");
  const auto nested = dispatch::parse_schema("merge(Tensor[][] rows, Tensor[] more) -> Tensor[]");
  EXPECT_EQ(nested.arguments[0].type.base, "Tensor[]");
  EXPECT_EQ(nested.arguments[0].type.text(), "Tensor[][]");
  EXPECT_EQ(nested.arguments[1].type.base, "Tensor");
}

TEST(Schema, EveryOperatorsSchemaParses) {
  for (Operator* op : dispatch::all_operators())
    EXPECT_NO_THROW(dispatch::parse_schema(op->schema)) << op->schema;
}

TEST(Trace, EventsNestAndStop) {
  static std::vector<std::string> seen;
  seen.clear();
  set_trace_handler(
      [](const TraceEvent& e, void*) {
        seen.push_back(std::string(e.phase == TraceEvent::Phase::Begin ? "+" : "-") + e.name);
      },
      nullptr);
  taeda::zeros({SymInt(2)});
  set_trace_handler(nullptr, nullptr);
  taeda::zeros({SymInt(2)});
  ASSERT_GE(seen.size(), 4u);
  EXPECT_EQ(seen.front(), "+zeros");
  EXPECT_EQ(seen.back(), "-zeros");
  EXPECT_EQ(seen[1], "+empty");
}

}  // namespace
}  // namespace taeda
