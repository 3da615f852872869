// Classes of one's own that operators take and return, known by name to other languages.
//
//   struct Counter : CustomClassHolder {
//     explicit Counter(int64_t start) : at(start) {}
//     int64_t next() { return at++; }
//     int64_t at;
//   };
//   TAEDA_LIBRARY(myops, m) {
//     m.class_<Counter>("Counter").def(init<int64_t>()).def("next", &Counter::next);
//     m.def("advance(__torch__.torch.classes.myops.Counter x) -> int", &advance);
//   }
//
// Objects live in IntrusivePtr. A method is a schema and a function of the stack, so that whatever
// can be an argument of an operator can be one of a method. A class is registered once, before
// operators that name it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <typeinfo>

#include "taeda/dispatch/function_kernel.h"
#include "taeda/dispatch/schema.h"

namespace taeda::dispatch {

// Base of such classes. Objects are equal to themselves only.
class TAEDA_API CustomClassHolder : public Opaque {
 public:
  bool equals(const Opaque& other) const override { return this == &other; }
  size_t hash() const override { return reinterpret_cast<size_t>(this); }
  std::string text() const override;
};

// Reads its arguments, the object first, from the stack and leaves its result there.
struct ClassMethod {
  Schema schema;
  std::function<void(Stack&)> call;
  std::string doc;
  bool is_static = false;
};

struct TAEDA_API CustomClass {
  std::string name_space, name;
  std::optional<ClassMethod> constructor;  // static: the result is the object
  std::map<std::string, ClassMethod> methods;
  struct Property {
    ClassMethod get;
    std::optional<ClassMethod> set;
  };
  std::map<std::string, Property> properties;

  std::string qualified_name() const;  // "__torch__.torch.classes.myops.Counter"
  void add_method(const std::string& method, ClassMethod definition);
};

// Throws where the name or the C++ type has a class already.
TAEDA_API CustomClass& define_class(const std::string& name_space, const std::string& name,
                                    const std::type_info& type);
// Null where there is none.
TAEDA_API CustomClass* find_class(std::string_view name_space, std::string_view name);
TAEDA_API CustomClass* find_class(const std::type_info& type);
// By "__torch__.torch.classes.myops.Counter".
TAEDA_API CustomClass* find_class_named(std::string_view qualified_name);
// Throws for a type that was not registered.
TAEDA_API CustomClass& class_of(const std::type_info& type);

template <class T>
concept IsCustomClass = std::is_base_of_v<CustomClassHolder, T>;

template <class T>
  requires IsCustomClass<T>
struct Boxing<IntrusivePtr<T>> {
  using Owned = IntrusivePtr<T>;
  static Owned from(const Value& v) {
    auto* object = dynamic_cast<T*>(v.get<IntrusivePtr<Opaque>>().get());
    TAEDA_CHECK(object, "expected an object of ", class_of(typeid(T)).qualified_name());
    return IntrusivePtr<T>::share(object);
  }
  static IntrusivePtr<T> pass(const Owned& o) { return o; }
  static Value to(IntrusivePtr<T> v) {
    return v ? Value(IntrusivePtr<Opaque>(std::move(v))) : Value();
  }
};

namespace kernel_detail {
template <class T>
  requires IsCustomClass<T>
struct TypeText<IntrusivePtr<T>> {
  static std::string get() { return class_of(typeid(T)).qualified_name(); }
};

// Results of a method: a tuple among them is one value, a list.
template <class T>
struct TupleAsValue {
  using Type = T;
  static T of(T v) { return v; }
};
template <class... T>
struct TupleAsValue<std::tuple<T...>> {
  using Type = Value;
  static Value of(const std::tuple<T...>& items) {
    auto list = std::make_shared<Value::List>();
    std::apply([&](const T&... item) { (list->push_back(Boxing<T>::to(item)), ...); }, items);
    return Value(std::move(list));
  }
};
template <class R>
struct Results {
  using Type = R;
  static R of(R result) { return result; }
};
template <>
struct Results<void> {
  using Type = void;
};
template <class... T>
struct Results<std::tuple<T...>> {
  using Type = std::tuple<typename TupleAsValue<T>::Type...>;
  static Type of(std::tuple<T...> results) {
    return std::apply([](T&... r) { return Type(TupleAsValue<T>::of(std::move(r))...); }, results);
  }
};

// A callable that takes A... as a method of that schema.
template <class R, class... A, class F>
ClassMethod make_method(const std::string& name, F fn, bool is_static, std::string doc) {
  using Returned = typename Results<R>::Type;
  return {parse_schema(name + schema_of<R, A...>()),
          [fn](Stack& stack) {
            const auto call = [&fn](auto&&... args) -> Returned {
              if constexpr (std::is_same_v<R, Returned>)
                return fn(std::forward<decltype(args)>(args)...);
              else
                return Results<R>::of(fn(std::forward<decltype(args)>(args)...));
            };
            call_unboxed<Returned, Unboxed<A>...>(stack, call, std::index_sequence_for<A...>());
          },
          std::move(doc), is_static};
}

template <class F>
struct CallableTraits : CallableTraits<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct CallableTraits<R (C::*)(A...) const> {
  template <class F>
  static ClassMethod method(const std::string& name, F fn, bool is_static, std::string doc) {
    return make_method<R, A...>(name, std::move(fn), is_static, std::move(doc));
  }
};
template <class C, class R, class... A>
struct CallableTraits<R (C::*)(A...)> : CallableTraits<R (C::*)(A...) const> {};
template <class R, class... A>
struct CallableTraits<R (*)(A...)> : CallableTraits<R (CustomClass::*)(A...) const> {};
}  // namespace kernel_detail

// The constructor: .def(init<std::string, int64_t>()), or .def(init(function)) for one that makes
// the object.
template <class... A>
struct Init {};
template <class F>
struct InitFunction {
  F make;
};
template <class... A>
Init<A...> init() {
  return {};
}
template <class F>
InitFunction<F> init(F make) {
  return {std::move(make)};
}

// Fills a class in; each call returns the builder.
template <class T>
class ClassBuilder {
  static_assert(IsCustomClass<T>, "a class needs CustomClassHolder as its base");
  using Self = const IntrusivePtr<T>&;

 public:
  ClassBuilder(const std::string& name_space, const std::string& name, std::string = "")
      : class_(&define_class(name_space, name, typeid(T))) {}

  template <class... A>
  ClassBuilder& def(Init<A...>, std::string doc = "") {
    return def(init([](A... args) { return make_intrusive<T>(std::move(args)...); }),
               std::move(doc));
  }
  template <class F>
  ClassBuilder& def(InitFunction<F> init, std::string doc = "") {
    class_->constructor = kernel_detail::CallableTraits<F>::method("__init__", init.make,
                                                                   /*is_static=*/true, doc);
    return *this;
  }
  template <class F>
  ClassBuilder& def(const std::string& name, F fn, std::string doc = "") {
    class_->add_method(name, method(name, fn, std::move(doc)));
    return *this;
  }
  template <class F>
  ClassBuilder& def_static(const std::string& name, F fn, std::string doc = "") {
    class_->add_method(name, kernel_detail::CallableTraits<F>::method(name, fn, /*is_static=*/true,
                                                                      std::move(doc)));
    return *this;
  }
  template <class Get>
  ClassBuilder& def_property(const std::string& name, Get get, std::string doc = "") {
    class_->properties[name] = {method(name, get, std::move(doc)), std::nullopt};
    return *this;
  }
  template <class Get, class Set>
    requires(!std::is_convertible_v<Set, std::string>)
  ClassBuilder& def_property(const std::string& name, Get get, Set set, std::string doc = "") {
    class_->properties[name] = {method(name, get, std::move(doc)), method(name, set, "")};
    return *this;
  }
  template <class Field>
  ClassBuilder& def_readwrite(const std::string& name, Field T::* field) {
    return def_property(
        name, [field](Self self) -> Field { return (*self).*field; },
        [field](Self self, Field value) { (*self).*field = std::move(value); });
  }
  template <class Field>
  ClassBuilder& def_readonly(const std::string& name, Field T::* field) {
    return def_property(name, [field](Self self) -> Field { return (*self).*field; });
  }
  // What a pickle keeps, and how an object is made of it.
  template <class Get, class Set>
  ClassBuilder& def_pickle(Get get_state, Set set_state) {
    def("__getstate__", get_state);
    return def_static("__setstate__", set_state);
  }

 private:
  template <class R, class... A>
  static ClassMethod method(const std::string& name, R (T::*fn)(A...), std::string doc) {
    return kernel_detail::make_method<R, Self, A...>(
        name, [fn](Self self, A... args) -> R { return ((*self).*fn)(std::forward<A>(args)...); },
        /*is_static=*/false, std::move(doc));
  }
  template <class R, class... A>
  static ClassMethod method(const std::string& name, R (T::*fn)(A...) const, std::string doc) {
    return kernel_detail::make_method<R, Self, A...>(
        name, [fn](Self self, A... args) -> R { return ((*self).*fn)(std::forward<A>(args)...); },
        /*is_static=*/false, std::move(doc));
  }
  template <class F>
  static ClassMethod method(const std::string& name, F fn, std::string doc) {
    return kernel_detail::CallableTraits<F>::method(name, fn, /*is_static=*/false, std::move(doc));
  }

  CustomClass* class_;
};

}  // namespace taeda::dispatch
