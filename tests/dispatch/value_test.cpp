// Boxed values: what they hold, how they are copied, moved and dropped.
#include "taeda/dispatch/value.h"

#include <gtest/gtest.h>

namespace taeda::dispatch {
namespace {

template <class T>
constexpr bool kTakes = std::is_constructible_v<Value, T>;

TEST(Value, NumbersKeepTheirKind) {
  EXPECT_TRUE(Value(true).is<bool>());
  EXPECT_TRUE(Value(3).is<int64_t>());
  EXPECT_TRUE(Value(3u).is<int64_t>());
  EXPECT_TRUE(Value(1.5f).is<double>());
  EXPECT_TRUE(Value("text").is<std::string>());
  std::vector<bool> bits{true, false};
  EXPECT_TRUE(Value(bits[0]).get<bool>());
}

TEST(Value, NumbersAboveTheSignedRangeStayThemselves) {
  constexpr uint64_t kBig = (uint64_t{1} << 63) + 1;
  const Value v{Scalar(kBig)};
  EXPECT_TRUE(v.is_scalar());
  EXPECT_EQ(v.get<uint64_t>(), kBig);
  EXPECT_EQ(v.to_scalar().kind(), Scalar::Kind::UInt);
  EXPECT_EQ(v.to_double(), 9223372036854775808.0);
  EXPECT_THROW(v.to_int(), Error);
  EXPECT_TRUE(Value(Scalar(uint64_t{3})).is<int64_t>());
}

TEST(Value, PointersAreNoTruthValues) {
  EXPECT_FALSE(kTakes<int*>);
  EXPECT_FALSE(kTakes<void (*)()>);
  EXPECT_FALSE(kTakes<std::nullptr_t>);
  EXPECT_TRUE(kTakes<const char*>);
}

TEST(Value, CopiesAreTheirOwn) {
  Value a(std::vector<int64_t>{1, 2});
  Value b = a;
  b.get<std::vector<int64_t>>()[0] = 7;
  EXPECT_EQ(a.get<std::vector<int64_t>>()[0], 1);
  a = b;
  EXPECT_EQ(a.get<std::vector<int64_t>>()[0], 7);
}

TEST(Value, AssignmentToItself) {
  Value a(std::string(100, 'x'));
  Value& same = a;
  a = same;
  EXPECT_EQ(a.get<std::string>().size(), 100u);
  a = std::move(same);
  EXPECT_EQ(a.get<std::string>().size(), 100u);
}

TEST(Value, AssignmentFromItsOwnList) {
  Value a(std::make_shared<Value::List>(Value::List{Value(std::string(100, 'x'))}));
  a = (*a.get<std::shared_ptr<Value::List>>())[0];
  EXPECT_EQ(a.get<std::string>(), std::string(100, 'x'));
  Value b(std::make_shared<Value::List>(Value::List{Value(std::string(100, 'y'))}));
  b = std::move((*b.get<std::shared_ptr<Value::List>>())[0]);
  EXPECT_EQ(b.get<std::string>(), std::string(100, 'y'));
}

TEST(Value, OwnersAreHeldOnce) {
  const Tensor t = make_tensor({2}, DType::Float, Device());
  {
    Value a(t);
    EXPECT_EQ(t.use_count(), 2u);
    Value b = std::move(a);
    EXPECT_EQ(t.use_count(), 2u);
    a = b;
    EXPECT_EQ(t.use_count(), 3u);
    b = Value(1);
    EXPECT_EQ(t.use_count(), 2u);
  }
  EXPECT_EQ(t.use_count(), 1u);
}

TEST(Value, VisitsWhatItHolds) {
  const auto is_text = []<class T>(const T&) { return std::is_same_v<T, std::string>; };
  EXPECT_TRUE(Value("x").visit(is_text));
  EXPECT_FALSE(Value(1).visit(is_text));
  EXPECT_FALSE(Value().visit(is_text));
}

TEST(Value, AnotherKindIsRefused) {
  EXPECT_THROW(Value(1).get<double>(), Error);
  EXPECT_THROW(Value().get<Tensor>(), Error);
}

}  // namespace
}  // namespace taeda::dispatch
