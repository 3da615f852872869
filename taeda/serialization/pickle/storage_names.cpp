// From the table of dtypes.
#include "taeda/serialization/pickle/storage_names.h"

namespace taeda::serialization {
namespace {

constexpr std::string_view kPackage = "torch.", kStorage = "Storage";

// Dtypes that came to PyTorch after storages lost their dtypes.
constexpr bool is_stored_as_bytes(DType t) {
  return is_float8(t) || t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64;
}

}  // namespace

std::optional<DType> dtype_of_name(std::string_view path) {
  if (!path.starts_with(kPackage)) return std::nullopt;
  path.remove_prefix(kPackage.size());
  for (int i = 0; i < kNumDTypes; ++i)
    if (dtype_name(static_cast<DType>(i)) == path) return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<DType> dtype_of_storage_name(std::string_view path) {
  if (path == "torch.storage.UntypedStorage" || path == "torch.UntypedStorage") return DType::UInt8;
  if (!path.starts_with(kPackage) || !path.ends_with(kStorage)) return std::nullopt;
  path.remove_prefix(kPackage.size());
  for (int i = 0; i < kNumDTypes; ++i) {
    // TorchScript names storages of every dtype.
    const auto dtype = static_cast<DType>(i);
    const std::string_view name = dtype_long_name(dtype);
    if (path.size() == name.size() + kStorage.size() && path.starts_with(name)) return dtype;
  }
  return std::nullopt;
}

std::string storage_name(DType dtype) {
  if (is_stored_as_bytes(dtype)) return "";
  return std::string(dtype_long_name(dtype)) + std::string(kStorage);
}

}  // namespace taeda::serialization
