// Named tensors in an archive.
//
//   tensors      one line per tensor: dtype, sizes, strides, offset, storage, flags, device, name
//   data/0 ...   the bytes of each storage, little-endian
//
// Tensors that share a storage share one when they are read back; a storage is written whole.
// Whether a tensor requires gradients is a flag here: who reads decides what to do with it.
#pragma once

#include <string>
#include <vector>

#include "taeda/core/tensor.h"
#include "taeda/serialization/zip.h"

namespace taeda::serialization {

struct NamedTensor {
  std::string name;
  Tensor tensor;
  bool requires_grad = false;
};

// Adds the entries. Names must not be used twice nor hold line breaks; tensors without memory
// (meta, fake) are refused with ValueError. Conjugate and negative views are written as their
// values.
TAEDA_API void write_tensors(ZipWriter& archive, const std::vector<NamedTensor>& tensors);
// In the order written; on the devices they were on. RuntimeError for an index or data that does
// not fit.
TAEDA_API std::vector<NamedTensor> read_tensors(ZipReader& archive);

}  // namespace taeda::serialization
