// Note [Shared inputs]: which inputs look at the same memory.
#include "taeda/fx/shared_inputs.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>

#include "taeda/autograd/variable.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

using dispatch::Value;

bool is_empty(const Tensor& t) {
  for (const SymInt& size : t.sym_sizes())
    if (size == 0) return true;
  return false;
}

SymInt end_of(const Tensor& t) {
  SymInt end = t.impl()->sym_storage_offset() + 1;
  for (int64_t d = 0; d < t.dim(); ++d)
    end =
        end + (t.sym_sizes()[static_cast<size_t>(d)] - 1) * t.sym_strides()[static_cast<size_t>(d)];
  return end;
}

const TensorImpl* base_of(const Tensor& t) {
  const TensorImpl* base = t.impl()->view_base();
  return base ? base : t.impl();
}

const Tensor& tensor(const std::vector<Value>& inputs, size_t i) { return inputs[i].get<Tensor>(); }

// Adds an input to the memories of one storage, and joins those that it overlaps.
void add(std::vector<SharedMemory>& memories, size_t input, const Tensor& t) {
  SharedMemory joined;
  joined.inputs = {input};
  joined.first = t.impl()->sym_storage_offset();
  joined.end = end_of(t);
  for (size_t i = 0; i < memories.size();) {
    SharedMemory& other = memories[i];
    if (other.end <= joined.first || joined.end <= other.first) {
      ++i;
      continue;
    }
    joined.inputs.insert(joined.inputs.end(), other.inputs.begin(), other.inputs.end());
    if (other.first < joined.first) joined.first = other.first;
    if (joined.end < other.end) joined.end = other.end;
    memories.erase(memories.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::sort(joined.inputs.begin(), joined.inputs.end());
  memories.push_back(std::move(joined));
}

// Where the elements of a tensor lie in rows of `row` elements, if each of its rows stays within
// one: from `first`, less than `row`, on.
struct Columns {
  int64_t first = 0, count = 0;
};
std::optional<Columns> columns_of(const Tensor& t, int64_t row) {
  Columns columns{t.storage_offset() % row, 1};
  for (size_t d = 0; d < static_cast<size_t>(t.dim()); ++d)
    if (t.strides()[d] % row != 0) columns.count += (t.sizes()[d] - 1) * t.strides()[d];
  return columns.first + columns.count <= row ? std::optional(columns) : std::nullopt;
}

// Whether two tensors of one storage surely share no element although they lie in one range:
// columns of a matrix.
bool are_columns_apart(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.impl()->has_symbolic_sizes() || b.impl()->has_symbolic_sizes())
    return false;
  const auto longest = [](const Tensor& t) {
    return t.dim() == 0 ? int64_t{0} : *std::max_element(t.strides().begin(), t.strides().end());
  };
  const int64_t row = longest(a);
  if (row < 2 || row != longest(b)) return false;
  const auto of_a = columns_of(a, row), of_b = columns_of(b, row);
  return of_a && of_b &&
         (of_a->first + of_a->count <= of_b->first || of_b->first + of_b->count <= of_a->first);
}

bool are_all_apart(const SharedMemory& memory, const std::vector<Value>& inputs) {
  for (size_t i = 0; i < memory.inputs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (!are_columns_apart(tensor(inputs, memory.inputs[i]), tensor(inputs, memory.inputs[j])))
        return false;
  return true;
}

void find_families(SharedMemory& memory, const std::vector<Value>& inputs) {
  for (const size_t i : memory.inputs) {
    const TensorImpl* base = base_of(tensor(inputs, i));
    auto it = std::find_if(memory.families.begin(), memory.families.end(),
                           [&](const SharedFamily& f) { return f.base == base; });
    if (it == memory.families.end()) {
      const autograd::AutogradMetaImpl* meta = autograd::meta_or_null(base);
      memory.families.push_back({base, {}, false, !meta || !meta->grad_fn});
      it = std::prev(memory.families.end());
    }
    it->inputs.push_back(i);
    it->requires_grad |= autograd::requires_grad(tensor(inputs, i));
  }
}

void find_whole(SharedMemory& memory, const std::vector<Value>& inputs) {
  for (const size_t i : memory.inputs) {
    const Tensor& t = tensor(inputs, i);
    const TensorImpl* impl = t.impl();
    if (impl->has_symbolic_sizes() ? !t.is_contiguous() : !impl->is_non_overlapping_and_dense())
      continue;
    if (impl->sym_storage_offset() != 0 || end_of(t) != memory.end) continue;
    memory.whole = i;
    // The tensor that the others are views of is the best.
    if (base_of(t) == impl) return;
  }
}

const StorageImpl* storage_of(const Value& input) {
  const bool is_tensor = input.is<Tensor>() && input.get<Tensor>().defined();
  return is_tensor ? input.get<Tensor>().storage().get() : nullptr;
}

}  // namespace

// The set is one array, at most half full.
bool has_common_storage(Span<const StorageImpl*> storages) {
  const size_t mask = std::bit_ceil(2 * storages.size() + 1) - 1;
  std::vector<const StorageImpl*> set(mask + 1);
  for (const StorageImpl* storage : storages) {
    if (!storage) continue;
    constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    size_t at = (reinterpret_cast<uintptr_t>(storage) * kSpread >> 32) & mask;
    for (; set[at]; at = (at + 1) & mask)
      if (set[at] == storage) return true;
    set[at] = storage;
  }
  return false;
}

std::vector<SharedMemory> find_shared_memories(const std::vector<Value>& inputs) {
  std::vector<const StorageImpl*> all;
  all.reserve(inputs.size());
  for (const Value& input : inputs) all.push_back(fx::storage_of(input));
  if (!has_common_storage(all)) return {};
  const auto storage_of = [&](size_t i) { return fx::storage_of(inputs[i]); };
  std::unordered_map<const StorageImpl*, size_t> readers;
  for (size_t i = 0; i < inputs.size(); ++i) ++readers[storage_of(i)];
  std::vector<std::vector<SharedMemory>> storages;  // in the order of their first inputs
  std::unordered_map<const StorageImpl*, size_t> places;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const StorageImpl* storage = storage_of(i);
    // Sizes matter only where a storage has several inputs.
    if (!storage || readers[storage] == 1 || is_empty(tensor(inputs, i))) continue;
    const auto [it, is_new] = places.emplace(storage, storages.size());
    if (is_new) storages.emplace_back();
    add(storages[it->second], i, tensor(inputs, i));
  }
  std::vector<SharedMemory> found;
  for (std::vector<SharedMemory>& memories : storages)
    for (SharedMemory& memory : memories) {
      if (memory.inputs.size() == 1 || are_all_apart(memory, inputs)) continue;
      find_families(memory, inputs);
      find_whole(memory, inputs);
      found.push_back(std::move(memory));
    }
  return found;
}

void check_alike(const SharedMemory& memory, const std::vector<Value>& inputs) {
  const size_t first = memory.inputs.front();
  for (const size_t i : memory.inputs) {
    const Tensor& t = tensor(inputs, i);
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented,
                     t.dtype() == tensor(inputs, first).dtype() && !t.is_conj() && !t.is_neg(),
                     "the program writes to memory that input ", first, " and input ", i,
                     " read as different numbers; pass one tensor, and make views of it inside");
  }
}

Tensor view_of_memory(const Tensor& whole, const Tensor& input, const SharedMemory& memory) {
  return taeda::as_strided(whole, input.sym_sizes(), input.sym_strides(),
                           input.impl()->sym_storage_offset() - memory.first);
}

Tensor scatter_into_memory(const Tensor& whole, const Tensor& part, const Tensor& input,
                           const SharedMemory& memory) {
  return taeda::as_strided_scatter(whole, part, input.sym_sizes(), input.sym_strides(),
                                   input.impl()->sym_storage_offset() - memory.first);
}

}  // namespace taeda::fx
