// The names that PyTorch's pickles have for dtypes and for storages of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "taeda/core/dtype.h"

namespace taeda::serialization {

// Of "torch.float32"; none for another text.
std::optional<DType> dtype_of_name(std::string_view path);
// Of "torch.FloatStorage", and bytes of "torch.storage.UntypedStorage".
std::optional<DType> dtype_of_storage_name(std::string_view path);
// "FloatStorage"; empty for dtypes whose storages are stored as bytes.
std::string storage_name(DType dtype);

}  // namespace taeda::serialization
