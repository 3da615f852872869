// Convolutions, pooling, padding and patches: values by hand, options, printed forms, errors.
#include <gtest/gtest.h>

#include "taeda/nn.h"
#include "tests/nn/printed.h"

namespace taeda::nn {
namespace {

namespace F = functional;
using List = std::vector<double>;

Tensor ramp(int64_t count) { return taeda::arange(count, kFloat).view({1, 1, count}); }

// A convolution whose weights are all one.
template <class Layer>
void fill_ones(Layer& layer) {
  init::ones_(layer->weight);
  if (layer->bias.defined()) init::zeros_(layer->bias);
}

TEST(Convolution, SumsWindows) {
  Conv1d conv(1, 1, 3);
  fill_ones(conv);
  EXPECT_EQ(values(conv(ramp(5))), (List{3, 6, 9}));
  Conv1d strided(Conv1dOptions(1, 1, 3).stride(2).padding(1).bias(false));
  fill_ones(strided);
  EXPECT_EQ(values(strided(ramp(5))), (List{1, 6, 7}));
}

TEST(Convolution, PaddingByNameAndMode) {
  Conv1d same(Conv1dOptions(1, 1, 3).padding(kSame));
  Conv1d valid(Conv1dOptions(1, 1, 3).padding(kValid));
  Conv1d circular(Conv1dOptions(1, 1, 3).padding(1).padding_mode(kCircular));
  Conv1d reflected(Conv1dOptions(1, 1, 3).padding(1).padding_mode(kReflect));
  Conv1d replicated(Conv1dOptions(1, 1, 3).padding(kSame).padding_mode(kReplicate));
  for (Conv1d* conv : {&same, &valid, &circular, &reflected, &replicated}) fill_ones(*conv);
  EXPECT_EQ(values(same(ramp(4))), (List{1, 3, 6, 5}));
  EXPECT_EQ(values(valid(ramp(4))), (List{3, 6}));
  EXPECT_EQ(values(circular(ramp(4))), (List{4, 3, 6, 5}));
  EXPECT_EQ(values(reflected(ramp(4))), (List{2, 3, 6, 7}));
  EXPECT_EQ(values(replicated(ramp(4))), (List{1, 3, 6, 8}));
  EXPECT_THROW(Conv1d(Conv1dOptions(1, 1, 3).padding(kSame).stride(2)), Error);
  EXPECT_THROW(Conv1d(Conv1dOptions(3, 2, 3).groups(2)), Error);
}

TEST(Convolution, Printed) {
  EXPECT_EQ(printed(Conv2d(3, 8, 5)), "taeda::nn::Conv2d(3, 8, kernel_size=[5, 5], stride=[1, 1])");
  EXPECT_EQ(printed(Conv2d(Conv2dOptions(4, 8, {3, 5})
                               .stride({1, 2})
                               .padding({0, 1})
                               .dilation(2)
                               .groups(2)
                               .bias(false)
                               .padding_mode(kCircular))),
            "taeda::nn::Conv2d(4, 8, kernel_size=[3, 5], stride=[1, 2], padding=[0, 1], "
            "dilation=[2, 2], groups=2, bias=false, padding_mode=kCircular)");
  EXPECT_EQ(printed(Conv1d(Conv1dOptions(1, 1, 3).padding(kSame))),
            "taeda::nn::Conv1d(1, 1, kernel_size=3, stride=1, padding='same')");
}

TEST(Convolution, TransposedTakesAnOutputSize) {
  ConvTranspose1d conv(ConvTranspose1dOptions(1, 1, 3).stride(2));
  fill_ones(conv);
  EXPECT_EQ(values(conv(ramp(3))), (List{0, 0, 1, 1, 3, 2, 2}));
  const std::vector<int64_t> size{8};
  EXPECT_EQ(conv->forward(ramp(3), IntList(size)).size(2), 8);
  const std::vector<int64_t> wrong{9};
  EXPECT_THROW(conv->forward(ramp(3), IntList(wrong)), Error);
  EXPECT_EQ(ConvTranspose3d(2, 4, 3)->weight.sizes(), IntList({2, 4, 3, 3, 3}));
}

TEST(Convolution, FunctionsTakeOptions) {
  const Tensor x = taeda::ones({1, 2, 4, 4}), w = taeda::ones({3, 1, 2, 2});
  const Tensor y = F::conv2d(x, w.narrow(0, 0, 2), F::Conv2dFuncOptions().stride(2).groups(2));
  EXPECT_EQ(y.sizes(), IntList({1, 2, 2, 2}));
  EXPECT_EQ(y.sum().item<double>(), 32);
  EXPECT_EQ(
      F::conv1d(ramp(4), taeda::ones({1, 1, 3}), F::Conv1dFuncOptions().padding(kSame)).size(2), 4);
}

TEST(Convolution, ACopyHasWeightsOfItsOwn) {
  Conv2d conv(1, 2, 3);
  const auto copy = std::dynamic_pointer_cast<Conv2dImpl>(conv->clone());
  EXPECT_TRUE(taeda::equal(copy->weight, conv->weight));
  fill_ones(conv);
  EXPECT_FALSE(taeda::equal(copy->weight, conv->weight));
}

TEST(Pooling, WindowsOfThree) {
  const Tensor x = taeda::tensor({1.0, 5.0, 2.0, 3.0, 0.0, 4.0}).view({1, 1, 6});
  EXPECT_EQ(values(MaxPool1d(3)(x)), (List{5, 4}));
  EXPECT_EQ(values(AvgPool1d(AvgPool1dOptions(2).stride(2))(x)), (List{3, 2.5, 2}));
  EXPECT_EQ(values(LPPool1d(1, 2)(x)), (List{6, 5, 4}));
  EXPECT_EQ(values(AdaptiveMaxPool1d(2)(x)), (List{5, 4}));
  EXPECT_EQ(values(AdaptiveAvgPool1d(3)(x)), (List{3, 2.5, 2}));
  EXPECT_EQ(printed(MaxPool2d(MaxPool2dOptions({3, 2}).stride(1))),
            "taeda::nn::MaxPool2d(kernel_size=[3, 2], stride=[1, 1], padding=[0, 0], "
            "dilation=[1, 1], ceil_mode=false)");
}

TEST(Pooling, IndicesUndoIt) {
  const Tensor x = taeda::tensor({1.0, 5.0, 2.0, 3.0, 0.0, 4.0}).view({1, 1, 6});
  const auto [largest, places] = MaxPool1d(2)->forward_with_indices(x);
  EXPECT_EQ(values(places), (List{1, 3, 5}));
  EXPECT_EQ(values(MaxUnpool1d(2)->forward(largest, places)), (List{0, 5, 0, 3, 0, 4}));
  EXPECT_EQ(MaxUnpool1d(2)->forward(largest, places, std::vector<int64_t>{7}).size(2), 7);
  EXPECT_THROW(MaxUnpool1d(2)->forward(largest, places, std::vector<int64_t>{9}), Error);
}

TEST(Pooling, SizesMayStay) {
  const Tensor x = taeda::ones({1, 2, 5, 7});
  AdaptiveAvgPool2d pool(AdaptiveAvgPool2dOptions({3, std::nullopt}));
  EXPECT_EQ(pool(x).sizes(), IntList({1, 2, 3, 7}));
  EXPECT_EQ(printed(pool), "taeda::nn::AdaptiveAvgPool2d(output_size=[3, None])");
  FractionalMaxPool2d random(
      FractionalMaxPool2dOptions(2).output_ratio(ExpandingArray<2, double>{0.6, 0.5}));
  EXPECT_EQ(random(x).sizes(), IntList({1, 2, 3, 3}));
  EXPECT_THROW(FractionalMaxPool2d(2)(x), Error);
}

TEST(Padding, Modes) {
  const Tensor x = ramp(3);
  EXPECT_EQ(values(ReflectionPad1d(ReflectionPad1dOptions({1, 2}))(x)), (List{1, 0, 1, 2, 1, 0}));
  EXPECT_EQ(values(ReplicationPad1d(1)(x)), (List{0, 0, 1, 2, 2}));
  EXPECT_EQ(values(ConstantPad1d(1, 7.0)(x)), (List{7, 0, 1, 2, 7}));
  EXPECT_EQ(ZeroPad2d(ZeroPad2dOptions({1, 2, 0, 1}))(taeda::ones({1, 1, 2, 2})).sizes(),
            IntList({1, 1, 3, 5}));
  EXPECT_EQ(values(F::pad(x, F::PadFuncOptions({1, 1}).mode(kCircular))), (List{2, 0, 1, 2, 0}));
}

TEST(Patches, FoldUndoesUnfold) {
  const Tensor x = taeda::arange(16, kFloat).view({1, 1, 4, 4});
  const Tensor patches = Unfold(UnfoldOptions(2).stride(2))(x);
  EXPECT_EQ(patches.sizes(), IntList({1, 4, 4}));
  EXPECT_TRUE(taeda::equal(Fold(FoldOptions(4, 2).stride(2))(patches), x));
  EXPECT_TRUE(taeda::equal(PixelUnshuffle(2)(PixelShuffle(2)(taeda::ones({1, 8, 2, 2}))),
                           taeda::ones({1, 8, 2, 2})));
}

TEST(Upsample, ByScaleAndSize) {
  Upsample twice(UpsampleOptions().scale_factor(std::vector<double>{2}));
  EXPECT_EQ(values(twice(ramp(2))), (List{0, 0, 1, 1}));
  EXPECT_EQ(printed(twice), "taeda::nn::Upsample(scale_factor=[2], mode=kNearest)");
  const Tensor line = F::interpolate(
      ramp(2),
      F::InterpolateFuncOptions().size(std::vector<int64_t>{3}).mode(kLinear).align_corners(true));
  EXPECT_EQ(values(line), (List{0, 0.5, 1}));
}

// Layers of other programs are made of the class templates.
class DoubledConvImpl : public ConvNdImpl<1, DoubledConvImpl> {
 public:
  DoubledConvImpl(int64_t channels, ExpandingArray<1> kernel_size)
      : ConvNdImpl(detail::ConvNdOptions<1>(channels, channels, kernel_size).bias(false)) {}
  Tensor forward(const Tensor& input) { return F::conv1d(input, weight).mul(2); }
};
TAEDA_MODULE(DoubledConv);

class MatrixNormImpl : public BatchNormLayer<2, 2, MatrixNormImpl> {
 public:
  using BatchNormLayer::BatchNormLayer;

 protected:
  void _check_input_dim(const Tensor& input) override {
    TAEDA_CHECK(input.dim() == 2, "a matrix is wanted");
  }
};
TAEDA_MODULE(MatrixNorm);

TEST(Convolution, OnesOwnLayersHaveParametersAndForms) {
  DoubledConv conv(1, 3);
  fill_ones(conv);
  EXPECT_EQ(conv(ramp(4)).flatten()[0].item<double>(), 6);
  EXPECT_EQ(conv->parameters().size(), 1U);
  MatrixNorm norm(BatchNormOptions(2));
  EXPECT_EQ(norm->parameters().size(), 2U);
  EXPECT_NEAR(norm(taeda::arange(6, kFloat).view({3, 2})).sum().item<double>(), 0, 1e-5);
  EXPECT_THROW(norm(ramp(4)), Error);
}

}  // namespace
}  // namespace taeda::nn
