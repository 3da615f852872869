// The names of PyTorch's C++ interface on Tensor, Device and TensorOptions.
#include <gtest/gtest.h>

#include "taeda/ops/functions.h"
#include "taeda/ops/indexing/tensor_index.h"

namespace taeda {
namespace {

Tensor counted() { return arange(Scalar(6), DType::Float).view({2, 3}); }

TEST(TensorApi, ADevicesFieldsMayBeCalled) {
  const Device device(DeviceType::CUDA, 1);
  EXPECT_EQ(device.type(), DeviceType::CUDA);
  EXPECT_TRUE(device.type == DeviceType::CUDA);
  EXPECT_EQ(device.index(), 1);
  EXPECT_EQ(device.index, 1);
  EXPECT_EQ(sizeof(Device), 2u);
  EXPECT_FALSE(device == Device(DeviceType::CUDA, 0));
}

TEST(TensorApi, ADeviceWithoutABackendIsANameAlone) {
  const Device device("mps:1");
  EXPECT_EQ(device.type, DeviceType::MPS);
  EXPECT_EQ(device.text(), "mps:1");
  EXPECT_FALSE(has_backend(DeviceType::MTIA));
  EXPECT_TRUE(has_backend(DeviceType::PrivateUse3));
  EXPECT_TRUE((KeySet(DeviceType::IPU) & KeySet::all()).empty());
  EXPECT_THROW(counted().to(device), Error);
  EXPECT_THROW(rename_device_type(DeviceType::MPS, "mine"), Error);
}

TEST(TensorApi, AccessorsFollowStrides) {
  const Tensor t = counted().transpose(0, 1);
  auto a = t.accessor<float, 2>();
  EXPECT_EQ(a.size(0), 3);
  EXPECT_EQ(a[2][1], 5);
  a[2][1] = 50;
  EXPECT_EQ((t.packed_accessor32<float, 2>()[2][1]), 50);
  EXPECT_THROW((t.accessor<float, 1>()), Error);
  EXPECT_THROW((t.accessor<double, 2>()), Error);
}

TEST(TensorApi, ItemReadsTheOneElement) {
  EXPECT_EQ(counted()[1][2].item<int64_t>(), 5);
  EXPECT_EQ(counted().sum().item<double>(), 15);
  EXPECT_THROW(counted().item(), Error);
}

TEST(TensorApi, CompoundAssignmentsWriteInPlace) {
  Tensor t = counted();
  const float* data = t.data_ptr<float>();
  t += t;
  t *= 2;
  t -= 1;
  EXPECT_EQ(data[5], 19);
  EXPECT_EQ(t.sum(0, /*keepdim=*/true).sizes(), IntList({1, 3}));
}

TEST(TensorApi, AssignmentDropsLeadingOnes) {
  Tensor t = counted();
  const Tensor column = taeda::arange(Scalar(3));
  t.index_put_({0, column}, taeda::full({1, 1, 3}, Scalar(7), DType::Float));
  t.index_put_({1}, taeda::full({1, 1, 3}, Scalar(8), DType::Float));
  EXPECT_EQ(t.sum().item<double>(), 45);
}

TEST(TensorApi, OptionsAreSetOneByOne) {
  const TensorOptions options = counted().options().dtype(DType::Long).requires_grad(true);
  EXPECT_EQ(options.dtype(), DType::Int64);
  EXPECT_EQ(options.device(), Device());
  EXPECT_TRUE(options.requires_grad());
  EXPECT_FALSE(TensorOptions().dtype_opt().has_value());
  EXPECT_EQ(counted().to(TensorOptions(DType::Double)).scalar_type(), DType::Double);
}

TEST(TensorApi, AutogradIsReachedFromTheTensor) {
  const Tensor x = counted().set_requires_grad(true);
  EXPECT_TRUE(x.requires_grad() && x.is_leaf());
  EXPECT_FALSE(x.grad().defined());
  (x * x).sum().backward();
  EXPECT_EQ(x.grad()[1][2].item<float>(), 10);
}

}  // namespace
}  // namespace taeda
