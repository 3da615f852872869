// Names of dispatch targets and the expansion of alias keys into slots.
#include "taeda/dispatch/library.h"

namespace taeda::dispatch {
namespace {

constexpr const char* kBackendNames[kNumBackends] = {
    "CPU", "CUDA", "Meta", "OpenCL", "Lazy", "PrivateUse1", "PrivateUse2", "PrivateUse3"};

std::optional<DeviceType> backend_named(std::string_view text) {
  for (int i = 0; i < kNumBackends; ++i)
    if (text == kBackendNames[i]) return static_cast<DeviceType>(i);
  return std::nullopt;
}

std::vector<int> slots_of(const DispatchTarget& t) {
  std::vector<int> slots;
  if (!is_per_backend(t.key)) return {slot_of(t.key, DeviceType::CPU)};
  for (int b = 0; b < kNumBackends; ++b)
    if (!t.backend || static_cast<int>(*t.backend) == b)
      slots.push_back(slot_of(t.key, static_cast<DeviceType>(b)));
  return slots;
}

}  // namespace

DispatchTarget DispatchTarget::parse(std::string_view text) {
  using A = Alias;
  if (text == "Autograd") return {Key::Autograd, std::nullopt, A::Autograd};
  if (text == "CompositeImplicitAutograd" || text == "CompositeImplicit")
    return {Key::Dense, std::nullopt, A::CompositeImplicit};
  if (text == "CompositeExplicitAutograd" || text == "CompositeExplicit")
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

Operator& Library::def(std::string_view schema) {
  return define_operator(namespace_ == "aten" ? std::string(schema)
                                              : str(namespace_, "::", schema));
}

Operator& Library::find(std::string_view name) const {
  if (namespace_ == "aten") return get_operator(name);
  return get_operator(name.find("::") == name.npos ? str(namespace_, "::", name)
                                                   : std::string(name));
}

void Library::add(Operator& op, const DispatchTarget& target, void* unboxed, BoxedKernel boxed) {
  for (int slot : slots_of(target)) {
    // A composite kernel fills what is empty; a kernel for one key overrides.
    const bool is_default = target.alias == DispatchTarget::Alias::CompositeImplicit ||
                            target.alias == DispatchTarget::Alias::CompositeExplicit;
    if (is_default && op.table && static_cast<void**>(op.table)[slot]) continue;
    registrations_.push_back(register_kernel(op, slot, unboxed, boxed, where_));
  }
}

void Library::impl_boxed(std::string_view name, const DispatchTarget& target, BoxedKernel kernel) {
  add(find(name), target, nullptr, kernel);
}

void Library::fallback(BoxedKernel kernel) {
  TAEDA_CHECK(target_, "fallback without a dispatch key");
  for (int slot : slots_of(*target_))
    registrations_.push_back(register_fallback(slot, kernel, where_));
}

void Library::remove() {
  for (auto it = registrations_.rbegin(); it != registrations_.rend(); ++it) it->remove();
  registrations_.clear();
}

}  // namespace taeda::dispatch
