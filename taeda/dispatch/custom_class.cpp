// The registry of custom classes.
#include "taeda/dispatch/custom_class.h"

#include <memory>
#include <mutex>
#include <typeindex>
#include <unordered_map>

namespace taeda::dispatch {
namespace {

constexpr std::string_view kPrefix = "__torch__.torch.classes.";

struct Classes {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<CustomClass>, std::less<>> by_name;
  std::unordered_map<std::type_index, CustomClass*> by_type;
};
Classes& classes() {
  static auto* c = new Classes;
  return *c;
}

}  // namespace

std::string CustomClassHolder::text() const {
  const CustomClass* known = find_class(typeid(*this));
  return known ? known->qualified_name() : typeid(*this).name();
}

std::string CustomClass::qualified_name() const { return str(kPrefix, name_space, ".", name); }

void CustomClass::add_method(const std::string& method, ClassMethod definition) {
  TAEDA_CHECK(!methods.contains(method), "Method '", method, "' of ", qualified_name(),
              " is defined twice; overloads of methods are not supported");
  methods.emplace(method, std::move(definition));
}

CustomClass& define_class(const std::string& name_space, const std::string& name,
                          const std::type_info& type) {
  Classes& c = classes();
  const std::lock_guard lock(c.mutex);
  auto made = std::make_unique<CustomClass>();
  made->name_space = name_space;
  made->name = name;
  const std::string qualified = made->qualified_name();
  TAEDA_CHECK(!c.by_name.contains(qualified), "Custom class with name ", qualified,
              " is already registered. Ensure that registration with torch::class_ is only called "
              "once.");
  TAEDA_CHECK(!c.by_type.contains(type), "the C++ type of ", qualified,
              " is registered already as ", c.by_type.at(type)->qualified_name());
  c.by_type[type] = made.get();
  return *(c.by_name[qualified] = std::move(made));
}

CustomClass* find_class_named(std::string_view qualified_name) {
  Classes& c = classes();
  const std::lock_guard lock(c.mutex);
  const auto it = c.by_name.find(qualified_name);
  return it == c.by_name.end() ? nullptr : it->second.get();
}

CustomClass* find_class(std::string_view name_space, std::string_view name) {
  return find_class_named(str(kPrefix, name_space, ".", name));
}

CustomClass* find_class(const std::type_info& type) {
  Classes& c = classes();
  const std::lock_guard lock(c.mutex);
  const auto it = c.by_type.find(type);
  return it == c.by_type.end() ? nullptr : it->second;
}

CustomClass& class_of(const std::type_info& type) {
  CustomClass* found = find_class(type);
  TAEDA_CHECK(found, "Tried to use the C++ type ", type.name(),
              " as an argument or result, but it is not a registered class; register it with "
              "m.class_ first");
  return *found;
}

}  // namespace taeda::dispatch
