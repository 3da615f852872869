// Dispatch keys by PyTorch's names, and guards that leave them out or put them in.
#pragma once

#include "ATen/core_names.h"
#include "taeda/dispatch/library.h"

namespace c10 {

using DispatchKeySet = ::taeda::KeySet;

// A key as the set that it is here: a device, or a layer for all of them.
struct DispatchKey {
  DispatchKeySet keys;
  constexpr operator DispatchKeySet() const { return keys; }
  friend constexpr bool operator==(DispatchKey, DispatchKey) = default;
  // The dispatch target at which a kernel for this key is registered.
  ::taeda::dispatch::DispatchTarget target() const {
    const bool is_of_device = !(keys & DispatchKeySet::backends()).empty();
    return {keys.highest_key(), is_of_device ? std::optional(keys.backend()) : std::nullopt};
  }

  static const DispatchKey CPU, CUDA, Meta, PrivateUse1, PrivateUse2, PrivateUse3;
  static const DispatchKey AutogradCPU, AutogradCUDA, AutogradMeta, AutogradPrivateUse1,
      AutogradPrivateUse2, AutogradPrivateUse3;
  static const DispatchKey AutocastCPU, AutocastCUDA, AutocastPrivateUse1;
  static const DispatchKey BackendSelect, Python, Functionalize, Conjugate, Negative,
      ADInplaceOrView, Autograd, Autocast;
};

#define TAEDA_DEVICE_KEY(name)                                                      \
  inline constexpr DispatchKey DispatchKey::name {                                  \
    DispatchKeySet(::taeda::Key::Dense) | DispatchKeySet(::taeda::DeviceType::name) \
  }
TAEDA_DEVICE_KEY(CPU);
TAEDA_DEVICE_KEY(CUDA);
TAEDA_DEVICE_KEY(Meta);
TAEDA_DEVICE_KEY(PrivateUse1);
TAEDA_DEVICE_KEY(PrivateUse2);
TAEDA_DEVICE_KEY(PrivateUse3);
#undef TAEDA_DEVICE_KEY
#define TAEDA_LAYER_OF_DEVICE_KEY(layer, name)                                      \
  inline constexpr DispatchKey DispatchKey::layer##name {                           \
    DispatchKeySet(::taeda::Key::layer) | DispatchKeySet(::taeda::DeviceType::name) \
  }
TAEDA_LAYER_OF_DEVICE_KEY(Autograd, CPU);
TAEDA_LAYER_OF_DEVICE_KEY(Autograd, CUDA);
TAEDA_LAYER_OF_DEVICE_KEY(Autograd, Meta);
TAEDA_LAYER_OF_DEVICE_KEY(Autograd, PrivateUse1);
TAEDA_LAYER_OF_DEVICE_KEY(Autograd, PrivateUse2);
TAEDA_LAYER_OF_DEVICE_KEY(Autograd, PrivateUse3);
TAEDA_LAYER_OF_DEVICE_KEY(Autocast, CPU);
TAEDA_LAYER_OF_DEVICE_KEY(Autocast, CUDA);
TAEDA_LAYER_OF_DEVICE_KEY(Autocast, PrivateUse1);
#undef TAEDA_LAYER_OF_DEVICE_KEY
#define TAEDA_LAYER_KEY(name) \
  inline constexpr DispatchKey DispatchKey::name { DispatchKeySet(::taeda::Key::name) }
TAEDA_LAYER_KEY(BackendSelect);
TAEDA_LAYER_KEY(Python);
TAEDA_LAYER_KEY(Functionalize);
TAEDA_LAYER_KEY(Conjugate);
TAEDA_LAYER_KEY(Negative);
TAEDA_LAYER_KEY(ADInplaceOrView);
TAEDA_LAYER_KEY(Autograd);
TAEDA_LAYER_KEY(Autocast);
#undef TAEDA_LAYER_KEY

inline constexpr DispatchKeySet autograd_dispatch_keyset =
    DispatchKeySet(::taeda::Key::Autograd) | DispatchKeySet(::taeda::Key::ADInplaceOrView);
inline constexpr DispatchKeySet after_autograd_keyset =
    DispatchKeySet::below(::taeda::Key::ADInplaceOrView);
inline constexpr DispatchKeySet after_ADInplaceOrView_keyset = after_autograd_keyset;

namespace impl {
struct ExcludeDispatchKeyGuard : ::taeda::ExcludeKeys {
  explicit ExcludeDispatchKeyGuard(DispatchKeySet keys) : ExcludeKeys(keys) {}
  explicit ExcludeDispatchKeyGuard(DispatchKey key) : ExcludeKeys(key.keys) {}
};
struct IncludeDispatchKeyGuard : ::taeda::IncludeKeys {
  explicit IncludeDispatchKeyGuard(DispatchKeySet keys) : IncludeKeys(keys) {}
  explicit IncludeDispatchKeyGuard(DispatchKey key) : IncludeKeys(key.keys) {}
};
}  // namespace impl

}  // namespace c10
