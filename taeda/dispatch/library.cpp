// Libraries: names of dispatch targets, checks of registrations, and their removal.
#include "taeda/dispatch/library.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "taeda/dispatch/custom_class.h"
#include "taeda/dispatch/tags.h"

namespace taeda::dispatch {
namespace {

constexpr const char* kBackendNames[kNumBackends] = {
    "CPU", "CUDA", "Meta", "OpenCL", "Lazy", "PrivateUse1", "PrivateUse2", "PrivateUse3"};

std::optional<DeviceType> backend_named(std::string_view text) {
  for (int i = 0; i < kNumBackends; ++i)
    if (text == kBackendNames[i]) return static_cast<DeviceType>(i);
  return std::nullopt;
}

// Who defines a namespace.
struct Definitions {
  std::mutex mutex;
  std::map<std::string, const char*> where;
  std::string errors;
};
Definitions& definitions() {
  static auto* d = [] {
    auto* fresh = new Definitions;
    fresh->where.emplace("aten", "registered by the library itself");
    return fresh;
  }();
  return *d;
}

void claim(const std::string& name_space, const char* where) {
  Definitions& d = definitions();
  std::lock_guard lock(d.mutex);
  const auto [it, is_new] = d.where.emplace(name_space, where);
  TAEDA_CHECK(is_new, "Only a single TORCH_LIBRARY can be used to register the namespace ",
              name_space,
              "; please put all of your definitions in a single TORCH_LIBRARY block.  If you were "
              "trying to specify implementations, consider using TORCH_LIBRARY_IMPL (which can be "
              "duplicated).  If you really intended to define operators for a single namespace in "
              "a distributed way, you can use TORCH_LIBRARY_FRAGMENT to explicitly indicate this.  "
              "Previous registration of TORCH_LIBRARY was ",
              it->second, "; latest registration was ", where);
}

void give_up(const std::string& name_space) {
  Definitions& d = definitions();
  std::lock_guard lock(d.mutex);
  d.where.erase(name_space);
}

bool is_known_type(std::string base) {
  while (base.ends_with("[]")) base.resize(base.size() - 2);  // Tensor[][]
  if (base.ends_with('?')) base.pop_back();
  constexpr std::string_view known[] = {
      "Tensor", "int",    "SymInt",       "float",     "bool",       "Scalar",  "str",
      "Device", "Layout", "MemoryFormat", "Generator", "ScalarType", "Storage", "NoneType"};
  return std::find(std::begin(known), std::end(known), base) != std::end(known) ||
         find_class_named(base);
}

void check_types(const Schema& schema, std::string_view text) {
  for (const auto* list : {&schema.arguments, &schema.returns})
    for (const Argument& a : *list)
      TAEDA_CHECK(
          is_known_type(a.type.base), "unknown type specifier '", a.type.base,
          "'. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar: ", text);
}

bool is_number_text(const std::string& text) {
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return !text.empty() && *end == 0;
}

// Whether a type can have the default that is written for it. Lists are read item by item when they
// are used.
bool is_default_of(const TypeRef& type, const std::string& text) {
  if (text == "None") return type.is_optional || type.base == "Tensor";
  if (text.empty()) return false;
  const bool is_list = text.front() == '[', is_string = text.front() == '\'' || text.front() == '"';
  if (type.is_list && (is_list || type.list_size < 0)) return is_list;
  if (type.base == "Tensor") return false;
  if (type.base == "bool" || type.base == "Scalar")
    return text == "True" || text == "False" || is_number_text(text);
  if (type.base == "float") return is_number_text(text);
  if (type.base == "int" || type.base == "SymInt")
    return is_number_text(text) || text == "Mean" || text == "Sum";
  if (type.base == "str" || type.base == "Device") return is_string;
  if (type.base == "Layout") return text == "strided";
  return true;
}

void check_defaults(const Schema& schema, std::string_view text) {
  bool has_default = false;
  for (const Argument& a : schema.arguments) {
    TAEDA_CHECK(a.has_default || !has_default || a.is_kwarg_only,
                "Non-default positional argument follows default argument. Parameter ", a.name,
                " in ", text);
    has_default |= a.has_default;
    TAEDA_CHECK(!a.has_default || is_default_of(a.type, a.default_text), "invalid default value ",
                a.default_text, " of '", a.type.text(), " ", a.name, "': ", text);
    a.default_value();  // says what is wrong with the name of a dtype or a device
  }
}

void fall_through(const Operator& op, KeySet keys, Stack& stack, void* context) {
  const auto key = static_cast<Key>(reinterpret_cast<uintptr_t>(context));
  Operator& callee = const_cast<Operator&>(op);
  callee.call_boxed(callee, keys & KeySet::below(key), stack);
}

// Whether a C++ type can hold values of a schema's type; whole numbers may be symbolic.
bool serves(const TypeRef& inferred, const TypeRef& declared) {
  const auto base = [](const std::string& b) { return b == "SymInt" ? "int" : b; };
  const bool same_list = inferred.is_list == declared.is_list;
  // An undefined tensor stands for none.
  const bool is_tensor = inferred.base == "Tensor" && !inferred.is_list;
  const bool same_optional = inferred.is_optional == declared.is_optional || is_tensor;
  return same_list && same_optional && base(inferred.base) == base(declared.base);
}

// What keeps a C++ signature, given as a schema, from the declared one; empty: nothing.
std::string schema_difference(const Operator& op, const std::string& of_signature,
                              bool may_return_nothing) {
  const Schema declared = parse_schema(op.schema), inferred = parse_schema("f" + of_signature);
  const auto difference = [](const auto& ours, const auto& theirs, const char* what) {
    if (ours.size() != theirs.size())
      return str("the number of ", what, " is different. ", theirs.size(), " vs ", ours.size());
    for (size_t i = 0; i < ours.size(); ++i)
      if (!serves(ours[i].type, theirs[i].type))
        return str("type mismatch in ", what, " ", i + 1, ": ", theirs[i].type.text(), " vs ",
                   ours[i].type.text());
    return std::string();
  };
  std::string found = difference(inferred.arguments, declared.arguments, "arguments");
  if (found.empty() && !(may_return_nothing && inferred.returns.empty()))
    found = difference(inferred.returns, declared.returns, "returns");
  return found;
}

}  // namespace

std::vector<int> DispatchTarget::slots() const {
  std::vector<int> out;
  if (!is_per_backend(key)) return {slot_of(key, DeviceType::CPU)};
  for (int b = 0; b < kNumBackends; ++b)
    if (!backend || static_cast<int>(*backend) == b)
      out.push_back(slot_of(key, static_cast<DeviceType>(b)));
  return out;
}

DispatchTarget DispatchTarget::parse(std::string_view text) {
  using A = Alias;
  if (text == "Autograd") return {Key::Autograd, std::nullopt, A::Autograd};
  if (text == "CompositeImplicitAutograd" || text == "CompositeImplicit")
    return {Key::Dense, std::nullopt, A::CompositeImplicit};
  if (text == "CompositeExplicitAutograd" || text == "CompositeExplicit" ||
      text == "CompositeExplicitAutogradNonFunctional")
    return {Key::Dense, std::nullopt, A::CompositeExplicit};
  if (auto b = backend_named(text)) return {Key::Dense, b, A::None};
  for (Key k : {Key::Autograd, Key::Autocast}) {
    const std::string_view prefix = key_name(k);
    if (!text.starts_with(prefix)) continue;
    if (text.size() == prefix.size()) return {k, std::nullopt, A::None};
    if (auto b = backend_named(text.substr(prefix.size()))) return {k, b, A::None};
  }
  for (int k = 0; k < kNumKeys; ++k)
    if (text == key_name(static_cast<Key>(k))) return {static_cast<Key>(k), std::nullopt, A::None};
  fail(ErrorKind::Runtime, "could not parse dispatch key: ", text);
}

BoxedKernel fallthrough_kernel(Key key) {
  return {&fall_through, reinterpret_cast<void*>(static_cast<uintptr_t>(key))};
}

void check_function_fits(const Operator& op, const CppFunction& fn) {
  if (!fn.signature) return;
  if (op.signature)
    TAEDA_CHECK(*op.signature == *fn.signature, "impl(", op.full_name(),
                "): the C++ function's type does not match the schema ", op.schema);
  // An in-place kernel may return what it wrote or nothing.
  const std::string difference = schema_difference(op, fn.schema, /*may_return_nothing=*/true);
  TAEDA_CHECK(difference.empty(),
              "Inferred operator schema for a C++ kernel function doesn't match the expected "
              "function schema: ",
              op.schema, " against ", fn.schema, ": ", difference);
}

void check_call_fits(const Operator& op, const std::string& call_schema) {
  const std::string difference = schema_difference(op, call_schema, /*may_return_nothing=*/false);
  TAEDA_CHECK(difference.empty(),
              "\nTried to access or call an operator with a wrong signature.\n  operator: ",
              op.schema, "\n  accessed/called as: ", call_schema, "\n  ", difference,
              "\nThis likely happened in a call to OperatorHandle::typed<Return (Args...)>(). "
              "Please make sure that the function signature matches the signature in the operator "
              "registration call.");
}

Library::Library(std::string name_space, std::optional<DispatchTarget> target, const char* where,
                 Kind kind)
    : namespace_(std::move(name_space)), target_(target), where_(where), kind_(kind) {
  if (kind_ == Kind::Definition) claim(namespace_, where_);
}

std::string Library::full_name(std::string_view name) const {
  const size_t colons = name.find("::");
  if (colons != name.npos) {
    TAEDA_CHECK(name.substr(0, colons) == namespace_ || namespace_ == "_",
                "Explicitly provided namespace (", name.substr(0, colons),
                ") in operator name does not match namespace of enclosing TORCH_LIBRARY block (",
                namespace_,
                ").  Move this definition to the TORCH_LIBRARY block corresponding to this "
                "namespace (and consider deleting the namespace from your schema string.)  (Error "
                "occurred while processing TORCH_LIBRARY block at ",
                where_, ")");
    name.remove_prefix(colons + 2);
  }
  return namespace_ == "aten" ? std::string(name) : str(namespace_, "::", name);
}

Operator& Library::def(std::string_view schema, uint32_t tags) {
  TAEDA_CHECK(kind_ != Kind::Implementation, "def(\"", schema,
              "\"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.  All def()s "
              "should be placed in the (unique) TORCH_LIBRARY block for their namespace.  (Error "
              "occurred at ",
              where_, ")");
  std::string full = full_name(schema);
  const Schema parsed = parse_schema(full);
  const auto end = full.find_last_not_of(' ') + 1;
  const bool ends_in_none = std::string_view(full).substr(0, end).ends_with("None");
  if (ends_in_none) full.replace(end, full.npos, "Type");  // as the type is printed
  check_types(parsed, schema);
  check_defaults(parsed, schema);
  Operator& op = define_operator(full, where_, tags);
  if (!python_module_.empty()) dispatch::set_python_module(op, python_module_);
  defined_.push_back(&op);
  return op;
}

Operator& Library::def(std::string_view schema_or_name, const CppFunction& fn, uint32_t tags) {
  const bool is_schema = schema_or_name.find('(') != schema_or_name.npos;
  TAEDA_CHECK(is_schema || fn.signature, "def(\"", schema_or_name,
              "\"): a kernel that reads the stack itself implies no schema; write one");
  std::string schema(schema_or_name);
  if (!is_schema) schema += fn.schema;
  Operator& op = def(schema, tags);
  impl_at(op.full_name(), {Key::Dense, std::nullopt, DispatchTarget::Alias::CompositeImplicit}, fn);
  return op;
}

void Library::impl(std::string_view name, const CppFunction& fn) {
  impl_at(name,
          target_.value_or(
              DispatchTarget{Key::Dense, std::nullopt, DispatchTarget::Alias::CompositeImplicit}),
          fn);
}

Operator& Library::def(std::string_view schema, const std::vector<TagName>& tags) {
  uint32_t bits = 0;
  for (const TagName& tag : tags) bits |= tag_bit(tag.name);
  return def(schema, bits);
}

void Library::impl_at(std::string_view name, const DispatchTarget& target, const CppFunction& fn) {
  const std::string full = full_name(name);
  // The operators of the core namespace are all known.
  Operator* op = namespace_ == "aten" ? &get_operator(full) : find_operator(full);
  if (op) check_function_fits(*op, fn);
  const BoxedKernel kernel = fn.is_fallthrough ? fallthrough_kernel(target.key) : fn.kernel;
  for (int slot : target.slots()) {
    // A kernel generated from a record is more specific than a default.
    if (target.rank() == KernelRank::Default && op && op->table &&
        static_cast<void**>(op->table)[slot])
      continue;
    registrations_.push_back(register_kernel(full, slot, kernel, where_, target.rank()));
  }
  if (op && !op->table && target.alias == DispatchTarget::Alias::CompositeImplicit)
    set_composite(*op);
}

void Library::fallback(const CppFunction& fn) {
  TAEDA_CHECK(target_, "fallback without a dispatch key");
  fallback_at(*target_, fn);
}

void Library::fallback_at(const DispatchTarget& target, const CppFunction& fn) {
  const BoxedKernel kernel = fn.is_fallthrough ? fallthrough_kernel(target.key) : fn.kernel;
  for (int slot : target.slots()) registrations_.push_back(register_fallback(slot, kernel, where_));
}

void Library::remove() {
  for (auto it = registrations_.rbegin(); it != registrations_.rend(); ++it) it->remove();
  registrations_.clear();
  for (Operator* op : defined_) remove_operator(*op);
  defined_.clear();
  if (kind_ == Kind::Definition) give_up(namespace_);
}

std::string take_library_errors() {
  Definitions& d = definitions();
  std::lock_guard lock(d.mutex);
  return std::exchange(d.errors, {});
}

LibraryInit::LibraryInit(Library::Kind kind, const char* name_space, const char* key,
                         const char* where, void (*init)(Library&)) {
  try {
    // Registrations of a block stay as long as the process.
    static auto* libraries = new std::vector<std::unique_ptr<Library>>;
    auto library = std::make_unique<Library>(
        name_space, key ? std::optional(DispatchTarget::parse(key)) : std::nullopt, where, kind);
    Library& kept = *library;
    {
      Definitions& d = definitions();
      std::lock_guard lock(d.mutex);
      libraries->push_back(std::move(library));
    }
    init(kept);
  } catch (const Error& error) {
    Definitions& d = definitions();
    std::lock_guard lock(d.mutex);
    d.errors += str(d.errors.empty() ? "" : "\n", error.message());
  }
}

}  // namespace taeda::dispatch
