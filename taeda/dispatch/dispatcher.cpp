// Keeps operators by name, and the kernels registered at run time.
#include "taeda/dispatch/dispatcher.h"

#include "taeda/dispatch/composites.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace taeda::dispatch {

struct RuntimeKernel {
  uint64_t serial;
  void* unboxed;
  BoxedKernel boxed;
  const char* where;
  KernelRank rank = KernelRank::Specific;
};

struct RuntimeSlots {
  // Defaults first, then the newest last; the generated kernel of the slot is kept to be put back.
  std::vector<RuntimeKernel> kernels[kNumSlots];
  void* generated[kNumSlots] = {};
  uint64_t generated_mask = 0;
  std::string python_module;  // where fake kernels are registered; empty: nobody said
};

namespace {

// A kernel registered before its operator is defined.
struct WaitingKernel {
  std::string full_name;
  int slot;
  RuntimeKernel kernel;
};

struct Registry {
  std::recursive_mutex mutex;
  const OperatorTable* tables = nullptr;
  std::unordered_map<std::string, Operator*> by_name;
  std::map<std::string, std::vector<Operator*>, std::less<>> overloads;
  std::vector<std::unique_ptr<Operator>> defined;
  std::vector<std::unique_ptr<std::string>> texts;  // names of operators defined at run time
  std::vector<std::unique_ptr<RuntimeSlots>> slots;
  std::vector<Operator*> with_runtime;
  std::vector<WaitingKernel> waiting;
  std::vector<RuntimeKernel> fallbacks[kNumSlots];
  RuntimeKernel builtin[kNumSlots] = {};
  uint64_t next_serial = 1;
  bool is_indexed = false;
  bool shows_composites = false;

  void add(Operator* op) {
    if (shows_composites && op->is_composite && !op->traits.unseen) show(*op);
    by_name[op->full_name()] = op;
    overloads[op->name].push_back(op);
  }
  // Lets calls of the operator stop at TransformFront.
  static void show(Operator& op) {
    op.mask |= KeySet(Key::TransformFront).bits();
    if (op.runtime) op.runtime->generated_mask |= KeySet(Key::TransformFront).bits();
  }
  void index() {
    if (is_indexed) return;
    is_indexed = true;
    for (const OperatorTable* t = tables; t; t = t->next)
      for (size_t i = 0; i < t->count; ++i) add(t->operators[i]);
  }
};

Registry& registry() {
  static Registry* r = new Registry;  // outlives static destruction: kernels may run until the end
  return *r;
}

RuntimeSlots& runtime_of(Operator& op, Registry& r) {
  if (!op.runtime) {
    r.slots.push_back(std::make_unique<RuntimeSlots>());
    op.runtime = r.slots.back().get();
    r.with_runtime.push_back(&op);
    op.runtime->generated_mask = op.mask;
    if (op.table) std::memcpy(op.runtime->generated, op.table, sizeof op.runtime->generated);
  }
  return *op.runtime;
}

uint64_t functionality_bit(int slot) {
  for (int k = kNumKeys - 1; k >= 0; --k)
    if (slot >= slot_base(static_cast<Key>(k))) return KeySet(static_cast<Key>(k)).bits();
  return 0;
}

// Rewrites table and mask from the kernels registered now.
void refresh(Operator& op, Registry& r) {
  RuntimeSlots& run = runtime_of(op, r);
  uint64_t mask = run.generated_mask;
  for (int slot = 0; slot < kNumSlots; ++slot) {
    void* unboxed = run.generated[slot];
    if (!run.kernels[slot].empty()) {
      unboxed = run.kernels[slot].back().unboxed;
      mask |= functionality_bit(slot);
    } else if (!unboxed && !op.is_composite && !r.fallbacks[slot].empty()) {
      mask |= functionality_bit(slot);
    } else if (!op.table && !op.is_composite && r.builtin[slot].boxed.fn) {
      mask |= functionality_bit(slot);
    }
    if (op.table) static_cast<void**>(op.table)[slot] = unboxed;
  }
  op.mask = mask;
}

void add_kernel(Operator& op, int slot, const RuntimeKernel& kernel, Registry& r) {
  auto& kernels = runtime_of(op, r).kernels[slot];
  auto at = kernels.end();
  if (kernel.rank == KernelRank::Default)
    while (at != kernels.begin() && std::prev(at)->rank == KernelRank::Specific) --at;
  kernels.insert(at, kernel);
  refresh(op, r);
}

bool erase(std::vector<RuntimeKernel>& kernels, uint64_t serial) {
  return std::erase_if(kernels, [&](const RuntimeKernel& k) { return k.serial == serial; }) > 0;
}

}  // namespace

std::string Operator::full_name() const {
  return *overload ? str(name, ".", overload) : std::string(name);
}

std::string qualified_name(const Operator& op) {
  const std::string full = op.full_name();
  return full.find("::") == std::string::npos ? "aten::" + full : full;
}

void add_operator_table(OperatorTable* table) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  table->next = r.tables;
  r.tables = table;
  if (r.is_indexed)
    for (size_t i = 0; i < table->count; ++i) r.add(table->operators[i]);
}

Operator* find_operator(std::string_view name, std::string_view overload) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.index();
  std::string key(name);
  if (!overload.empty()) key += str(".", overload);
  auto it = r.by_name.find(key);
  return it == r.by_name.end() ? nullptr : it->second;
}

Operator& get_operator(std::string_view full_name) {
  if (full_name.starts_with("aten::")) full_name.remove_prefix(6);
  Operator* op = find_operator(full_name);
  TAEDA_CHECK(op, "Could not find schema for ", full_name, "; no such operator is defined");
  return *op;
}

std::vector<Operator*> find_overloads(std::string_view name) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.index();
  auto it = r.overloads.find(name);
  return it == r.overloads.end() ? std::vector<Operator*>() : it->second;
}

std::vector<Operator*> all_operators() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.index();
  std::vector<Operator*> out;
  for (auto& [name, ops] : r.overloads) out.insert(out.end(), ops.begin(), ops.end());
  return out;
}

namespace {

void call_boxed_only(Operator& op, KeySet keys, Stack& stack) {
  const BoxedKernel kernel = resolve_boxed(op, keys);
  kernel.fn(op, keys, stack, kernel.context);
}

}  // namespace

Operator& define_operator(std::string_view text, const char* where, uint32_t tags) {
  const Schema schema = parse_schema(text);
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.index();
  const std::string full =
      schema.overload.empty() ? schema.name : schema.name + "." + schema.overload;
  TAEDA_CHECK(
      !r.by_name.count(full), "Tried to register an operator (", text,
      ") with the same name and overload name multiple times. Each overload's schema should "
      "only be registered with a single call to def(). Duplicate registration: ",
      where);
  auto keep = [&](std::string s) {
    r.texts.push_back(std::make_unique<std::string>(std::move(s)));
    return r.texts.back()->c_str();
  };
  r.defined.push_back(std::make_unique<Operator>(
      keep(schema.name), keep(schema.overload), keep(std::string(text)), kAlwaysMask.bits(), false,
      nullptr, nullptr, &call_boxed_only, nullptr, tags));
  Operator* op = r.defined.back().get();
  r.add(op);
  refresh(*op, r);
  for (const WaitingKernel& w : r.waiting)
    if (w.full_name == full) add_kernel(*op, w.slot, w.kernel, r);
  std::erase_if(r.waiting, [&](const WaitingKernel& w) { return w.full_name == full; });
  return *op;
}

void remove_operator(Operator& op) {
  TAEDA_CHECK(!op.table, "remove_operator: ", op.full_name(), " was not defined at run time");
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const auto it = r.by_name.find(op.full_name());
  if (it == r.by_name.end() || it->second != &op) return;
  r.by_name.erase(it);
  const auto named = r.overloads.find(std::string_view(op.name));
  std::erase(named->second, &op);
  if (named->second.empty()) r.overloads.erase(named);
}

void set_composite(Operator& op) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  op.is_composite = true;
  refresh(op, r);
  if (r.shows_composites) Registry::show(op);
}

void show_composites() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  if (std::exchange(r.shows_composites, true)) return;
  r.index();
  for (auto& [name, op] : r.by_name)
    if (op->is_composite && !op->traits.unseen) Registry::show(*op);
}

Registration register_kernel(Operator& op, int slot, void* unboxed, BoxedKernel boxed,
                             const char* where, KernelRank rank) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const uint64_t serial = r.next_serial++;
  add_kernel(op, slot, {serial, unboxed, boxed, where, rank}, r);
  return Registration(serial);
}

Registration register_kernel(std::string_view full_name, int slot, BoxedKernel boxed,
                             const char* where, KernelRank rank) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  if (Operator* op = find_operator(full_name))
    return register_kernel(*op, slot, nullptr, boxed, where, rank);
  const uint64_t serial = r.next_serial++;
  r.waiting.push_back({std::string(full_name), slot, {serial, nullptr, boxed, where, rank}});
  return Registration(serial);
}

Registration register_fallback(int slot, BoxedKernel kernel, const char* where) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.index();
  const uint64_t serial = r.next_serial++;
  r.fallbacks[slot].push_back({serial, nullptr, kernel, where});
  for (auto& [name, op] : r.by_name) refresh(*op, r);
  return Registration(serial);
}

void set_kernel(Operator& op, int slot, void* fn) {
  std::lock_guard lock(registry().mutex);
  if (op.runtime) op.runtime->generated[slot] = fn;
  static_cast<void**>(op.table)[slot] = fn;
}

bool has_kernel(const Operator& op, int slot) {
  std::lock_guard lock(registry().mutex);
  return (op.table && static_cast<void**>(op.table)[slot]) ||
         (op.runtime && !op.runtime->kernels[slot].empty());
}

bool has_registered_kernel(const Operator& op, int slot) {
  std::lock_guard lock(registry().mutex);
  return op.runtime && !op.runtime->kernels[slot].empty();
}

void set_builtin_fallback(Key key, BoxedKernel kernel, const char* where) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const int count = is_per_backend(key) ? kNumBackends : 1;
  for (int i = 0; i < count; ++i) r.builtin[slot_base(key) + i] = {0, nullptr, kernel, where};
  // Blocks of the library's own may have defined operators while it started.
  for (Operator* op : r.with_runtime) refresh(*op, r);
}

void Registration::remove() {
  if (!serial_) return;
  const uint64_t serial = std::exchange(serial_, 0);
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  if (std::erase_if(r.waiting, [&](const WaitingKernel& w) { return w.kernel.serial == serial; }))
    return;
  for (auto& kernels : r.fallbacks) {
    if (!erase(kernels, serial)) continue;
    for (auto& [name, op] : r.by_name) refresh(*op, r);
    return;
  }
  for (Operator* op : r.with_runtime)
    for (auto& kernels : op->runtime->kernels)
      if (erase(kernels, serial)) return refresh(*op, r);
}

namespace {

// A generated operator as it was before anything was registered for it. Callers find the kernels
// behind the object, where a TypedOperator of any signature has them.
struct AsGenerated : Operator {
  explicit AsGenerated(const Operator& op) : Operator(op) {
    std::memcpy(kernels, op.runtime ? op.runtime->generated : op.table, sizeof kernels);
    table = kernels;
    runtime = nullptr;
  }
  void* kernels[kNumSlots];
};
static_assert(sizeof(AsGenerated) == sizeof(TypedOperator<void()>));

struct GeneratedKernel {
  GeneratedKernel(const Operator& generated, KeySet keys) : op(generated), keys(keys) {
    op.mask = keys.bits() | KeySet::backends().bits();
  }
  AsGenerated op;
  KeySet keys;
};

KeySet only_slot(int slot) {
  for (int k = kNumKeys - 1; k >= 0; --k) {
    const Key key = static_cast<Key>(k);
    if (slot < slot_base(key)) continue;
    const KeySet keys(key);
    return is_per_backend(key) ? keys | KeySet(static_cast<DeviceType>(slot - slot_base(key)))
                               : keys;
  }
  return {};
}

void call_generated(const Operator&, KeySet, Stack& stack, void* context) {
  auto& kernel = *static_cast<GeneratedKernel*>(context);
  kernel.op.call_boxed(kernel.op, kernel.keys, stack);
}

}  // namespace

BoxedKernel current_kernel(Operator& op, int slot) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  if (op.runtime && !op.runtime->kernels[slot].empty()) {
    const RuntimeKernel& newest = op.runtime->kernels[slot].back();
    if (newest.boxed.fn) return newest.boxed;
  }
  if (op.table && static_cast<void**>(op.table)[slot]) {
    // It stays alive: its caller may run it at any time.
    static auto* kept = new std::vector<std::unique_ptr<GeneratedKernel>>;
    kept->push_back(std::make_unique<GeneratedKernel>(op, only_slot(slot)));
    return {&call_generated, kept->back().get()};
  }
  return {};
}

BoxedKernel resolve_boxed(const Operator& op, KeySet keys) {
  Registry& r = registry();
  const int slot = op.relevant(keys).slot();
  // Built-in fallbacks are set before main and stand in no table, so this needs no lock.
  if (slot >= 0 && !op.runtime && r.builtin[slot].boxed.fn) return r.builtin[slot].boxed;
  std::lock_guard lock(r.mutex);
  if (slot >= 0) {
    if (op.runtime && !op.runtime->kernels[slot].empty())
      return op.runtime->kernels[slot].back().boxed;
    if (!r.fallbacks[slot].empty()) return r.fallbacks[slot].back().boxed;
    if (r.builtin[slot].boxed.fn) return r.builtin[slot].boxed;
  }
  std::string available;
  for (int s = 0; s < kNumSlots; ++s) {
    const bool has_table = op.table && static_cast<void**>(op.table)[s];
    const bool has_runtime = op.runtime && !op.runtime->kernels[s].empty();
    if (has_table || has_runtime) available += (available.empty() ? "" : ", ") + slot_name(s);
  }
  const bool is_meta = slot == slot_of(Key::Dense, DeviceType::Meta);
  const bool is_elsewhere = is_meta && op.runtime && !op.runtime->python_module.empty();
  // An operator of Taeda has a shape rule; one defined by a user may lack it.
  TAEDA_CHECK_KIND(ErrorKind::NotImplemented, !is_meta || op.table || is_elsewhere,
                   qualified_name(op),
                   ": attempted to run this operator with Meta tensors, but there was no fake impl "
                   "or Meta kernel registered; add one with torch.library.register_fake. It is "
                   "only available for these backends: [",
                   available, "]");
  fail(ErrorKind::NotImplemented, "Could not run '", qualified_name(op),
       "' with arguments from the '", slot_name(std::max(slot, 0)), "' backend. '",
       qualified_name(op), "' is only available for these backends: [", available, "]",
       is_elsewhere ? str("; its fake kernel is registered by the Python module '",
                          op.runtime->python_module, "', you may need to import it")
                    : "");
}

void set_python_module(Operator& op, std::string module) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  runtime_of(op, r).python_module = std::move(module);
}

namespace {

// A kernel that was registered for autograd is called whether gradients are wanted or not, as in
// PyTorch, but for inference; the kernels of records are left out where they have nothing to do.
KeySet with_own_autograd(const Operator& op, KeySet keys) {
  if (op.table || !op.runtime || !keys.has(Key::ADInplaceOrView) || is_inference_mode())
    return keys;
  const int slot = (KeySet(Key::Autograd) | (keys & KeySet::backends())).slot();
  return op.runtime->kernels[slot].empty() ? keys : keys | KeySet(Key::Autograd);
}

KeySet keys_of_call(const Operator& op, const Stack& stack) {
  KeySet keys;
  for (const Value& v : stack) {
    for_each_tensor(v, [&](const Tensor& t) { keys = keys | t.keys(); });
    if (v.is<Device>()) keys = keys | KeySet(Key::Dense) | KeySet(v.get<Device>().type);
  }
  keys = with_local(with_own_autograd(op, keys));
  if ((keys & KeySet::backends()).empty())
    keys = keys | KeySet(Key::Dense) | KeySet(default_device().type);
  return keys;
}

}  // namespace

void call_boxed(Operator& op, Stack& stack) { op.call_boxed(op, keys_of_call(op, stack), stack); }

void call_below_front(Operator& op, Stack& stack) {
  op.call_boxed(op, keys_of_call(op, stack) & KeySet::below(Key::TransformFront), stack);
}

std::string dump(std::string_view name) {
  if (name.starts_with("aten::")) name.remove_prefix(6);
  Operator* op = find_operator(name);
  std::vector<Operator*> ops = op ? std::vector<Operator*>{op} : find_overloads(name);
  TAEDA_CHECK(!ops.empty(), "Could not find schema for ", name);
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  std::string out;
  for (Operator* o : ops) {
    out += str(o->full_name(), "\n  schema: ", o->schema,
               "\n  kind: ", o->is_composite ? "composite (decomposes)" : "kernels by key", "\n");
    for (int s = kNumSlots - 1; s >= 0; --s) {
      const char* where = nullptr;
      if (o->runtime && !o->runtime->kernels[s].empty())
        where = o->runtime->kernels[s].back().where;
      else if (o->table && static_cast<void**>(o->table)[s])
        where = "generated from the operator's record";
      else if (!r.fallbacks[s].empty() && !o->is_composite)
        where = r.fallbacks[s].back().where;
      else if (r.builtin[s].boxed.fn && (o->mask & functionality_bit(s)))
        where = r.builtin[s].where;
      else
        continue;
      out += str("  ", slot_name(s), ": ", where, "\n");
    }
  }
  return out;
}

}  // namespace taeda::dispatch
