// Numbers of samplers in archives.
#include "taeda/data/samplers/place.h"

#include <cstdint>

#include "taeda/base/error.h"
#include "taeda/core/constants.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/member_functions.h"

namespace taeda::data::samplers {

void write_place(serialization::OutputArchive& archive, const std::string& name, size_t place) {
  archive.write(name, full({}, static_cast<int64_t>(place), kLong), /*is_buffer=*/true);
}

size_t read_place(serialization::InputArchive& archive, const std::string& name, size_t limit) {
  Tensor read;
  archive.read(name, read, /*is_buffer=*/true);
  const auto place = read.item<int64_t>();
  TAEDA_CHECK(place >= 0 && static_cast<uint64_t>(place) <= limit, "the archive's ", name, " is ",
              place, ", which a sampler of this size cannot have: it goes from 0 to ", limit);
  return static_cast<size_t>(place);
}

}  // namespace taeda::data::samplers
