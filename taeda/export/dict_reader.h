// Reads dicts of constants, the form of what archives tell beside graphs and tensors.
#pragma once

#include "taeda/base/error.h"
#include "taeda/fx/arg.h"

namespace taeda::exported {

// RuntimeError that names the dict (`what`) and the key for everything that does not fit.
class DictReader {
 public:
  DictReader(const fx::Arg& arg, const char* what) : what_(what) {
    dict_ = arg.compound();
    check(dict_ && dict_->kind == fx::Compound::Kind::Dict, "expected a dict");
  }

  const fx::Arg* find(std::string_view key) const {
    for (size_t i = 0; i < dict_->keys.size(); ++i) {
      const fx::Value& k = dict_->keys[i];
      if (k.is<std::string>() && k.get<std::string>() == key) return &dict_->items[i];
    }
    return nullptr;
  }
  const fx::Arg& get(std::string_view key) const {
    const fx::Arg* a = find(key);
    check(a, key, " is missing");
    return *a;
  }
  template <class T>
  T value(std::string_view key) const {
    return constant<T>(get(key), key);
  }
  template <class T>
  T value_or(std::string_view key, T otherwise) const {
    return find(key) ? value<T>(key) : otherwise;
  }
  template <class Kind, size_t N>
  Kind kind(std::string_view key, const char* const (&names)[N]) const {
    const auto name = value<std::string>(key);
    for (size_t i = 0; i < N; ++i)
      if (name == names[i]) return static_cast<Kind>(i);
    check(false, "unknown ", key, " ", name);
    return Kind();
  }
  const std::vector<fx::Arg>& list(std::string_view key) const {
    const fx::Compound* c = get(key).compound();
    check(c && c->kind == fx::Compound::Kind::List, key, " is no list");
    return c->items;
  }
  // Calls f(key, value) for all items, whose keys are texts.
  template <class T, class F>
  void for_each(F&& f) const {
    for (size_t i = 0; i < dict_->keys.size(); ++i) {
      check(dict_->keys[i].is<std::string>(), "a key is no text");
      const auto& key = dict_->keys[i].get<std::string>();
      f(key, constant<T>(dict_->items[i], key));
    }
  }

 private:
  template <class T>
  T constant(const fx::Arg& a, std::string_view key) const {
    check(a.is_constant() && a.constant().is<T>(), key, " is of the wrong type");
    return a.constant().get<T>();
  }
  template <class... Args>
  void check(bool condition, const Args&... args) const {
    if (!condition) fail(ErrorKind::Runtime, "cannot read ", what_, ": ", args...);
  }
  const fx::Compound* dict_;
  const char* what_;
};

}  // namespace taeda::exported
