// Registration of operators and kernels from C++: TAEDA_LIBRARY(myops, m) { m.def("...");
// m.impl("...", fn); }
#pragma once

#include <optional>
#include <string>

#include "taeda/dispatch/dispatcher.h"

namespace taeda::dispatch {

// What `impl` registers for: one key of one backend, all backends of a key, or an alias.
struct DispatchTarget {
  enum class Alias : uint8_t { None, Autograd, CompositeImplicit, CompositeExplicit };
  Key key = Key::Dense;
  std::optional<DeviceType> backend;
  Alias alias = Alias::None;
  // "CPU", "AutogradCPU", "Autograd", "CompositeImplicitAutograd", "PrivateUse1", ...
  TAEDA_API static DispatchTarget parse(std::string_view text);
};

class TAEDA_API Library {
 public:
  Library(std::string name_space, std::optional<DispatchTarget> target, const char* where)
      : namespace_(std::move(name_space)), target_(target), where_(where) {}

  Operator& def(std::string_view schema);
  // Defines and registers a catch-all that runs for every device.
  template <class R, class... A>
  Operator& def(std::string_view schema, R (*fn)(A...)) {
    Operator& op = def(schema);
    impl_at(op, {Key::Dense, std::nullopt, DispatchTarget::Alias::CompositeImplicit}, fn);
    return op;
  }
  template <class R, class... A>
  void impl(std::string_view name, R (*fn)(A...)) {
    TAEDA_CHECK(target_, "impl without a dispatch key: use TAEDA_LIBRARY_IMPL or pass a key");
    impl_at(find(name), *target_, fn);
  }
  template <class R, class... A>
  void impl(std::string_view name, std::string_view key, R (*fn)(A...)) {
    impl_at(find(name), DispatchTarget::parse(key), fn);
  }
  void impl_boxed(std::string_view name, const DispatchTarget& target, BoxedKernel kernel);
  void fallback(BoxedKernel kernel);
  // Takes back everything registered through this object.
  void remove();

 private:
  Operator& find(std::string_view name) const;
  void add(Operator& op, const DispatchTarget& target, void* unboxed, BoxedKernel boxed);
  template <class R, class... A>
  void impl_at(Operator& op, const DispatchTarget& target, R (*fn)(A...)) {
    if (op.signature)
      TAEDA_CHECK(*op.signature == typeid(R(A...)), "impl(", op.full_name(),
                  "): the C++ function's type does not match the schema ", op.schema);
    BoxedKernel boxed{&CallBoxedFor<R(A...)>::call_function, reinterpret_cast<void*>(fn)};
    add(op, target, nullptr, boxed);
  }

  std::string namespace_;
  std::optional<DispatchTarget> target_;
  const char* where_;
  std::vector<Registration> registrations_;
};

struct LibraryInit {
  LibraryInit(const char* name_space, const char* key, const char* where, void (*init)(Library&)) {
    auto* library = new Library(
        name_space, key ? std::optional(DispatchTarget::parse(key)) : std::nullopt, where);
    init(*library);
  }
};

#define TAEDA_STRINGIZE_(x) #x
#define TAEDA_STRINGIZE(x) TAEDA_STRINGIZE_(x)
#define TAEDA_LIBRARY(ns, m)                                                           \
  static void taeda_library_init_##ns(::taeda::dispatch::Library&);                    \
  static const ::taeda::dispatch::LibraryInit taeda_library_##ns(                      \
      #ns, nullptr, __FILE__ ":" TAEDA_STRINGIZE(__LINE__), &taeda_library_init_##ns); \
  static void taeda_library_init_##ns(::taeda::dispatch::Library& m)
#define TAEDA_LIBRARY_IMPL(ns, key, m)                                                           \
  static void taeda_library_impl_init_##ns##_##key(::taeda::dispatch::Library&);                 \
  static const ::taeda::dispatch::LibraryInit taeda_library_impl_##ns##_##key(                   \
      #ns, #key, __FILE__ ":" TAEDA_STRINGIZE(__LINE__), &taeda_library_impl_init_##ns##_##key); \
  static void taeda_library_impl_init_##ns##_##key(::taeda::dispatch::Library& m)

}  // namespace taeda::dispatch
