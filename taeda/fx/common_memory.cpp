// Storages as stretches of addresses.
#include "taeda/fx/common_memory.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

namespace taeda::fx {
namespace {

// Where a storage lies. Fake ones have no address.
struct Bytes {
  explicit Bytes(const StorageImpl* s)
      : storage(s),
        device(s->device().type, s->device().index),
        first(reinterpret_cast<uintptr_t>(s->data())),
        end(first + s->nbytes()) {}
  bool operator<(const Bytes& other) const {
    return std::tie(device, first) < std::tie(other.device, other.first);
  }
  bool meets(const Bytes& later) const { return device == later.device && later.first < end; }

  const StorageImpl* storage;
  std::pair<DeviceType, int8_t> device;
  uintptr_t first, end;
};

// By address. Those of parameters that were read from one file mostly come so.
std::vector<Bytes> in_order(Span<const StorageImpl*> storages) {
  std::vector<Bytes> all;
  all.reserve(storages.size());
  for (const StorageImpl* storage : storages)
    if (storage && storage->data()) all.emplace_back(storage);
  if (!std::ranges::is_sorted(all, std::less())) std::ranges::sort(all, std::less());
  return all;
}

// Allocators give memory that lies apart. What others lent may lie anywhere in it.
bool is_lent(const StorageImpl* storage) { return storage && storage->deleter(); }

}  // namespace

// The set is one array, at most half full.
bool have_common_memory(Span<const StorageImpl*> storages) {
  const size_t mask = std::bit_ceil(2 * storages.size() + 1) - 1;
  std::vector<const StorageImpl*> set(mask + 1);
  bool has_lent = false;
  for (const StorageImpl* storage : storages) {
    if (!storage) continue;
    has_lent |= is_lent(storage);
    constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    size_t at = (reinterpret_cast<uintptr_t>(storage) * kSpread >> 32) & mask;
    for (; set[at]; at = (at + 1) & mask)
      if (set[at] == storage) return true;
    set[at] = storage;
  }
  if (!has_lent) return false;
  const std::vector<Bytes> all = in_order(storages);
  return std::ranges::adjacent_find(
             all, [](const Bytes& a, const Bytes& b) { return a.meets(b); }) != all.end();
}

Stems stems_of(Span<const StorageImpl*> storages) {
  Stems stems;
  if (std::ranges::none_of(storages, is_lent)) return stems;
  std::optional<Bytes> piece;
  for (const Bytes& bytes : in_order(storages)) {
    if (!piece || !piece->meets(bytes)) piece = bytes;
    piece->end = std::max(piece->end, bytes.end);
    stems[bytes.storage] = piece->storage;
  }
  return stems;
}

}  // namespace taeda::fx
