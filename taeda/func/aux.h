// Functions that return a second result which is not differentiated.
#pragma once

#include "taeda/func/tree.h"

namespace taeda::func {

// As the first argument of a transform: the function returns a pair (output, aux), and aux comes
// back as a further result, PyTorch's has_aux=True.
//
//   auto [gradient, logits] = grad(has_aux, loss)(weights, x);
struct HasAux {
  explicit HasAux() = default;
};
inline constexpr HasAux has_aux{};

namespace func_detail {

template <class T>
constexpr bool is_pair = false;
template <class A, class B>
constexpr bool is_pair<std::pair<A, B>> = true;
template <class A, class B>
constexpr bool is_pair<std::tuple<A, B>> = true;

// The result of a function as output and aux; aux is empty without the tag.
template <bool kHasAux, class Result>
auto split_aux(Result result) {
  if constexpr (kHasAux) {
    static_assert(is_pair<Result>,
                  "output of function f should be a pair: (output, aux) if has_aux is given");
    return std::pair(std::get<0>(std::move(result)), std::get<1>(std::move(result)));
  } else {
    return std::pair(std::move(result), std::tuple<>());
  }
}

}  // namespace func_detail
}  // namespace taeda::func
