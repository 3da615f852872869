// Device types, and the name that PrivateUse1 goes by.
#pragma once

#include "ATen/core_names.h"

namespace c10 {
inline void register_privateuse1_backend(const std::string& name) {
  const std::string now = ::taeda::device_type_name(DeviceType::PrivateUse1);
  TAEDA_CHECK(now == "privateuseone" || now == name,
              "torch.register_privateuse1_backend() has already been set! Current backend: ", now);
  ::taeda::rename_device_type(DeviceType::PrivateUse1, name);
}
inline std::string get_privateuse1_backend(bool lower_case = true) {
  std::string name = ::taeda::device_type_name(DeviceType::PrivateUse1);
  if (!lower_case)
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}
inline bool is_privateuse1_backend_registered() {
  return get_privateuse1_backend() != "privateuseone";
}
}  // namespace c10
