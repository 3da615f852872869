// Tensors in archives: geometry, sharing, and indices that lie.
#include "taeda/serialization/tensor_archive.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "taeda/ops/functions.h"

namespace taeda::serialization {
namespace {

std::string written(const std::vector<NamedTensor>& tensors) {
  std::string out;
  ZipWriter writer(open_memory_sink(out));
  write_tensors(writer, tensors);
  writer.finish();
  return out;
}
std::vector<NamedTensor> read(const std::string& bytes) {
  ZipReader reader(open_memory_source(bytes));
  return read_tensors(reader);
}

// An archive with this index and one storage of 16 bytes.
std::string error_of_index(const std::string& lines) {
  std::string bytes;
  ZipWriter writer(open_memory_sink(bytes));
  writer.add("tensors", "taeda tensors 1\n" + lines);
  writer.add("data/0", std::string(16, '\1'));
  writer.finish();
  try {
    read(bytes);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Runtime) << e.what();
    return e.what();
  }
  return "";
}

TEST(TensorArchive, KeepsGeometryAndSharing) {
  const Tensor base = arange(12).to(DType::Float).reshape({3, 4});
  const Tensor column = base.select(1, 2), turned = base.t();
  const auto back = read(written({{"base", base, true}, {"a column", column}, {"turned", turned}}));
  ASSERT_EQ(back.size(), 3u);
  EXPECT_TRUE(back[0].requires_grad);
  EXPECT_EQ(back[1].name, "a column");
  EXPECT_TRUE(equal(back[0].tensor, base));
  EXPECT_TRUE(equal(back[1].tensor, column));
  EXPECT_EQ(back[2].tensor.stride(0), 1);
  EXPECT_EQ(back[0].tensor.storage().get(), back[1].tensor.storage().get());
  Tensor(back[1].tensor).fill_(7);
  EXPECT_EQ(read_scalar(back[0].tensor.select(1, 2).sum()).to_double(), 21.0);
}

TEST(TensorArchive, EveryDtypeScalarsAndEmptyOnes) {
  std::vector<NamedTensor> all;
  for (int i = 0; i < kNumDTypes; ++i) {
    Tensor t = make_tensor({3}, static_cast<DType>(i), DeviceType::CPU);
    std::memset(t.data(), 1, static_cast<size_t>(t.nbytes()));
    all.push_back({str("t", i), t});
  }
  all.push_back({"scalar", make_tensor({}, DType::Int64, DeviceType::CPU).fill_(5)});
  all.push_back({"empty", make_tensor({0, 4}, DType::Float, DeviceType::CPU)});
  const auto back = read(written(all));
  ASSERT_EQ(back.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(back[i].tensor.dtype(), all[i].tensor.dtype());
    ASSERT_EQ(back[i].tensor.nbytes(), all[i].tensor.nbytes());
    const auto bytes = static_cast<size_t>(back[i].tensor.nbytes());
    if (bytes > 0) EXPECT_EQ(std::memcmp(back[i].tensor.data(), all[i].tensor.data(), bytes), 0);
  }
}

TEST(TensorArchive, RefusesTensorsWithoutMemory) {
  EXPECT_THROW(written({{"m", make_tensor({2}, DType::Float, DeviceType::Meta)}}), Error);
  EXPECT_THROW(written({{"a\nb", make_tensor({2}, DType::Float, DeviceType::CPU)}}), Error);
}

TEST(TensorArchive, RefusesIndicesThatDoNotFit) {
  EXPECT_EQ(error_of_index("float32 4 1 0 0 - cpu x\n"), "");
  const std::pair<const char*, const char*> cases[] = {
      {"float32 5 1 0 0 - cpu x\n", "beyond its storage of 16 bytes"},
      {"float32 4 1 1 0 - cpu x\n", "beyond its storage"},
      {"float32 2 4 0 0 - cpu x\n", "beyond its storage"},
      {"float32 9223372036854775807,9223372036854775807 1,1 0 0 - cpu x\n", "too large"},
      {"float32 9223372036854775807,9223372036854775807,0 0,0,0 0 0 - cpu x\n", "too large"},
      {"float32 2 9223372036854775807 9223372036854775807 0 - cpu x\n", "too large"},
      {"float32 4 1 0 1 - cpu x\n", "the storage 1"},
      {"float31 4 1 0 0 - cpu x\n", "no dtype is called float31"},
      {"float32 -4 1 0 0 - cpu x\n", "no natural number"},
      {"float32 4,1 1 0 0 - cpu x\n", "do not fit each other"},
      {"float32 4 1 0 0 - cpu x\nfloat32 4 1 0 0 - cpu x\n", "twice"},
      {"float32 4 1 0 0 q cpu x\n", "unknown flags"},
      {"float32 4 1 0 0 - cpu x", "no end"},
      {"float32\n", "no natural number"},
  };
  for (const auto& [line, message] : cases)
    EXPECT_NE(error_of_index(line).find(message), std::string::npos)
        << line << error_of_index(line);
}

TEST(TensorArchive, RandomIndicesNeverCrash) {
  const std::string good = "float32 2,2 2,1 0 0 - cpu x\nint64 2 1 0 0 grad cpu yy\n";
  std::mt19937 random(2);
  for (int round = 0; round < 5000; ++round) {
    std::string lines = good;
    for (int k = 0; k < 1 + round % 4; ++k)
      lines[random() % lines.size()] = "0123456789 ,-\nfloatcpu"[random() % 22];
    error_of_index(lines);
  }
}

}  // namespace
}  // namespace taeda::serialization
