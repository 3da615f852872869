// The reader of MNIST's files: big-endian numbers in front of bytes.
#include "taeda/data/datasets/mnist.h"

#include <cstdint>
#include <fstream>
#include <string_view>

#include "taeda/base/error.h"
#include "taeda/core/constants.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/member_functions.h"

namespace taeda::data::datasets {
namespace {

constexpr uint32_t kImageMagicNumber = 2051, kTargetMagicNumber = 2049, kSide = 28;

class IdxFile {
 public:
  IdxFile(const std::string& root, const char* name, std::string_view what)
      : path_(root.empty() || root.back() == '/' ? root + name : root + '/' + name),
        stream_(path_, std::ios::binary) {
    TAEDA_CHECK(stream_, "Error opening ", what, " file at ", path_);
  }

  uint32_t read_number() {
    unsigned char bytes[4];
    read(bytes, sizeof bytes);
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
  }
  void expect_number(uint32_t expected) {
    const uint32_t found = read_number();
    TAEDA_CHECK(found == expected, "Expected to read number ", expected, " but found ", found,
                " instead: ", path_);
  }
  // All that is left, which must be `count` bytes: no more is allocated than the file has.
  Tensor read_bytes(uint64_t count) {
    const std::streamoff here = stream_.tellg();
    stream_.seekg(0, std::ios::end);
    const auto left = static_cast<uint64_t>(stream_.tellg() - here);
    TAEDA_CHECK(left >= count, path_, " is too short: it has ", left, " bytes behind its header, ",
                "which announces ", count);
    stream_.seekg(here);
    Tensor bytes = empty({static_cast<int64_t>(count)}, kByte);
    read(bytes.mutable_data_ptr(), count);
    return bytes;
  }

 private:
  void read(void* to, uint64_t count) {
    stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(count));
    TAEDA_CHECK(static_cast<uint64_t>(stream_.gcount()) == count, path_,
                " is too short: it ends inside of its header or its data");
  }

  std::string path_;
  std::ifstream stream_;
};

Tensor read_images(const std::string& root, bool is_train) {
  IdxFile file(root, is_train ? "train-images-idx3-ubyte" : "t10k-images-idx3-ubyte", "images");
  file.expect_number(kImageMagicNumber);
  const uint32_t count = file.read_number();
  file.expect_number(kSide);
  file.expect_number(kSide);
  const Tensor bytes = file.read_bytes(uint64_t{count} * kSide * kSide);
  return bytes.view({count, 1, kSide, kSide}).to(kFloat).div_(255);
}

Tensor read_targets(const std::string& root, bool is_train) {
  IdxFile file(root, is_train ? "train-labels-idx1-ubyte" : "t10k-labels-idx1-ubyte", "targets");
  file.expect_number(kTargetMagicNumber);
  return file.read_bytes(file.read_number()).to(kLong);
}

}  // namespace

MNIST::MNIST(const std::string& root, Mode mode)
    : mode_(mode),
      images_(read_images(root, is_train())),
      targets_(read_targets(root, is_train())) {
  TAEDA_CHECK(images_.size(0) == targets_.size(0), "the files in ", root, " differ: they have ",
              images_.size(0), " images and ", targets_.size(0), " targets");
}

Example<> MNIST::get(size_t index) {
  const auto place = static_cast<int64_t>(index);
  return {images_.select(0, place), targets_.select(0, place)};
}

std::optional<size_t> MNIST::size() const { return static_cast<size_t>(images_.size(0)); }

}  // namespace taeda::data::datasets
