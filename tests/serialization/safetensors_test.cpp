// Safetensors files in C++: round trips and faults.
#include "taeda/serialization/safetensors.h"

#include <gtest/gtest.h>

#include "taeda/ops/functions.h"
#include "tests/serialization/samples.h"

namespace taeda::serialization {
namespace {

std::string header_error(const std::string& header, const std::string& data) {
  const uint64_t size = header.size();
  const std::string bytes =
      std::string(reinterpret_cast<const char*>(&size), sizeof size) + header + data;
  try {
    SafetensorsReader reader(open_memory_source(bytes));
    for (const SafetensorsEntry& entry : reader.entries()) reader.read(entry);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Runtime);
    return e.what();
  }
  return "";
}

TEST(Safetensors, ReadsWhatItWrote) {
  const std::string bytes = sample_safetensors();
  SafetensorsReader reader(open_memory_source(bytes));
  EXPECT_EQ(reader.metadata().at("format"), "pt");
  ASSERT_EQ(reader.entries().size(), 3u);
  EXPECT_TRUE(equal(reader.read(*reader.find("weight")), sample_tensor()));
  EXPECT_EQ(reader.read(*reader.find("n")).dim(), 0);
  EXPECT_EQ(reader.find("flags")->dtype, DType::Bool);
  EXPECT_EQ(reader.find("none"), nullptr);
}

TEST(Safetensors, TextsOfEveryKind) {
  EXPECT_EQ(
      header_error(
          R"({"\u00e4\ud83d\udd25\"\\\/\n":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}} )",
          "x"),
      "");
  EXPECT_NE(header_error(R"({"\ud83d":{}})", "").find("half of a character"), std::string::npos);
  EXPECT_NE(header_error(R"({"\x":{}})", "").find("unknown escape"), std::string::npos);
  EXPECT_NE(header_error(R"({"a":{"dtype":"U8","shape":[01],"data_offsets":[0,1]}})", "x")
                .find("starts with 0"),
            std::string::npos);
}

TEST(Safetensors, WriterRefusesWhatReadersWould) {
  std::string out;
  const auto write = [&](const std::vector<std::pair<std::string, Tensor>>& tensors) {
    write_safetensors(*open_memory_sink(out), tensors);
  };
  EXPECT_THROW(write({{"a", ones({1})}, {"a", ones({1})}}), Error);
  EXPECT_THROW(write({{"a", ones({2, 3}).t()}}), Error);
  EXPECT_THROW(write({{"__metadata__", ones({1})}}), Error);
  EXPECT_THROW(write({{"\xff", ones({1})}}), Error);
  EXPECT_THROW(write({{"a", ones({1}, DType::ComplexDouble)}}), Error);
  EXPECT_TRUE(out.empty());
}

}  // namespace
}  // namespace taeda::serialization
