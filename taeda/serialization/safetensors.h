// Files of named tensors in the safetensors format: a header in JSON, then the tensors' bytes.
//
//   8 bytes      the header's size, little-endian
//   header       {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
//                 "__metadata__": {"key": "text", ...}}
//   bytes        of all tensors, row-major, without gaps
//
// The files interchange with those of the safetensors package. A header is read as if somebody
// meant harm: names are there once, ranges follow each other without gaps or overlaps and end where
// the file does, and nothing else is in it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "taeda/core/tensor.h"
#include "taeda/serialization/byte_streams.h"

namespace taeda::serialization {

using SafetensorsMetadata = std::map<std::string, std::string>;

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::Float;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // in the file
};

class TAEDA_API SafetensorsReader {
 public:
  static constexpr uint64_t kLargestHeader = 100'000'000;

  // RuntimeError that says what is wrong, and where, for a file that breaks a rule.
  explicit SafetensorsReader(std::unique_ptr<Source> source);
  // Tensors' memory is the file's, where their numbers lie as the machine needs them.
  static SafetensorsReader map(const std::string& path);

  // In the order of their bytes.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  const SafetensorsMetadata& metadata() const { return metadata_; }
  const SafetensorsEntry* find(std::string_view name) const;
  // On the CPU.
  Tensor read(const SafetensorsEntry& entry);

 private:
  std::unique_ptr<Source> source_;
  Storage mapped_;
  std::vector<SafetensorsEntry> entries_;
  SafetensorsMetadata metadata_;
};

// Contiguous tensors of any device under names of their own. ValueError for a dtype that the format
// does not have, for a tensor that is not contiguous or has no memory, and for a name used twice.
TAEDA_API void write_safetensors(Sink& sink,
                                 const std::vector<std::pair<std::string, Tensor>>& tensors,
                                 const SafetensorsMetadata& metadata = {});

}  // namespace taeda::serialization
