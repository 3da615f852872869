// Note [Shared inputs]: which inputs look at the same memory.
#include "taeda/fx/shared_inputs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "taeda/autograd/variable.h"
#include "taeda/core/dtype.h"
#include "taeda/fx/common_memory.h"
#include "taeda/fx/fake.h"
#include "taeda/fx/memory_looks.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/view/gradients.h"

namespace taeda::fx {
namespace {

using dispatch::Value;

bool is_empty(const Tensor& t) {
  for (const SymInt& size : t.sym_sizes())
    if (size == 0) return true;
  return false;
}

// Elements of memory from the first to the last one.
SymInt extent_of(const Tensor& t) {
  return gradients::storage_reach(t.sym_sizes(), t.sym_strides(), SymInt(0));
}

// The tensor that a fake input stands for: a fake has no address and, mostly, no base.
Tensor behind(const Tensor& t) {
  const Tensor real = is_fake(t) ? fake_mode_of(t)->real_of(t) : Tensor();
  return real.defined() ? real : t;
}

const TensorImpl* base_of(const Tensor& t) {
  const TensorImpl* own = behind(t).impl();
  const TensorImpl* base = own->view_base();
  return base ? base : own;
}

const Tensor& tensor(const std::vector<Value>& inputs, size_t i) { return inputs[i].get<Tensor>(); }

int64_t item_of(const Tensor& t) { return static_cast<int64_t>(item_size(t.dtype())); }

// From the address of one storage to that of the other; storages without any are one.
int64_t bytes_between(const Tensor& from, const Tensor& to) {
  const auto address = [](const Tensor& t) {
    return reinterpret_cast<intptr_t>(behind(t).storage()->data());
  };
  return static_cast<int64_t>(address(to) - address(from));
}

// Counts places in the largest units in which all of these inputs have whole numbers.
class Ruler {
 public:
  Ruler(const std::vector<Value>& inputs, const std::vector<size_t>& measured)
      : origin_(tensor(inputs, measured.front())) {
    for (const size_t i : measured) {
      const Tensor& t = tensor(inputs, i);
      unit = std::gcd(unit, std::gcd(item_of(t), bytes_between(origin_, t)));
    }
  }
  // Of the first element of a tensor, from the start of the first one's storage.
  SymInt place(const Tensor& t) const {
    return SymInt(bytes_between(origin_, t) / unit) +
           t.impl()->sym_storage_offset() * SymInt(item_of(t) / unit);
  }
  SymInt length(const Tensor& t) const { return extent_of(t) * SymInt(item_of(t) / unit); }

  int64_t unit = 0;  // bytes

 private:
  const Tensor& origin_;
};

// Inputs of one stretch of memory.
struct Stretch {
  std::vector<size_t> inputs;
  SymInt first, end;
};

// Adds an input to the stretches, and joins those that it overlaps.
void add(std::vector<Stretch>& stretches, size_t input, const Tensor& t, const Ruler& ruler) {
  Stretch joined{{input}, ruler.place(t), ruler.place(t) + ruler.length(t)};
  for (size_t i = 0; i < stretches.size();) {
    Stretch& other = stretches[i];
    if (other.end <= joined.first || joined.end <= other.first) {
      ++i;
      continue;
    }
    joined.inputs.insert(joined.inputs.end(), other.inputs.begin(), other.inputs.end());
    if (other.first < joined.first) joined.first = other.first;
    if (joined.end < other.end) joined.end = other.end;
    stretches.erase(stretches.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::sort(joined.inputs.begin(), joined.inputs.end());
  stretches.push_back(std::move(joined));
}

// What a line is made of whose elements have `unit` bytes.
DType dtype_of_line(const std::vector<size_t>& members, const std::vector<Value>& inputs,
                    int64_t unit) {
  const auto is_all = [&](auto&& holds) {
    return std::ranges::all_of(members, [&](size_t i) { return holds(tensor(inputs, i).dtype()); });
  };
  const DType first = tensor(inputs, members.front()).dtype();
  for (const DType dtype : {first, to_real(first)}) {
    const bool is_made_of_it =
        is_all([&](DType of) { return of == dtype || to_real(of) == dtype; });
    if (is_made_of_it && static_cast<int64_t>(item_size(dtype)) == unit) return dtype;
  }
  switch (unit) {
    case 1: return DType::UInt8;
    case 2: return DType::Int16;
    case 4: return DType::Int32;
    default: return DType::Int64;
  }
}

SharedMemory memory_of(const std::vector<size_t>& members, const std::vector<Value>& inputs) {
  const Ruler ruler(inputs, members);
  SharedMemory memory;
  memory.inputs = members;
  memory.dtype = dtype_of_line(members, inputs, ruler.unit);
  std::optional<SymInt> first, end;
  int64_t largest = 0;
  for (const size_t i : members) {
    const Tensor& t = tensor(inputs, i);
    const SymInt from = ruler.place(t), to = from + ruler.length(t);
    memory.places.push_back(from);
    if (!first || from < *first) first = from;
    if (!end || *end < to) end = to;
    largest = std::max(largest, item_of(t));
  }
  // Larger elements lie in a line as they do in memory, at multiples of their size.
  if (largest > ruler.unit) first = *first - *first % SymInt(largest / ruler.unit);
  for (SymInt& place : memory.places) place = place - *first;
  memory.length = *end - *first;
  return memory;
}

// Where the elements of a tensor lie in rows of `row` elements, if each of its rows stays within
// one: from `first`, less than `row`, on.
struct Columns {
  int64_t first = 0, count = 0;
};
std::optional<Columns> columns_of(const Tensor& t, const SymInt& place, int64_t row) {
  Columns columns{place.expect_int() % row, 1};
  for (size_t d = 0; d < static_cast<size_t>(t.dim()); ++d)
    if (t.strides()[d] % row != 0) columns.count += (t.sizes()[d] - 1) * t.strides()[d];
  return columns.first + columns.count <= row ? std::optional(columns) : std::nullopt;
}

// Whether two of the inputs surely share no element although they lie in one range: columns of a
// matrix.
bool are_columns_apart(const SharedMemory& memory, size_t i, size_t j, const Tensor& a,
                       const Tensor& b) {
  const SymInt &of_a = memory.places[i], &of_b = memory.places[j];
  if (a.dtype() != memory.dtype || b.dtype() != memory.dtype || a.impl()->has_symbolic_sizes() ||
      b.impl()->has_symbolic_sizes() || of_a.is_symbolic() || of_b.is_symbolic())
    return false;
  const auto longest = [](const Tensor& t) {
    return t.dim() == 0 ? int64_t{0} : *std::max_element(t.strides().begin(), t.strides().end());
  };
  const int64_t row = longest(a);
  if (row < 2 || row != longest(b)) return false;
  const auto in_a = columns_of(a, of_a, row), in_b = columns_of(b, of_b, row);
  return in_a && in_b &&
         (in_a->first + in_a->count <= in_b->first || in_b->first + in_b->count <= in_a->first);
}

bool are_all_apart(const SharedMemory& memory, const std::vector<Value>& inputs) {
  for (size_t i = 0; i < memory.inputs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (!are_columns_apart(memory, i, j, tensor(inputs, memory.inputs[i]),
                             tensor(inputs, memory.inputs[j])))
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
    if (t.dtype() != memory.dtype || t.is_conj() || t.is_neg()) continue;
    if (impl->has_symbolic_sizes() ? !t.is_contiguous() : !impl->is_non_overlapping_and_dense())
      continue;
    if (impl->sym_storage_offset() != 0 || memory.place_of(i) != 0 || extent_of(t) != memory.length)
      continue;
    memory.whole = i;
    // The tensor that the others are views of is the best.
    if (is_base(t, base_of(t))) return;
  }
}

const StorageImpl* storage_of(const Value& input) {
  const bool is_tensor = input.is<Tensor>() && input.get<Tensor>().defined();
  return is_tensor ? behind(input.get<Tensor>()).storage().get() : nullptr;
}

}  // namespace

bool is_base(const Tensor& input, const TensorImpl* base) { return behind(input).impl() == base; }

const SymInt& SharedMemory::place_of(size_t input) const {
  const auto at = std::ranges::find(inputs, input);
  return places.at(static_cast<size_t>(at - inputs.begin()));
}

std::vector<SharedMemory> find_shared_memories(const std::vector<Value>& inputs) {
  std::vector<const StorageImpl*> all;
  all.reserve(inputs.size());
  for (const Value& input : inputs) all.push_back(storage_of(input));
  if (!have_common_memory(all)) return {};
  const Stems stems = stems_of(all);
  std::unordered_map<const StorageImpl*, size_t> numbers;
  std::vector<std::vector<size_t>> readers;  // by memory, in the order of their first inputs
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!all[i]) continue;
    const auto stem = stems.find(all[i]);
    const auto [it, is_new] =
        numbers.emplace(stem == stems.end() ? all[i] : stem->second, readers.size());
    if (is_new) readers.emplace_back();
    readers[it->second].push_back(i);
  }
  std::vector<SharedMemory> found;
  for (std::vector<size_t>& members : readers) {
    // Sizes matter only where a memory has several inputs.
    if (members.size() == 1) continue;
    std::erase_if(members, [&](size_t i) { return is_empty(tensor(inputs, i)); });
    if (members.empty()) continue;
    const Ruler ruler(inputs, members);
    std::vector<Stretch> stretches;
    for (const size_t i : members) add(stretches, i, tensor(inputs, i), ruler);
    for (const Stretch& stretch : stretches) {
      if (stretch.inputs.size() == 1) continue;
      SharedMemory memory = memory_of(stretch.inputs, inputs);
      if (are_all_apart(memory, inputs)) continue;
      find_families(memory, inputs);
      find_whole(memory, inputs);
      found.push_back(std::move(memory));
    }
  }
  return found;
}

void check_line(const SharedMemory& memory, const std::vector<Value>& inputs, bool has_gradients) {
  const auto unit = static_cast<int64_t>(item_size(memory.dtype));
  for (size_t i = 0; i < memory.inputs.size(); ++i) {
    const SymInt per_element(item_of(tensor(inputs, memory.inputs[i])) / unit);
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented, memory.places[i] % per_element == SymInt(0),
                     "the program writes to memory that input ", memory.inputs.front(),
                     " and input ", memory.inputs[i],
                     " share, of which one lies across elements of the other");
  }
  for (const SharedFamily& family : memory.families)
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented,
                     !has_gradients || !family.requires_grad || !is_integral(memory.dtype),
                     "the program writes to memory that input ", memory.inputs[0], " and input ",
                     memory.inputs[1],
                     " read as different numbers, with gradients; pass one tensor, and make views "
                     "of it inside");
}

// ---- what later inputs are compared with ----

Sharing::Sharing(const std::vector<Value>& inputs) {
  for (const SharedMemory& memory : find_shared_memories(inputs)) add(memory, inputs);
}

Sharing::Sharing(const std::vector<Value>& values, const std::vector<size_t>& written) {
  if (written.empty()) return;
  for (const SharedMemory& memory : find_shared_memories(values))
    if (std::ranges::any_of(memory.inputs,
                            [&](size_t i) { return std::ranges::count(written, i); }))
      add(memory, values);
}

void Sharing::add(const SharedMemory& memory, const std::vector<Value>& values) {
  inputs.push_back(memory.inputs);
  const auto note = [&](const SymInt& n) {
    is_symbolic |= n.is_symbolic();
    places.push_back(n.is_symbolic() ? 0 : n.expect_int());
  };
  for (size_t i = 0; i < memory.inputs.size(); ++i) {
    const Tensor& t = tensor(values, memory.inputs[i]);
    for (const SymInt& size : t.sym_sizes()) note(size);
    for (const SymInt& stride : t.sym_strides()) note(stride);
    note(t.impl()->sym_storage_offset());
    note(memory.places[i]);
  }
  for (const SharedFamily& family : memory.families) {
    places.push_back(family.is_leaf);
    places.insert(places.end(), family.inputs.begin(), family.inputs.end());
  }
}

// ---- the line ----

Tensor view_of_memory(const Tensor& whole, const Tensor& input, const SymInt& place) {
  Tensor seen = look_at_memory(whole, input.dtype(), input.sym_sizes(), input.sym_strides(), place);
  if (input.is_conj()) seen = taeda::_conj(seen);
  return input.is_neg() ? taeda::_neg_view(seen) : seen;
}

Tensor scatter_where_looks(const Tensor& whole, const Tensor& part, const Tensor& input,
                           const SymInt& place) {
  Tensor held = input.is_neg() ? taeda::_neg_view(part) : part;
  if (input.is_conj()) held = taeda::_conj(held);
  return scatter_into_memory(whole, held, input.sym_sizes(), input.sym_strides(), place);
}

}  // namespace taeda::fx
