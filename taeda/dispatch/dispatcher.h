// The registry of operators: lookup, run-time kernels, fallbacks, and a dump of what each key runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "taeda/dispatch/operator.h"
#include "taeda/dispatch/schema.h"

namespace taeda::dispatch {

// Undoes one registration when `remove` is called (not at scope exit: registrations usually stay).
class TAEDA_API Registration {
 public:
  Registration() = default;
  explicit Registration(uint64_t serial) : serial_(serial) {}
  void remove();

 private:
  uint64_t serial_ = 0;
};

// Generated tables announce themselves as arrays of operators.
struct OperatorTable {
  Operator* const* operators;
  size_t count;
  const OperatorTable* next;
};
TAEDA_API void add_operator_table(OperatorTable* table);

// "add.Tensor" or "add" with overload ""; null when there is none. Namespaces other than the core
// one are part of the name: "myops::myadd".
TAEDA_API Operator* find_operator(std::string_view name, std::string_view overload = "");
TAEDA_API Operator& get_operator(std::string_view full_name);
TAEDA_API std::vector<Operator*> all_operators();
// All overloads of a name.
TAEDA_API std::vector<Operator*> find_overloads(std::string_view name);

// "aten::add.Tensor", "myops::myadd": with the core namespace, for messages.
TAEDA_API std::string qualified_name(const Operator& op);

// Defines an operator at run time from its schema; it has boxed kernels only.
TAEDA_API Operator& define_operator(std::string_view schema, const char* where = "",
                                    uint32_t tags = 0);
// Forgets the name of an operator defined at run time, which may then be defined anew; the object
// stays for those who still hold it.
TAEDA_API void remove_operator(Operator& op);

// The rank of a kernel in its slot: the newest specific one runs, defaults only where there is
// none.
enum class KernelRank : uint8_t { Specific, Default };

// Puts a kernel into a slot. `unboxed` must have the operator's signature with a leading KeySet
// (checked by the caller), or be null.
TAEDA_API Registration register_kernel(Operator& op, int slot, void* unboxed, BoxedKernel boxed,
                                       const char* where, KernelRank rank = KernelRank::Specific);
// The same for an operator that may be defined later: the kernel waits for it. `full_name` holds
// the namespace unless it is the core one.
TAEDA_API Registration register_kernel(std::string_view full_name, int slot, BoxedKernel boxed,
                                       const char* where, KernelRank rank);
// The Python module that registers the operator's fake kernel; errors name it.
TAEDA_API void set_python_module(Operator& op, std::string module);
// Says that the operator decomposes into others, so that levels and modes see those instead.
TAEDA_API void set_composite(Operator& op);
// Whether the slot runs a kernel of the operator's own, generated or registered; fallbacks do not
// count.
TAEDA_API bool has_kernel(const Operator& op, int slot);
// Whether somebody registered a kernel for the slot, whatever was generated.
TAEDA_API bool has_registered_kernel(const Operator& op, int slot);
// The kernel a slot runs now, to be called whatever is registered later; fn is null without one.
TAEDA_API BoxedKernel current_kernel(Operator& op, int slot);
// A boxed kernel for every operator without one of its own in that slot.
TAEDA_API Registration register_fallback(int slot, BoxedKernel kernel, const char* where);
// The boxed kernel of a key whose bit the generated masks already hold (conjugate and negative
// views): cheap, no operator is touched. Operators defined at run time get it too.
TAEDA_API void set_builtin_fallback(Key key, BoxedKernel kernel, const char* where);

// Calls any operator with arguments on the stack, from the outermost key on.
TAEDA_API void call_boxed(Operator& op, Stack& stack);

// One line per slot: key, kernel, where it was registered.
TAEDA_API std::string dump(std::string_view name);

}  // namespace taeda::dispatch
