// Trees: the arguments and results of functions under transforms.
//
// A tree is a Tensor, or a std::vector, std::array, std::tuple, std::pair, std::optional or
// std::map (its values) of trees. Any other type is a tree without tensors and passes through
// transforms as it is.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::func {
namespace func_detail {

template <class T>
struct IsSequence : std::false_type {};
template <class T>
struct IsSequence<std::vector<T>> : std::true_type {};
// Its elements are no objects that could be visited, nor trees.
template <>
struct IsSequence<std::vector<bool>> : std::false_type {};
template <class T, size_t N>
struct IsSequence<std::array<T, N>> : std::true_type {};

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
struct IsMap : std::false_type {};
template <class K, class V>
struct IsMap<std::map<K, V>> : std::true_type {};

}  // namespace func_detail

template <class T>
constexpr bool is_tensor = std::is_same_v<std::remove_cvref_t<T>, Tensor>;

// Calls `f` on the direct children of the tree, in order; a tensor has none.
template <class T, class F>
void visit_children(T& tree, F&& f) {
  using Type = std::remove_cv_t<T>;
  if constexpr (func_detail::IsSequence<Type>::value) {
    for (auto& child : tree) f(child);
  } else if constexpr (func_detail::IsTuple<Type>::value) {
    std::apply([&](auto&... children) { (f(children), ...); }, tree);
  } else if constexpr (func_detail::IsOptional<Type>::value) {
    if (tree) f(*tree);
  } else if constexpr (func_detail::IsMap<Type>::value) {
    for (auto& item : tree) f(item.second);
  }
}

// Calls `f` on every defined tensor of the tree, in order.
template <class T, class F>
void visit_tensors(T& tree, F&& f) {
  if constexpr (is_tensor<T>) {
    if (tree.defined()) f(tree);
  } else {
    visit_children(tree, [&](auto& child) { visit_tensors(child, f); });
  }
}

template <class T>
std::vector<Tensor> leaves_of(const T& tree) {
  std::vector<Tensor> leaves;
  visit_tensors(tree, [&](const Tensor& t) { leaves.push_back(t); });
  return leaves;
}

// The tree with f(t) for each tensor t.
template <class T, class F>
T map_tree(T tree, F&& f) {
  visit_tensors(tree, [&](Tensor& t) { t = f(t); });
  return tree;
}

// A tree of the same form with other tensors, as many as it has.
template <class T>
T with_leaves(T tree, const std::vector<Tensor>& leaves) {
  size_t next = 0;
  visit_tensors(tree, [&](Tensor& t) { t = leaves.at(next++); });
  return tree;
}

// Whether two trees of one type have tensors at the same places.
template <class T>
bool is_same_form(const T& a, const T& b) {
  if constexpr (is_tensor<T>) {
    return a.defined() == b.defined();
  } else if constexpr (func_detail::IsTuple<T>::value) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return (is_same_form(std::get<I>(a), std::get<I>(b)) && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (func_detail::IsSequence<T>::value) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!is_same_form(a[i], b[i])) return false;
    return true;
  } else if constexpr (func_detail::IsOptional<T>::value) {
    return a.has_value() == b.has_value() && (!a || is_same_form(*a, *b));
  } else if constexpr (func_detail::IsMap<T>::value) {
    if (a.size() != b.size()) return false;
    for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y)
      if (x->first != y->first || !is_same_form(x->second, y->second)) return false;
    return true;
  } else {
    return true;
  }
}

// The form of a tree in PyTorch's notation: `*` for a tensor, (...) for tuples, [...] for others.
template <class T>
std::string form_text(const T& tree) {
  if constexpr (is_tensor<T>) {
    return tree.defined() ? "*" : "None";
  } else {
    std::string inside;
    visit_children(tree, [&](const auto& child) {
      inside += (inside.empty() ? "" : ", ") + form_text(child);
    });
    return func_detail::IsTuple<T>::value ? "(" + inside + ")" : "[" + inside + "]";
  }
}

}  // namespace taeda::func
