// torch::RegisterOperators: operators registered by an object instead of a TORCH_LIBRARY block.
//
//   static auto registry = torch::RegisterOperators()
//       .op("myops::twice(Tensor x) -> Tensor", &twice)
//       .op("myops::half", torch::RegisterOperators::options().kernel<decltype(half), &half>(
//                              c10::DispatchKey::CPU));
//
// The oldest of the ways, for the sources that use it. What goes wrong is told to whoever loads the
// shared object, as with TORCH_LIBRARY.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "torch/library.h"

namespace c10 {

class RegisterOperators {
 public:
  // An operator's schema and its kernels.
  class Options {
   public:
    Options&& schema(const std::string& text) && {
      schema_ = text;
      return std::move(*this);
    }
    template <class Signature, auto* fn>
    Options&& kernel(DispatchKey key) && {
      return add(::torch::dispatch(key, fn));
    }
    template <class F>
    Options&& kernel(DispatchKey key, F&& fn) && {
      return add(::torch::dispatch(key, std::forward<F>(fn)));
    }
    template <class Signature, auto* fn>
    Options&& catchAllKernel() && {
      return std::move(*this).catchAllKernel(fn);
    }
    template <class F>
    Options&& catchAllKernel(F&& fn) && {
      for_all_.emplace_back(std::forward<F>(fn));
      return std::move(*this);
    }

   private:
    friend class RegisterOperators;
    using TargetedFunction = ::taeda::dispatch::TargetedFunction;
    Options&& add(TargetedFunction fn) {
      for_keys_.push_back(std::move(fn));
      return std::move(*this);
    }

    std::string schema_;
    std::vector<TargetedFunction> for_keys_;
    std::vector<::taeda::dispatch::CppFunction> for_all_;
  };
  static Options options() { return {}; }

  RegisterOperators() = default;
  // `schema_or_name` has a namespace, "myops::twice"; a name alone takes the function's own schema.
  template <class F>
  RegisterOperators(const std::string& schema_or_name, F&& fn) {
    std::move(*this).op(schema_or_name, std::forward<F>(fn));
  }

  RegisterOperators&& op(Options&& options) && {
    define(options);
    return std::move(*this);
  }
  RegisterOperators&& op(const std::string& schema_or_name, Options&& options) && {
    options.schema_ = schema_or_name;
    return std::move(*this).op(std::move(options));
  }
  template <class F>
    requires std::constructible_from<::taeda::dispatch::CppFunction, F>
  RegisterOperators&& op(const std::string& schema_or_name, F&& fn) && {
    return std::move(*this).op(schema_or_name, options().catchAllKernel(std::forward<F>(fn)));
  }
  RegisterOperators&& op(const std::string& schema) && {
    return std::move(*this).op(schema, options());
  }

 private:
  using Library = ::taeda::dispatch::Library;

  static void define(const Options& options) {
    const std::string& text = options.schema_;
    const std::string name_space = text.substr(0, text.find("::"));
    run(name_space, [&](Library& m) {
      TORCH_CHECK(name_space.size() < text.size(),
                  "an operator's name needs a namespace, \"myops::twice\": got \"", text, "\"");
      const std::string schema = text.substr(name_space.size() + 2);
      if (options.for_all_.empty())
        m.def(schema);
      else
        m.def(schema, options.for_all_.front());
      const std::string name = schema.substr(0, schema.find('('));
      for (const auto& fn : options.for_keys_) m.impl(name, fn);
    });
  }

  // A block of TORCH_LIBRARY_FRAGMENT: it takes a plain function, which finds the real one here.
  static void run(const std::string& name_space, const std::function<void(Library&)>& block) {
    static thread_local const std::function<void(Library&)>* running = nullptr;
    running = &block;
    ::taeda::dispatch::LibraryInit(Library::Kind::Fragment, name_space.c_str(), nullptr,
                                   "torch::RegisterOperators", [](Library& m) { (*running)(m); });
  }
};

}  // namespace c10

namespace torch {
using ::c10::RegisterOperators;
namespace jit {
using ::c10::RegisterOperators;
using CustomClassHolder = ::taeda::dispatch::CustomClassHolder;
}  // namespace jit
}  // namespace torch
