// Registration of operators and kernels from C++: TAEDA_LIBRARY(myops, m) { m.def("...");
// m.impl("...", fn); }
//
// A kernel may be registered before its operator is defined: the order in which shared objects and
// their files start is not ours to choose.
#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "taeda/dispatch/dispatcher.h"
#include "taeda/dispatch/function_kernel.h"

namespace taeda::dispatch {

// The target of `impl`: one key of one backend, all backends of a key, or an alias.
struct DispatchTarget {
  enum class Alias : uint8_t { None, Autograd, CompositeImplicit, CompositeExplicit };
  Key key = Key::Dense;
  std::optional<DeviceType> backend;
  Alias alias = Alias::None;
  // "CPU", "AutogradCPU", "Autograd", "CompositeImplicitAutograd", "PrivateUse1", ...
  TAEDA_API static DispatchTarget parse(std::string_view text);
  TAEDA_API std::vector<int> slots() const;
  KernelRank rank() const {
    const bool is_composite =
        alias == Alias::CompositeImplicit || alias == Alias::CompositeExplicit;
    return is_composite ? KernelRank::Default : KernelRank::Specific;
  }
};

// A kernel with the target that it is for.
struct TargetedFunction {
  DispatchTarget target;
  CppFunction function;
};
// A tag by its name, see tags.h.
struct TagName {
  const char* name;
};

template <class T>
class ClassBuilder;

class TAEDA_API Library {
 public:
  // A namespace has one Definition, and any number of Fragments and Implementations.
  enum class Kind : uint8_t { Definition, Fragment, Implementation };

  // `where`: a file and line, for messages; kept as a pointer.
  Library(std::string name_space, std::optional<DispatchTarget> target, const char* where,
          Kind kind = Kind::Fragment);

  // "name(Type argument, ...) -> Type", with the namespace or without it.
  Operator& def(std::string_view schema, uint32_t tags = 0);
  // Defines and registers a kernel that serves every device and is differentiated through. A name
  // alone takes its schema from the function's type.
  Operator& def(std::string_view schema_or_name, const CppFunction& fn, uint32_t tags = 0);
  Operator& def(std::string_view schema, const std::vector<TagName>& tags);
  template <std::derived_from<TagName> Tag>
  Operator& def(std::string_view schema, const std::vector<Tag>& tags) {
    return def(schema, std::vector<TagName>(tags.begin(), tags.end()));
  }
  // Where the fake kernels of the operators defined from here on are registered, in Python.
  void set_python_module(const char* module, const char* = "") { python_module_ = module; }
  void impl_abstract_pystub(const char* module, const char* = "") { set_python_module(module); }
  // Registers a class of one's own; custom_class.h says how it is filled in.
  template <class T>
  ClassBuilder<T> class_(const std::string& name) {
    return ClassBuilder<T>(namespace_, name);
  }
  // For the key of this object, or, if it has none, for every device.
  void impl(std::string_view name, const CppFunction& fn);
  void impl(std::string_view name, const TargetedFunction& fn) {
    impl_at(name, fn.target, fn.function);
  }
  void impl(std::string_view name, std::string_view key, const CppFunction& fn) {
    impl_at(name, DispatchTarget::parse(key), fn);
  }
  void impl_at(std::string_view name, const DispatchTarget& target, const CppFunction& fn);
  void impl_boxed(std::string_view name, const DispatchTarget& target, BoxedKernel kernel) {
    impl_at(name, target, CppFunction(kernel));
  }
  // For every operator that has no kernel of its own at the key of this object.
  void fallback(const CppFunction& fn);
  void fallback(BoxedKernel kernel) { fallback(CppFunction(kernel)); }
  void fallback_at(const DispatchTarget& target, const CppFunction& fn);
  // Takes back everything registered through this object; operators it defined are forgotten.
  void remove();
  const std::string& name_space() const { return namespace_; }

 private:
  std::string full_name(std::string_view name) const;

  std::string namespace_;
  std::optional<DispatchTarget> target_;
  const char* where_;
  Kind kind_;
  std::string python_module_;
  std::vector<Registration> registrations_;
  std::vector<Operator*> defined_;
};

// The errors of the TAEDA_LIBRARY blocks that ran since the last call, empty if there were none:
// they run while a shared object is loaded, where nothing may be thrown.
TAEDA_API std::string take_library_errors();

struct TAEDA_API LibraryInit {
  LibraryInit(Library::Kind kind, const char* name_space, const char* key, const char* where,
              void (*init)(Library&));
};

#define TAEDA_STRINGIZE_(x) #x
#define TAEDA_STRINGIZE(x) TAEDA_STRINGIZE_(x)
#define TAEDA_JOIN_(a, b) a##b
#define TAEDA_JOIN(a, b) TAEDA_JOIN_(a, b)
#define TAEDA_LIBRARY_BLOCK(kind, ns, key, m, id)                                               \
  static void TAEDA_JOIN(taeda_library_block_, id)(::taeda::dispatch::Library&);                \
  static const ::taeda::dispatch::LibraryInit TAEDA_JOIN(taeda_library_, id)(                   \
      ::taeda::dispatch::Library::Kind::kind, #ns, key, __FILE__ ":" TAEDA_STRINGIZE(__LINE__), \
      &TAEDA_JOIN(taeda_library_block_, id));                                                   \
  static void TAEDA_JOIN(taeda_library_block_, id)([[maybe_unused]] ::taeda::dispatch::Library & m)
#define TAEDA_LIBRARY(ns, m) TAEDA_LIBRARY_BLOCK(Definition, ns, nullptr, m, __COUNTER__)
#define TAEDA_LIBRARY_FRAGMENT(ns, m) TAEDA_LIBRARY_BLOCK(Fragment, ns, nullptr, m, __COUNTER__)
#define TAEDA_LIBRARY_IMPL(ns, key, m) TAEDA_LIBRARY_BLOCK(Implementation, ns, #key, m, __COUNTER__)

}  // namespace taeda::dispatch
