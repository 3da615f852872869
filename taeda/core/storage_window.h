// A part of a storage as a storage of its own.
#pragma once

#include "taeda/core/storage.h"

namespace taeda {

// Shares the memory and keeps `whole` alive; it cannot be resized. The caller has checked that the
// bytes lie inside.
inline Storage storage_window(const Storage& whole, size_t offset, size_t nbytes) {
  auto* kept = new Storage(whole);
  const auto drop = [](void* context) { delete static_cast<Storage*>(context); };
  void* data = whole->data() ? static_cast<char*>(whole->data()) + offset : nullptr;
  return make_intrusive<StorageImpl>(data, nbytes, whole->device(), +drop, kept);
}

}  // namespace taeda
