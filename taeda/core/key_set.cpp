// Names of keys and the thread-local key sets.
#include "taeda/core/key_set.h"

namespace taeda {

namespace core_detail {
// Tracking sees every call outside inference mode, also those on inference tensors.
thread_local constinit LocalKeys local_keys TAEDA_STATIC_TLS{KeySet(Key::ADInplaceOrView),
                                                             KeySet()};
}  // namespace core_detail

const char* key_name(Key k) {
  constexpr const char* names[kNumKeys] = {"Dense",         "BackendSelect", "Fake",
                                           "TransformBack", "Python",        "Functionalize",
                                           "Negative",      "Conjugate",     "ADInplaceOrView",
                                           "Autograd",      "Autocast",      "TransformFront"};
  return names[static_cast<int>(k)];
}

std::string slot_name(int slot) {
  constexpr const char* backends[kNumBackends] = {
      "CPU", "CUDA", "Meta", "OpenCL", "Lazy", "PrivateUse1", "PrivateUse2", "PrivateUse3"};
  for (int k = kNumKeys - 1; k >= 0; --k) {
    const auto key = static_cast<Key>(k);
    const int base = slot_base(key);
    if (slot < base) continue;
    if (!is_per_backend(key)) return key_name(key);
    const char* backend = backends[slot - base];
    return key == Key::Dense ? backend : std::string(key_name(key)) + backend;
  }
  return "";
}

std::string to_string(KeySet keys) {
  std::string out = "KeySet(";
  const char* separator = "";
  for (int k = kNumKeys - 1; k >= 0; --k) {
    if (!keys.has(static_cast<Key>(k))) continue;
    out += separator;
    out += key_name(static_cast<Key>(k));
    separator = ", ";
  }
  for (int b = 0; b < kNumBackends; ++b) {
    if (!keys.has(static_cast<DeviceType>(b))) continue;
    out += separator;
    out += slot_name(b);
    separator = ", ";
  }
  return out + ")";
}

}  // namespace taeda
