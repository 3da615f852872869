// Which arguments of a function are differentiated: numbers known to the compiler, or at run time.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "taeda/func/tree.h"

namespace taeda::func::func_detail {

// The position from the front; negative numbers count from the back. RuntimeError with PyTorch's
// phrase for a number beyond the arguments.
TAEDA_API size_t check_argnum(int64_t argnum, size_t num_args);
// RuntimeError for no number, and for a number that occurs twice.
TAEDA_API std::vector<size_t> check_argnums(const std::vector<int64_t>& argnums, size_t num_args);

// Arguments of one type, so that a number can choose among them.
template <class... Args>
struct CommonType {
  static_assert(sizeof...(Args) > 0, "a function without arguments has no gradient");
  using Type = std::tuple_element_t<0, std::tuple<Args...>>;
  static_assert((std::is_same_v<Args, Type> && ...),
                "arguments of different types: write grad<N>(f), whose result has the type of "
                "argument N");
};
template <class... Args>
using Common = typename CommonType<Args...>::Type;

template <class... Args>
std::vector<Common<Args...>*> places_of(std::tuple<Args...>& args) {
  return std::apply([](auto&... a) { return std::vector<Common<Args...>*>{&a...}; }, args);
}

// Each has pick(args), a tree of the arguments it names, and put(args, tree).
template <size_t... N>
struct StaticArgnums {
  template <class... Args>
  auto pick(std::tuple<Args...>& args) const {
    static_assert(((N < sizeof...(Args)) && ...), "argnum beyond the arguments of the function");
    if constexpr (sizeof...(N) == 1)
      return std::get<N...>(args);
    else
      return std::make_tuple(std::get<N>(args)...);
  }
  template <class Args, class Picked>
  void put(Args& args, const Picked& picked) const {
    if constexpr (sizeof...(N) == 1)
      std::get<N...>(args) = picked;
    else
      std::tie(std::get<N>(args)...) = picked;
  }
};

// The first argument where none is named.
template <size_t... N>
using FirstUnless = std::conditional_t<sizeof...(N) == 0, StaticArgnums<0>, StaticArgnums<N...>>;

struct OneArgnum {
  int64_t argnum;

  template <class... Args>
  auto pick(std::tuple<Args...>& args) const {
    return *places_of(args)[check_argnum(argnum, sizeof...(Args))];
  }
  template <class... Args, class Picked>
  void put(std::tuple<Args...>& args, const Picked& picked) const {
    *places_of(args)[check_argnum(argnum, sizeof...(Args))] = picked;
  }
};

struct SeveralArgnums {
  std::vector<int64_t> argnums;

  template <class... Args>
  auto pick(std::tuple<Args...>& args) const {
    std::vector<Common<Args...>> picked;
    for (const size_t n : check_argnums(argnums, sizeof...(Args)))
      picked.push_back(*places_of(args)[n]);
    return picked;
  }
  template <class... Args, class Picked>
  void put(std::tuple<Args...>& args, const Picked& picked) const {
    size_t next = 0;
    for (const size_t n : check_argnums(argnums, sizeof...(Args)))
      *places_of(args)[n] = picked[next++];
  }
};

}  // namespace taeda::func::func_detail
