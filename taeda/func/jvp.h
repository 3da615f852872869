// jvp: the value of a function and the tangent of its value, by forward mode.
//
//   auto [value, tangent] = jvp([](const Tensor& x) { return x.sin(); }, x, direction);
//   auto [v, t] = jvp(f, std::tuple(x, y), std::tuple(dx, dy));   // a function of two arguments
//
// Primals and tangents are trees (tree.h) of one form. jvp of a gradient is a Hessian product.
#pragma once

#include "taeda/func/aux.h"
#include "taeda/func/gradients.h"
#include "taeda/func/level_scope.h"

namespace taeda::func {
namespace func_detail {

// (value, tangent, aux)
template <bool kHasAux, class F, class... Args>
auto run_jvp(const F& f, const std::tuple<Args...>& primals, const std::tuple<Args...>& tangents,
             bool is_strict) {
  const std::vector<Tensor> points = leaves_of(primals);
  check_jvp_inputs(is_same_form(primals, tangents), form_text(primals), form_text(tangents),
                   points.size());
  const JvpScope level;
  std::vector<Tensor> duals;
  for (const Tensor& t : leaves_of(tangents))
    duals.push_back(level.make_dual(points[duals.size()], t));
  auto arguments = with_leaves(primals, duals);
  auto [output, aux] = split_aux<kHasAux>(std::apply(f, arguments));
  check_has_outputs("jvp(f, primals, tangents)", !leaves_of(output).empty());
  auto tangent = map_tree(output, [&](const Tensor& t) {
    Tensor found = level.tangent(t, is_strict);
    check_strict(found);
    return found;
  });
  const auto primal = [&](const Tensor& t) { return level.primal(t); };
  return std::tuple(map_tree(std::move(output), primal), std::move(tangent),
                    map_tree(std::move(aux), primal));
}

}  // namespace func_detail

// (value, tangent). A result that does not depend on the arguments has a tangent of zeros, or is a
// RuntimeError where `is_strict`.
template <class F, class... Args>
auto jvp(const F& f, const std::tuple<Args...>& primals, const std::tuple<Args...>& tangents,
         bool is_strict = false) {
  auto [value, tangent, aux] = func_detail::run_jvp<false>(f, primals, tangents, is_strict);
  return std::pair(std::move(value), std::move(tangent));
}

// Of a function of one argument.
template <class F, class Arg>
  requires(!func_detail::IsTuple<Arg>::value && !std::is_same_v<F, HasAux>)
auto jvp(const F& f, const Arg& primal, const Arg& tangent, bool is_strict = false) {
  return jvp(f, std::tuple<Arg>(primal), std::tuple<Arg>(tangent), is_strict);
}

// (value, tangent, aux) of a function that returns (output, aux).
template <class F, class... Args>
auto jvp(HasAux, const F& f, const std::tuple<Args...>& primals,
         const std::tuple<Args...>& tangents, bool is_strict = false) {
  return func_detail::run_jvp<true>(f, primals, tangents, is_strict);
}
template <class F, class Arg>
  requires(!func_detail::IsTuple<Arg>::value)
auto jvp(HasAux, const F& f, const Arg& primal, const Arg& tangent, bool is_strict = false) {
  return func_detail::run_jvp<true>(f, std::tuple<Arg>(primal), std::tuple<Arg>(tangent),
                                    is_strict);
}

}  // namespace taeda::func
