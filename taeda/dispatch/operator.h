// Operator: the record of one operator overload at run time, with its table of kernels.
//
// A generated operator is a constant-initialized TypedOperator: its unboxed kernels stand in the
// table before any code runs. Run-time registration (library.h) writes into the same table or, for
// boxed kernels, beside it. A null slot falls back: boxed kernel, then backend fallback, then an
// error that lists what is there.
#pragma once

#include <array>
#include <typeinfo>

#include "taeda/base/trace.h"
#include "taeda/dispatch/traits.h"
#include "taeda/dispatch/value.h"

namespace taeda::dispatch {

class Operator;
// A boxed kernel reads its arguments from the stack and leaves its results there.
using BoxedFn = void (*)(const Operator& op, KeySet keys, Stack& stack, void* context);

struct BoxedKernel {
  BoxedFn fn = nullptr;
  void* context = nullptr;
};

// The data that run-time registration adds to an operator; allocated at the first registration.
struct RuntimeSlots;
// How an operator runs over a batch of arguments; see ops/batching.h.
struct BatchRule;

// Facts of a record beside the schema; PyTorch's tags.
enum class Tag : uint32_t {
  Core = 1,  // decompositions stop at it
  Pointwise = 2,
  NondeterministicSeeded = 4,
  DynamicOutputShape = 8,    // the result's sizes depend on values
  DataDependentOutput = 16,  // the result is a number read from a tensor
};
constexpr uint32_t operator|(Tag a, Tag b) {
  return static_cast<uint32_t>(a) | static_cast<uint32_t>(b);
}
constexpr uint32_t operator|(uint32_t a, Tag b) { return a | static_cast<uint32_t>(b); }

class TAEDA_API Operator {
 public:
  // Calls the kernel for `keys` with arguments and results on the stack.
  using CallBoxed = void (*)(Operator& op, KeySet keys, Stack& stack);

  constexpr Operator(const char* name, const char* overload, const char* schema, uint64_t mask,
                     bool is_composite, void* table, const std::type_info* signature,
                     CallBoxed call_boxed, const BatchRule* batch_rule = nullptr, uint32_t tags = 0,
                     const Traits& traits = {})
      : name(name),
        overload(overload),
        schema(schema),
        mask(mask),
        is_composite(is_composite),
        table(table),
        signature(signature),
        call_boxed(call_boxed),
        batch_rule(batch_rule),
        tags(tags),
        traits(traits) {}

  const char* name;      // "add"
  const char* overload;  // "Tensor", "" for the default one
  const char* schema;    // parsed on demand by parse_schema
  uint64_t mask;         // keys with a kernel; the others are skipped
  bool is_composite;     // decomposes into other operators; backends may still override it
  void* table;           // R (*[kNumSlots])(KeySet, A...), null for operators defined at run time
  const std::type_info* signature;
  CallBoxed call_boxed;
  const BatchRule* batch_rule;  // null: vmap calls the operator once for each example
  uint32_t tags;
  Traits traits;
  RuntimeSlots* runtime = nullptr;

  bool has(Tag tag) const { return tags & static_cast<uint32_t>(tag); }
  std::string full_name() const;  // "add.Tensor"
  KeySet relevant(KeySet keys) const { return KeySet(keys.bits() & mask); }
};

// The slow path: the boxed kernel or fallback for a slot without an unboxed kernel; throws
// NotImplementedError with the list of registered keys when there is none.
TAEDA_API BoxedKernel resolve_boxed(const Operator& op, KeySet keys);

constexpr KeySet kAlwaysMask = KeySet::backends() | KeySet(Key::Dense);

// ---- key sets of arguments ----
inline KeySet keys_of(const Tensor& t) { return t.defined() ? t.keys() : KeySet(); }
inline KeySet keys_of(TensorList list) {
  KeySet k;
  for (const Tensor& t : list) k = k | keys_of(t);
  return k;
}
inline KeySet keys_of(const std::optional<Device>& d) {
  return d ? KeySet(Key::Dense) | KeySet(d->type) : KeySet();
}
template <class T>
KeySet keys_of(const T&) {
  return KeySet();
}

inline KeySet with_local(KeySet keys) {
  const LocalKeys& local = local_keys();
  return (keys | local.include) - local.exclude;
}

// ---- boxing ----
template <class T>
struct Boxing;  // Owned from(Value&), T pass(Owned&), Value to(T)

template <class Signature>
class TypedOperator;

template <class R, class... A>
class TypedOperator<R(A...)> : public Operator {
 public:
  using Fn = R (*)(KeySet, A...);
  struct Entry {
    int slot;
    Fn fn;
  };
  constexpr TypedOperator(const char* name, const char* overload, const char* schema, uint64_t mask,
                          bool is_composite, CallBoxed call_boxed,
                          std::initializer_list<Entry> entries,
                          const BatchRule* batch_rule = nullptr, uint32_t tags = 0,
                          const Traits& traits = {})
      : Operator(name, overload, schema, mask, is_composite, kernels, &typeid(R(A...)), call_boxed,
                 batch_rule, tags, traits),
        kernels{} {
    for (const Entry& e : entries) kernels[e.slot] = e.fn;
  }
  TypedOperator(const TypedOperator&) = delete;

  R operator()(A... args) {
    KeySet keys;
    ((keys = keys | keys_of(args)), ...);
    keys = with_local(keys);
    // No argument names a backend: a factory without a device.
    if ((keys & KeySet::backends()).empty())
      keys = keys | KeySet(Key::Dense) | KeySet(default_device().type);
    if (is_tracing()) {
      TraceScope scope("op", name, overload);
      return redispatch(keys, std::forward<A>(args)...);
    }
    return redispatch(keys, std::forward<A>(args)...);
  }
  R redispatch(KeySet keys, A... args) {
    const KeySet k = relevant(keys);
    const int slot = k.slot();
    if (__builtin_expect(slot >= 0, 1))
      if (Fn fn = kernels[slot]; __builtin_expect(fn != nullptr, 1))
        return fn(keys, std::forward<A>(args)...);
    return call_through_stack(keys, std::forward<A>(args)...);
  }

  Fn kernels[kNumSlots];

 private:
  R call_through_stack(KeySet keys, A... args);
};

// A backend's own kernel of an operator of the library, set while the library starts.
TAEDA_API void set_kernel(Operator& op, int slot, void* fn);
template <class R, class... A>
void set_kernel(TypedOperator<R(A...)>& op, DeviceType backend,
                std::type_identity_t<R (*)(KeySet, A...)> fn) {
  set_kernel(op, slot_of(Key::Dense, backend), reinterpret_cast<void*>(fn));
}

}  // namespace taeda::dispatch

#include "taeda/dispatch/boxing.h"
