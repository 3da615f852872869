// Numbers of samplers in archives: tensors of one int64, as in PyTorch's files.
#pragma once

#include <cstddef>
#include <string>

#include "taeda/serialization/archive.h"

namespace taeda::data::samplers {

void write_place(serialization::OutputArchive& archive, const std::string& name, size_t place);
// RuntimeError for a place beyond `limit`, which no sampler of that size has saved.
size_t read_place(serialization::InputArchive& archive, const std::string& name, size_t limit);

}  // namespace taeda::data::samplers
