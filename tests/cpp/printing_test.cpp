// Tensors on streams. The expected texts are what PyTorch's C++ library prints.
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "tests/cpp/values.h"

namespace taeda {
namespace {

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Printing, MatricesAndVectors) {
  EXPECT_EQ(printed(arange(6, kFloat).view({2, 3})), " 0  1  2\n 3  4  5\n[ CPUFloatType{2,3} ]");
  EXPECT_EQ(printed(tensor({1.5, 2.25, -3.0})), " 1.5000\n 2.2500\n-3.0000\n[ CPUFloatType{3} ]");
  EXPECT_EQ(printed(tensor({-1, -200})), "  -1\n-200\n[ CPULongType{2} ]");
  EXPECT_EQ(printed(arange(6, kFloat).view({2, 3}).t()),
            " 0  3\n 1  4\n 2  5\n[ CPUFloatType{3,2} ]");
}

TEST(Printing, ScalarsHaveAllTheirDigits) {
  EXPECT_EQ(printed(tensor(2.5)), "2.5\n[ CPUFloatType{} ]");
  EXPECT_EQ(printed(tensor(3)), "3\n[ CPULongType{} ]");
  EXPECT_EQ(printed(tensor(true)), "1\n[ CPUBoolType{} ]");
  EXPECT_EQ(printed(tensor(0.1)), "0.10000000149011612\n[ CPUFloatType{} ]");
  EXPECT_EQ(printed(tensor(0.1, kDouble)), "0.1\n[ CPUDoubleType{} ]");
  EXPECT_EQ(printed(tensor(1e10)), "10000000000\n[ CPUFloatType{} ]");
  EXPECT_EQ(printed(tensor(1e17, kDouble)), "1e+17\n[ CPUDoubleType{} ]");
  EXPECT_EQ(printed(tensor(1e-5, kDouble)), "1e-05\n[ CPUDoubleType{} ]");
  EXPECT_EQ(printed(tensor(kNaN)), "nan\n[ CPUFloatType{} ]");
}

TEST(Printing, TypesOfElements) {
  const Tensor x = arange(6, kFloat).view({2, 3});
  EXPECT_EQ(printed(x > 2), " 0  0  0\n 1  1  1\n[ CPUBoolType{2,3} ]");
  EXPECT_EQ(printed(x.to(kHalf) / 3),
            " 0.0000  0.3333  0.6665\n 1.0000  1.3330  1.6670\n[ CPUHalfType{2,3} ]");
  EXPECT_EQ(printed(x.to(kBFloat16) / 3),
            " 0.0000  0.3340  0.6680\n 1.0000  1.3359  1.6641\n[ CPUBFloat16Type{2,3} ]");
  EXPECT_EQ(printed(tensor({1, 2}, kByte)), " 1\n 2\n[ CPUByteType{2} ]");
  EXPECT_EQ(printed(tensor({1, 2}, kUInt16)), " 1\n 2\n[ CPUUInt16Type{2} ]");
  EXPECT_EQ(printed(tensor({1.0, 2.0}).to(kFloat8_e4m3fn)), " 1\n 2\n[ CPUFloat8_e4m3fnType{2} ]");
}

TEST(Printing, LayoutsAndFormats) {
  EXPECT_EQ(printed(kStrided), "Strided");
  EXPECT_EQ(printed(MemoryFormat::ChannelsLast), "ChannelsLast");
}

TEST(Printing, Options) {
  EXPECT_EQ(printed(TensorOptions()),
            "TensorOptions(dtype=float (default), device=cpu (default), layout=Strided (default), "
            "requires_grad=false (default), pinned_memory=false (default), "
            "memory_format=(nullopt))");
  EXPECT_EQ(printed(TensorOptions(kDouble)
                        .device(kCPU)
                        .layout(kStrided)
                        .requires_grad(true)
                        .pinned_memory(false)
                        .memory_format(MemoryFormat::ChannelsLast)),
            "TensorOptions(dtype=double, device=cpu, layout=Strided, requires_grad=true, "
            "pinned_memory=false, memory_format=ChannelsLast)");
}

TEST(Printing, TheTypeOfATensor) {
  EXPECT_EQ(ones({2}).toString(), "CPUFloatType");
  EXPECT_EQ(ones({2}, TensorOptions(kLong).device(kMeta)).toString(), "MetaLongType");
  EXPECT_EQ(Tensor().toString(), "UndefinedType");
}

TEST(Printing, ToTheErrorStream) {
  testing::internal::CaptureStderr();
  ones({2, 3}).print();
  ones({}).print();
  Tensor().print();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "[CPUFloatType [2, 3]]\n[CPUFloatType []]\n[UndefinedTensor]\n");
}

TEST(Printing, TensorsWithoutMemoryShowTheirType) {
  EXPECT_EQ(printed(empty({2}, TensorOptions(kLong).device(kMeta))), "[ MetaLongType{2} ]");
}

TEST(Printing, ComplexNumbersHaveTwoParts) {
  const Tensor x = complex(tensor({1.5, 2.0}), tensor({-2.0, 0.25}));
  EXPECT_EQ(printed(x),
            "real part\n 1.5000\n 2.0000\n[ CPUFloatType{2} ]\n"
            "imaginary part\n-2.0000\n 0.2500\n[ CPUFloatType{2} ]");
}

TEST(Printing, NothingAndUndefined) {
  EXPECT_EQ(printed(Tensor()), "[ Tensor (undefined) ]");
  EXPECT_EQ(printed(empty({0})), "[ CPUFloatType{0} ]");
  EXPECT_EQ(printed(empty({2, 0, 3})), "[ CPUFloatType{2,0,3} ]");
}

TEST(Printing, ScalesAndExponents) {
  EXPECT_EQ(printed(tensor({123456.5, 1e6})), "1000000 *\n 0.1235\n 1.0000\n[ CPUFloatType{2} ]");
  EXPECT_EQ(printed(tensor({{1e-5, 2e-5}, {3e-5, 4e-5}})),
            "1e-05 *\n 1.0000  2.0000\n  3.0000  4.0000\n[ CPUFloatType{2,2} ]");
  EXPECT_EQ(printed(tensor({1e-8, 1.0, 1e8})),
            " 1.0000e-08\n 1.0000e+00\n 1.0000e+08\n[ CPUFloatType{3} ]");
  EXPECT_EQ(printed(tensor({1e-300, 1.0}, kDouble)),
            " 1.0000e-300\n  1.0000e+00\n[ CPUDoubleType{2} ]");
  EXPECT_EQ(printed(tensor({99999.5, 1.0})), " 99999.5000\n     1.0000\n[ CPUFloatType{2} ]");
  EXPECT_EQ(printed(tensor({1000000000, 2})), " 1.0000e+09\n 2.0000e+00\n[ CPULongType{2} ]");
}

TEST(Printing, NumbersThatAreNone) {
  EXPECT_EQ(printed(tensor({1.0, kInf, -kInf})), " 1\ninf\n-inf\n[ CPUFloatType{3} ]");
  EXPECT_EQ(printed(tensor({1.5, kNaN})), " 1.5000\n    nan\n[ CPUFloatType{2} ]");
}

TEST(Printing, MatricesOfMoreDimensions) {
  EXPECT_EQ(printed(arange(8).view({2, 2, 2})),
            "(1,.,.) = \n 0  1\n  2  3\n\n(2,.,.) = \n 4  5\n  6  7\n[ CPULongType{2,2,2} ]");
  // The first index is the fastest.
  EXPECT_EQ(printed(arange(4, kFloat).view({2, 2, 1, 1})),
            "(1,1,.,.) = \n 0\n\n(2,1,.,.) = \n 2\n\n(1,2,.,.) = \n 1\n\n(2,2,.,.) = \n 3\n"
            "[ CPUFloatType{2,2,1,1} ]");
  EXPECT_EQ(printed((arange(4, kFloat).view({1, 2, 2}) + 6) * 98765.4),
            "(1,.,.) = \n100000 *\n  5.9259  6.9136\n   7.9012  8.8889\n[ CPUFloatType{1,2,2} ]");
}

TEST(Printing, ColumnsThatDoNotFitFollow) {
  EXPECT_EQ(printed(arange(25).view({1, 25})),
            "Columns 1 to 20  0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15  16  "
            "17  18  19\n\nColumns 21 to 25 20  21  22  23  24\n[ CPULongType{1,25} ]");
  EXPECT_EQ(printed(arange(24, kFloat).view({1, 2, 12}) / 3),
            "(1,.,.) = \nColumns 1 to 9  0.0000  0.3333  0.6667  1.0000  1.3333  1.6667  2.0000  "
            "2.3333  2.6667\n  4.0000  4.3333  4.6667  5.0000  5.3333  5.6667  6.0000  6.3333  "
            "6.6667\n\nColumns 10 to 12  3.0000  3.3333  3.6667\n  7.0000  7.3333  7.6667\n"
            "[ CPUFloatType{1,2,12} ]");
}

TEST(Printing, PartsOfTensors) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(printed(x.sizes()), "[2, 3]");
  EXPECT_EQ(printed(x.dtype()), "Float");
  EXPECT_EQ(printed(x.device()), "cpu");
  EXPECT_EQ(printed(Scalar(2.5)) + printed(Scalar(2)) + printed(Scalar(true)), "2.52true");
  using indexing::None, indexing::Slice, indexing::Ellipsis;
  const auto shown = [](const TensorIndex& index) { return printed(index); };
  EXPECT_EQ(shown(None) + shown(Ellipsis) + shown(true) + shown(-3), "None...true-3");
  EXPECT_EQ(shown(Slice(1, 4, 2)), "1:4:2");
  EXPECT_EQ(printed(Slice(1, 4)), "1:4:1");
  EXPECT_EQ(shown(Slice()), "0:4611686018427387903:1");
}

}  // namespace
}  // namespace taeda
