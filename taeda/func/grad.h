// grad: a function that gives the gradient of another one.
//
//   auto loss = [](const Tensor& w, const Tensor& x) { return (x.matmul(w)).pow(2).sum(); };
//   Tensor g = grad(loss)(w, x);                       // by the first argument
//   Tensor h = grad(loss, 1)(w, x);                    // by the second
//   std::vector<Tensor> both = grad(loss, {0, 1})(w, x);
//   auto [gw, gx] = grad<0, 1>(loss)(w, x);            // arguments of any types
//   auto [gradient, value] = grad_and_value(loss)(w, x);
//
// The function takes trees (tree.h) and returns one number; its arguments are copies of handles, so
// that it may write to them. It is kept in the callable and called as const. What it keeps of its
// arguments elsewhere is of a level that has ended. Gradients have the form of their argument,
// zeros where the result does not depend on it. Calls nest in each other and in vjp, jvp and vmap
// in any order. RuntimeError for results that are no scalars and for numbers that are no arguments.
#pragma once

#include "taeda/func/argnums.h"
#include "taeda/func/aux.h"
#include "taeda/func/gradients.h"
#include "taeda/func/level_scope.h"

namespace taeda::func {
namespace func_detail {

// (gradient, value, aux)
template <bool kHasAux, class F, class Argnums, class... Args>
auto run_grad(const F& f, const Argnums& argnums, const Args&... args) {
  std::tuple<std::decay_t<Args>...> values(args...);
  const GradScope level;
  auto inputs = map_tree(argnums.pick(values), [&](const Tensor& t) { return level.track(t); });
  values = map_tree(std::move(values), [&](const Tensor& t) { return level.wrap(t); });
  argnums.put(values, inputs);

  auto [output, aux] = split_aux<kHasAux>(std::apply(f, values));
  static_assert(is_tensor<decltype(output)>,
                "grad_and_value(f)(*args): Expected f(*args) to return a Tensor");
  check_scalar_output(output);
  const auto unwrap = [&](const Tensor& t) { return level.unwrap(t); };
  const std::vector<Tensor> grads = gradients({output}, leaves_of(inputs), {}, false, false);
  return std::tuple(map_tree(with_leaves(std::move(inputs), grads), unwrap), unwrap(output),
                    map_tree(std::move(aux), unwrap));
}

template <bool kHasAux, bool kHasValue, class F, class Argnums>
auto make_grad(F f, Argnums argnums) {
  return [f = std::move(f), argnums = std::move(argnums)](const auto&... args) {
    auto [grads, value, aux] = run_grad<kHasAux>(f, argnums, args...);
    if constexpr (kHasValue && kHasAux)
      return std::pair(std::move(grads), std::pair(std::move(value), std::move(aux)));
    else if constexpr (kHasValue)
      return std::pair(std::move(grads), std::move(value));
    else if constexpr (kHasAux)
      return std::pair(std::move(grads), std::move(aux));
    else
      return grads;
  };
}

}  // namespace func_detail

// By the arguments N..., the first if none is named: one gradient, or a tuple of them.
template <size_t... N, class F>
auto grad(F f) {
  return func_detail::make_grad<false, false>(std::move(f), func_detail::FirstUnless<N...>());
}
template <size_t... N, class F>
auto grad_and_value(F f) {
  return func_detail::make_grad<false, true>(std::move(f), func_detail::FirstUnless<N...>());
}

// By an argument that is a number at run time, for functions whose arguments are of one type.
template <class F>
auto grad(F f, int64_t argnum) {
  return func_detail::make_grad<false, false>(std::move(f), func_detail::OneArgnum{argnum});
}
template <class F>
auto grad_and_value(F f, int64_t argnum) {
  return func_detail::make_grad<false, true>(std::move(f), func_detail::OneArgnum{argnum});
}

// By several of them: a vector of gradients, in the order of the numbers.
template <class F>
auto grad(F f, std::vector<int64_t> argnums) {
  return func_detail::make_grad<false, false>(std::move(f),
                                              func_detail::SeveralArgnums{std::move(argnums)});
}
template <class F>
auto grad(F f, std::initializer_list<int64_t> argnums) {
  return grad(std::move(f), std::vector<int64_t>(argnums));
}
template <class F>
auto grad_and_value(F f, std::vector<int64_t> argnums) {
  return func_detail::make_grad<false, true>(std::move(f),
                                             func_detail::SeveralArgnums{std::move(argnums)});
}
template <class F>
auto grad_and_value(F f, std::initializer_list<int64_t> argnums) {
  return grad_and_value(std::move(f), std::vector<int64_t>(argnums));
}

// Of functions that return (output, aux): gradient and aux; gradient and (value, aux).
template <size_t... N, class F>
auto grad(HasAux, F f) {
  return func_detail::make_grad<true, false>(std::move(f), func_detail::FirstUnless<N...>());
}
template <size_t... N, class F>
auto grad_and_value(HasAux, F f) {
  return func_detail::make_grad<true, true>(std::move(f), func_detail::FirstUnless<N...>());
}

}  // namespace taeda::func
