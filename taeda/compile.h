// Compiled functions of tensors.
//
//   auto f = taeda::compile([](const taeda::Tensor& x, const taeda::Tensor& w) {
//     return taeda::relu(x.matmul(w) + 1);
//   });
//   taeda::Tensor y = f(x, w);  // traced and compiled here, interpreted until kernels are native
//   f(x.narrow(0, 0, 3), w);    // another size: nothing is compiled
//
// The function is traced by what it does to tensors (Note [Versions of a program] in
// inductor/compiled_program.h). It gives a Tensor, a std::vector, std::array, std::pair or
// std::tuple of them. Numbers that it captures are those of the call that traced a version: a later
// change is not seen. No source of the library includes this header.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <type_traits>
#include <utility>

#include "taeda/inductor/compiled_program.h"

namespace taeda {

using CompileOptions = inductor::ProgramOptions;
using inductor::Native;

namespace detail {

template <class Result>
std::vector<Tensor> results_of(const Result& result) {
  if constexpr (std::is_same_v<Result, Tensor>)
    return {result};
  else if constexpr (std::is_same_v<Result, std::vector<Tensor>>)
    return result;
  else
    return std::apply([](const auto&... all) { return std::vector<Tensor>{all...}; }, result);
}

template <class Result>
Result make_result(const std::vector<Tensor>& all) {
  if constexpr (std::is_same_v<Result, Tensor>) {
    return all.at(0);
  } else if constexpr (std::is_same_v<Result, std::vector<Tensor>>) {
    return all;
  } else {
    return [&]<size_t... i>(std::index_sequence<i...>) {
      return Result{all.at(i)...};
    }(std::make_index_sequence<std::tuple_size_v<Result>>());
  }
}

}  // namespace detail

// A function with what was compiled for it; copies share that. Several threads may call it at once.
template <class F>
class Compiled {
 public:
  Compiled(F function, CompileOptions options)
      : state_(std::make_shared<State>(std::move(function), options)) {}

  template <class... Inputs>
  auto operator()(const Inputs&... inputs) const {
    static_assert((std::is_convertible_v<const Inputs&, const Tensor&> && ...),
                  "the arguments of a compiled function are tensors");
    using Result = std::decay_t<std::invoke_result_t<F&, const Inputs&...>>;
    inductor::CompiledProgram& program =
        state_->template program_of<Result>(std::index_sequence_for<Inputs...>());
    return detail::make_result<Result>(program(std::vector<Tensor>{inputs...}));
  }

  // How often it was compiled.
  size_t num_versions() const {
    size_t count = 0;
    state_->for_each([&](const inductor::CompiledProgram& p) { count += p.num_versions(); });
    return count;
  }
  // Waits until all kernels are native, or could not be compiled.
  void wait() const {
    state_->for_each([](inductor::CompiledProgram& p) { p.wait(); });
  }
  // Kernels and calls in the order in which they run, a text per plan.
  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    state_->for_each([&](const inductor::CompiledProgram& p) {
      for (std::string& text : p.texts()) all.push_back(std::move(text));
    });
    return all;
  }

 private:
  struct State {
    State(F given, CompileOptions how) : function(std::move(given)), options(how) {}

    F function;
    CompileOptions options;
    std::mutex mutex;
    std::map<size_t, std::unique_ptr<inductor::CompiledProgram>> programs;  // by arity

    template <class Result, size_t... i>
    inductor::CompiledProgram& program_of(std::index_sequence<i...>) {
      const std::lock_guard lock(mutex);
      auto& program = programs[sizeof...(i)];
      if (!program)
        program = std::make_unique<inductor::CompiledProgram>(
            [this](const std::vector<Tensor>& all) {
              return detail::results_of<Result>(function(all.at(i)...));
            },
            options);
      return *program;
    }
    // Calls may go on meanwhile.
    template <class Visit>
    void for_each(Visit&& visit) {
      std::vector<inductor::CompiledProgram*> all;
      {
        const std::lock_guard lock(mutex);
        for (auto& [arity, program] : programs) all.push_back(program.get());
      }
      for (inductor::CompiledProgram* program : all) visit(*program);
    }
  };
  std::shared_ptr<State> state_;
};

template <class F>
Compiled<std::decay_t<F>> compile(F&& function, CompileOptions options = {}) {
  return {std::forward<F>(function), options};
}

}  // namespace taeda
