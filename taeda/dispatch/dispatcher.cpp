// Keeps operators by name and what was registered at run time.
#include "taeda/dispatch/dispatcher.h"

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
};

struct RuntimeSlots {
  // Newest last; the generated kernel of the slot is kept to be put back.
  std::vector<RuntimeKernel> kernels[kNumSlots];
  void* generated[kNumSlots] = {};
  uint64_t generated_mask = 0;
};

namespace {

struct Registry {
  std::recursive_mutex mutex;
  const OperatorTable* tables = nullptr;
  std::unordered_map<std::string, Operator*> by_name;
  std::map<std::string, std::vector<Operator*>, std::less<>> overloads;
  std::vector<std::unique_ptr<Operator>> defined;
  std::vector<std::unique_ptr<std::string>> texts;  // names of operators defined at run time
  std::vector<std::unique_ptr<RuntimeSlots>> slots;
  std::vector<RuntimeKernel> fallbacks[kNumSlots];
  RuntimeKernel builtin[kNumSlots] = {};
  uint64_t next_serial = 1;
  bool is_indexed = false;

  void add(Operator* op) {
    by_name[op->full_name()] = op;
    overloads[op->name].push_back(op);
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

// Rewrites table and mask from what is registered now.
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
    } else if (!op.table && r.builtin[slot].boxed.fn) {
      mask |= functionality_bit(slot);
    }
    if (op.table) static_cast<void**>(op.table)[slot] = unboxed;
  }
  op.mask = mask;
}

}  // namespace

std::string Operator::full_name() const {
  return *overload ? str(name, ".", overload) : std::string(name);
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

Operator& define_operator(std::string_view text) {
  const Schema schema = parse_schema(text);
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.index();
  const std::string full =
      schema.overload.empty() ? schema.name : schema.name + "." + schema.overload;
  TAEDA_CHECK(!r.by_name.count(full), "Tried to register an operator (", text,
              ") with the same name and overload name multiple times");
  auto keep = [&](std::string s) {
    r.texts.push_back(std::make_unique<std::string>(std::move(s)));
    return r.texts.back()->c_str();
  };
  r.defined.push_back(std::make_unique<Operator>(keep(schema.name), keep(schema.overload),
                                                 keep(std::string(text)), kAlwaysMask.bits(), false,
                                                 nullptr, nullptr, &call_boxed_only));
  Operator* op = r.defined.back().get();
  r.add(op);
  refresh(*op, r);
  return *op;
}

Registration register_kernel(Operator& op, int slot, void* unboxed, BoxedKernel boxed,
                             const char* where) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const uint64_t serial = r.next_serial++;
  runtime_of(op, r).kernels[slot].push_back({serial, unboxed, boxed, where});
  refresh(op, r);
  return Registration(&op, slot, serial);
}

Registration register_fallback(int slot, BoxedKernel kernel, const char* where) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.index();
  const uint64_t serial = r.next_serial++;
  r.fallbacks[slot].push_back({serial, nullptr, kernel, where});
  for (auto& [name, op] : r.by_name) refresh(*op, r);
  return Registration(nullptr, slot, serial);
}

bool has_kernel(const Operator& op, int slot) {
  std::lock_guard lock(registry().mutex);
  return (op.table && static_cast<void**>(op.table)[slot]) ||
         (op.runtime && !op.runtime->kernels[slot].empty());
}

void set_builtin_fallback(Key key, BoxedKernel kernel, const char* where) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  r.builtin[slot_base(key)] = {0, nullptr, kernel, where};
}

void Registration::remove() {
  if (!serial_) return;
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  auto& list = op_ ? runtime_of(*op_, r).kernels[slot_] : r.fallbacks[slot_];
  std::erase_if(list, [&](const RuntimeKernel& k) { return k.serial == serial_; });
  if (op_)
    refresh(*op_, r);
  else
    for (auto& [name, op] : r.by_name) refresh(*op, r);
  serial_ = 0;
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
  fail(ErrorKind::NotImplemented, "Could not run 'aten::", op.full_name(),
       "' with arguments from the '", slot_name(std::max(slot, 0)), "' backend. '", op.full_name(),
       "' is only available for these backends: [", available, "]");
}

void call_boxed(Operator& op, Stack& stack) {
  KeySet keys;
  for (const Value& v : stack) {
    for_each_tensor(v, [&](const Tensor& t) { keys = keys | t.keys(); });
    if (v.is<Device>()) keys = keys | KeySet(Key::Dense) | KeySet(v.get<Device>().type);
  }
  keys = with_local(keys);
  if ((keys & KeySet::backends()).empty())
    keys = keys | KeySet(Key::Dense) | KeySet(default_device().type);
  op.call_boxed(op, keys, stack);
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
