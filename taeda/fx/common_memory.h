// Which storages have bytes in common: arrays that were lent to a program may overlap, and overlap
// with its own memory. Storages without an address (fake, meta) have none in common.
#pragma once

#include <unordered_map>

#include "taeda/base/span.h"
#include "taeda/core/storage.h"

namespace taeda::fx {

// Whether two of them are one, or have bytes in common; null stands for none. Each call of a
// compiled program asks that, of as many storages as a model has parameters.
TAEDA_API bool have_common_memory(Span<const StorageImpl*> storages);

// Storages by the first one of those that lie in one piece. Empty where all lie apart.
using Stems = std::unordered_map<const StorageImpl*, const StorageImpl*>;
Stems stems_of(Span<const StorageImpl*> storages);

}  // namespace taeda::fx
