// Key sets: which layers of the dispatcher a tensor asks for, as functionality bits times backend
// bits.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "taeda/core/device.h"

namespace taeda {

// Innermost first; a call goes to the highest one that is set. Autocast, Autograd and Dense have
// one kernel per backend, the others one for all.
enum class Key : uint8_t {
  Dense,
  BackendSelect,
  Fake,
  TransformBack,
  Python,
  Functionalize,
  Negative,
  Conjugate,
  ADInplaceOrView,
  Autograd,
  Autocast,
  TransformFront,
};
constexpr int kNumKeys = 12;
constexpr int kNumBackends = kNumDeviceTypes;

constexpr bool is_per_backend(Key k) {
  return k == Key::Dense || k == Key::Autograd || k == Key::Autocast;
}
TAEDA_API const char* key_name(Key k);

// Slots of a dispatch table, one per functionality, or one per functionality and backend.
constexpr int slot_base(Key k) {
  int base = 0;
  for (int i = 0; i < static_cast<int>(k); ++i)
    base += is_per_backend(static_cast<Key>(i)) ? kNumBackends : 1;
  return base;
}
constexpr int kNumSlots = slot_base(Key::TransformFront) + 1;
constexpr int slot_of(Key k, DeviceType backend) {
  return slot_base(k) + (is_per_backend(k) ? static_cast<int>(backend) : 0);
}
TAEDA_API std::string slot_name(int slot);
constexpr uint32_t kPerBackendMask = [] {
  uint32_t m = 0;
  for (int i = 0; i < kNumKeys; ++i)
    m |= static_cast<uint32_t>(is_per_backend(static_cast<Key>(i))) << i;
  return m;
}();

class KeySet {
 public:
  constexpr KeySet() = default;
  constexpr explicit KeySet(uint64_t bits) : bits_(bits) {}
  constexpr KeySet(Key k) : bits_(1ULL << (kNumBackends + static_cast<int>(k))) {}
  constexpr KeySet(DeviceType backend) : bits_(1ULL << static_cast<int>(backend)) {}
  static constexpr KeySet all() { return KeySet(~0ULL >> (64 - kNumBackends - kNumKeys)); }
  static constexpr KeySet backends() { return KeySet((1ULL << kNumBackends) - 1); }
  // Every functionality inside (below) k.
  static constexpr KeySet below(Key k) {
    return KeySet((1ULL << (kNumBackends + static_cast<int>(k))) - 1);
  }
  constexpr uint64_t bits() const { return bits_; }
  constexpr bool has(Key k) const { return bits_ & KeySet(k).bits_; }
  constexpr bool has(DeviceType t) const { return bits_ & KeySet(t).bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr KeySet operator|(KeySet a, KeySet b) { return KeySet(a.bits_ | b.bits_); }
  friend constexpr KeySet operator&(KeySet a, KeySet b) { return KeySet(a.bits_ & b.bits_); }
  friend constexpr KeySet operator-(KeySet a, KeySet b) { return KeySet(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(KeySet a, KeySet b) = default;

  // The outermost functionality; the set must hold one.
  constexpr Key highest_key() const {
    return static_cast<Key>(63 - std::countl_zero(bits_) - kNumBackends);
  }
  constexpr DeviceType backend() const {
    const uint64_t b = bits_ & backends().bits_;
    return b ? static_cast<DeviceType>(63 - std::countl_zero(b)) : DeviceType::CPU;
  }
  int slot() const {
    const uint64_t functionality = bits_ >> kNumBackends;
    if (functionality == 0) return -1;
    const int k = 63 - std::countl_zero(functionality);
    const int base = kSlotBase[k];
    return (kPerBackendMask >> k) & 1 ? base + static_cast<int>(backend()) : base;
  }

 private:
  static constexpr int8_t kSlotBase[kNumKeys] = {
      slot_base(Key::Dense),         slot_base(Key::BackendSelect), slot_base(Key::Fake),
      slot_base(Key::TransformBack), slot_base(Key::Python),        slot_base(Key::Functionalize),
      slot_base(Key::Negative),      slot_base(Key::Conjugate),     slot_base(Key::ADInplaceOrView),
      slot_base(Key::Autograd),      slot_base(Key::Autocast),      slot_base(Key::TransformFront)};
  uint64_t bits_ = 0;
};

TAEDA_API std::string to_string(KeySet keys);

// Thread-local additions and removals, applied to every call on this thread.
struct LocalKeys {
  KeySet include, exclude;
};
namespace core_detail {
extern TAEDA_API thread_local constinit LocalKeys local_keys TAEDA_STATIC_TLS;
}
inline LocalKeys& local_keys() { return core_detail::local_keys; }

class ExcludeKeys {
 public:
  explicit ExcludeKeys(KeySet keys) : saved_(local_keys().exclude) {
    local_keys().exclude = saved_ | keys;
  }
  ~ExcludeKeys() { local_keys().exclude = saved_; }
  ExcludeKeys(const ExcludeKeys&) = delete;

 private:
  KeySet saved_;
};

class IncludeKeys {
 public:
  explicit IncludeKeys(KeySet keys) : saved_(local_keys().include) {
    local_keys().include = saved_ | keys;
  }
  ~IncludeKeys() { local_keys().include = saved_; }
  IncludeKeys(const IncludeKeys&) = delete;

 private:
  KeySet saved_;
};

// A scope below autograd: nothing is recorded, views keep their tracking.
struct BelowAutograd : ExcludeKeys {
  BelowAutograd() : ExcludeKeys(Key::Autograd) {}
};
// Below view and version tracking too: kernels that call other operators on their own results.
struct BelowADInplaceOrView : ExcludeKeys {
  BelowADInplaceOrView() : ExcludeKeys(KeySet(Key::Autograd) | KeySet(Key::ADInplaceOrView)) {}
};

}  // namespace taeda
