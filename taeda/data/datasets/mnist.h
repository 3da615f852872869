// Handwritten digits: a folder with the files of MNIST, or others of the same form.
#pragma once

#include <optional>
#include <string>

#include "taeda/data/datasets/dataset.h"

namespace taeda::data::datasets {

// Reads train-images-idx3-ubyte and train-labels-idx1-ubyte, or the two files that begin with
// t10k, into memory. Images are (1, 28, 28) floats from 0 to 1. Files may hold any number of
// images; RuntimeError names a file that is missing, of another form, or shorter than it says.
class TAEDA_API MNIST : public Dataset<MNIST> {
 public:
  enum class Mode { kTrain, kTest };

  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain);

  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  bool is_train() const noexcept { return mode_ == Mode::kTrain; }
  const Tensor& images() const { return images_; }    // (count, 1, 28, 28)
  const Tensor& targets() const { return targets_; }  // (count), int64

 private:
  Mode mode_;
  Tensor images_, targets_;
};

}  // namespace taeda::data::datasets
