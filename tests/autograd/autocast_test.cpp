// Autocast regions from C++: what they set and set back, and the cast cache.
#include "taeda/autograd/autocast.h"

#include <gtest/gtest.h>

#include "taeda/autograd/engine.h"
#include "taeda/autograd/variable.h"
#include "taeda/ops/functions.h"
#include "tests/autograd/values.h"

namespace taeda::autograd {
namespace {

using autocast::Region;

Tensor matrix(bool requires_grad = false) {
  const Tensor m = ones({2, 2});
  if (requires_grad) set_requires_grad(m, true);
  return m;
}

TEST(Autocast, RegionsNestAndEnd) {
  const Tensor a = matrix();
  {
    Region region(DeviceType::CPU);
    EXPECT_EQ(mm(a, a).dtype(), DType::BFloat16);
    {
      Region off(DeviceType::CPU, false);
      EXPECT_EQ(mm(a, a).dtype(), DType::Float);
      Region half(DeviceType::CPU, DType::Half);
      EXPECT_EQ(mm(a, a).dtype(), DType::Half);
    }
    EXPECT_EQ(mm(a, a).dtype(), DType::BFloat16);
  }
  EXPECT_EQ(mm(a, a).dtype(), DType::Float);
  EXPECT_FALSE(local_keys().include.has(Key::Autocast));
}

TEST(Autocast, OtherDeviceTypesAreNotTouched) {
  const Tensor a = matrix();
  Region region(DeviceType::CUDA);
  EXPECT_TRUE(local_keys().include.has(Key::Autocast));
  EXPECT_EQ(mm(a, a).dtype(), DType::Float);
  const Tensor m = a.to(Device(DeviceType::Meta));
  EXPECT_EQ(mm(m, m).dtype(), DType::Float);
}

TEST(Autocast, KeepsOneCastOfAWeight) {
  const Tensor a = matrix(), weight = matrix(true);
  Region region(DeviceType::CPU);
  const Tensor first = mm(a, weight), second = mm(a, weight);
  EXPECT_EQ(grad_fn(first)->next_edges()[1].function, grad_fn(second)->next_edges()[1].function);
  autocast::set_cache_enabled(false);
  const Tensor third = mm(a, weight);
  EXPECT_NE(grad_fn(first)->next_edges()[1].function, grad_fn(third)->next_edges()[1].function);
}

TEST(Autocast, GradientsComeBackInTheLeafsDType) {
  const Tensor a = matrix(), weight = matrix(true);
  Tensor loss;
  {
    Region region(DeviceType::CPU);
    loss = mm(a, weight).sum();
  }
  backward(loss);
  EXPECT_EQ(values(grad(weight)), (Floats{2, 2, 2, 2}));
}

TEST(Autocast, RefusesDeviceTypesWithoutIt) {
  EXPECT_THROW(autocast::set_enabled(DeviceType::Meta, true), Error);
  EXPECT_FALSE(autocast::is_enabled(DeviceType::Meta));
}

}  // namespace
}  // namespace taeda::autograd
