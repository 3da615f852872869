// Datasets of tensors and of files, and transforms behind them.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "taeda/data.h"

namespace taeda::data {
namespace {

using datasets::MNIST;

// A folder with files of MNIST's form; the pixels of image i are i.
class MnistFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(::testing::TempDir()) /
        ("mnist_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string number(uint32_t value) {
    std::string bytes;
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift);
    return bytes;
  }
  static std::string images(uint32_t count) {
    std::string bytes = number(2051) + number(count) + number(28) + number(28);
    for (uint32_t i = 0; i < count; ++i) bytes += std::string(28 * 28, static_cast<char>(i));
    return bytes;
  }
  static std::string targets(uint32_t count) {
    std::string bytes = number(2049) + number(count);
    for (uint32_t i = 0; i < count; ++i) bytes += static_cast<char>(9 - i);
    return bytes;
  }
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  std::string message() {
    try {
      MNIST dataset(folder_);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

TEST_F(MnistFolder, ImagesAreFloatsAndTargetsNumbers) {
  write("t10k-images-idx3-ubyte", images(3));
  write("t10k-labels-idx1-ubyte", targets(3));
  MNIST dataset(folder_.string() + "/", MNIST::Mode::kTest);
  EXPECT_EQ(dataset.size(), 3u);
  EXPECT_FALSE(dataset.is_train());
  const Example<> last = dataset.get(2);
  EXPECT_EQ(last.data.sizes(), (IntList{1, 28, 28}));
  EXPECT_FLOAT_EQ(last.data.max().item<float>(), 2.0F / 255);
  EXPECT_EQ(last.target.dtype(), kLong);
  EXPECT_EQ(last.target.item<int64_t>(), 7);
}

TEST_F(MnistFolder, AMissingFileIsNamed) {
  EXPECT_EQ(message(),
            "Error opening images file at " + folder_.string() + "/train-images-idx3-ubyte");
  write("train-images-idx3-ubyte", images(1));
  EXPECT_EQ(message(),
            "Error opening targets file at " + folder_.string() + "/train-labels-idx1-ubyte");
}

TEST_F(MnistFolder, FilesOfAnotherFormAreRefused) {
  write("train-labels-idx1-ubyte", targets(2));
  write("train-images-idx3-ubyte", targets(2));
  EXPECT_EQ(message().find("Expected to read number 2051 but found 2049 instead"), 0u);
  for (const size_t cut : {0u, 3u, 15u, 16u, 700u}) {
    write("train-images-idx3-ubyte", images(1).substr(0, cut));
    EXPECT_NE(message().find("is too short"), std::string::npos) << cut << " bytes";
  }
  write("train-images-idx3-ubyte", number(2051) + number(0xFFFFFFFF) + number(28) + number(28));
  EXPECT_NE(message().find("is too short"), std::string::npos);
  write("train-images-idx3-ubyte", images(3));
  EXPECT_NE(message().find("3 images and 2 targets"), std::string::npos);
}

TEST(Datasets, TensorsGiveTheirRows) {
  datasets::TensorDataset rows(arange(6).view({3, 2}));
  EXPECT_EQ(rows.size(), 3u);
  const TensorExample row = rows.get(1);
  EXPECT_EQ(static_cast<const Tensor&>(row).select(0, 1).item<int>(), 3);
  datasets::TensorDataset stacked(std::vector<Tensor>{ones({2}), zeros({2})});
  auto loader = make_data_loader<samplers::SequentialSampler>(
      stacked.map(transforms::Stack<TensorExample>()), 2);
  EXPECT_TRUE(equal(loader->begin()->data, stacked.tensor));
}

TEST(Transforms, NormalizeTakesOneNumberOrOnePerChannel) {
  const Tensor image = ones({2, 3, 3});
  EXPECT_FLOAT_EQ(transforms::Normalize<>(0.5, 0.25)(image).max().item<float>(), 2);
  const Tensor each = transforms::Normalize<>({0.5, 0.0}, {0.25, 0.5})(image);
  EXPECT_FLOAT_EQ(each.select(0, 0).min().item<float>(), 2);
  EXPECT_FLOAT_EQ(each.select(0, 1).max().item<float>(), 2);
  const std::vector<double> means = {1, 2}, deviations = {1, 1};
  EXPECT_FLOAT_EQ(transforms::Normalize<>(means, deviations)(image).min().item<float>(), -1);
}

TEST(Transforms, FunctionsOfOnesOwn) {
  datasets::TensorDataset rows(arange(4).view({4, 1}));
  auto squares = rows.map(transforms::TensorLambda<void>([](Tensor x) { return x * x; }))
                     .map(transforms::Lambda<TensorExample, int64_t>(
                         [](const TensorExample& x) { return x.data.item<int64_t>(); }))
                     .map(transforms::Collate<int64_t>([](const std::vector<int64_t>& numbers) {
                       int64_t sum = 0;
                       for (const int64_t number : numbers) sum += number;
                       return sum;
                     }));
  const size_t indices[] = {1, 2, 3};
  EXPECT_EQ(squares.get_batch(indices), 14);
}

}  // namespace
}  // namespace taeda::data
