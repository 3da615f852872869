// Indices of C++ in the form of Python's brackets.
//
//   x.index({0, Slice(1), "...", mask})        x[0, 1:, ..., mask]
//   x.index_put_({Slice(None, 2)}, 0)          x[:2] = 0
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <variant>

#include "taeda/core/tensor.h"

namespace taeda {

namespace indexing {
enum class EllipsisType : uint8_t { Value };
inline constexpr EllipsisType Ellipsis = EllipsisType::Value;
inline constexpr std::nullopt_t None = std::nullopt;

// start:stop:step, each left out by None.
struct Slice {
  std::optional<SymInt> start, stop, step;
  explicit Slice(std::optional<SymInt> start = std::nullopt,
                 std::optional<SymInt> stop = std::nullopt,
                 std::optional<SymInt> step = std::nullopt)
      : start(std::move(start)), stop(std::move(stop)), step(std::move(step)) {}
};
}  // namespace indexing

// One item between brackets: None (a new dimension), `...`, a number, true or false, a slice, or a
// tensor of indices or of truth values.
class TensorIndex {
 public:
  using Variant =
      std::variant<std::nullopt_t, indexing::EllipsisType, bool, SymInt, indexing::Slice, Tensor>;

  TensorIndex(std::nullopt_t) : value(std::nullopt) {}
  TensorIndex(indexing::EllipsisType e) : value(e) {}
  // "..." only.
  TensorIndex(const char* text) : value(indexing::Ellipsis) {
    TAEDA_CHECK_VALUE(std::string_view(text) == "...",
                      "Expected \"...\" to represent an ellipsis index, but got \"", text, "\"");
  }
  template <std::integral T>
  TensorIndex(T n) : value(std::nullopt) {
    if constexpr (std::is_same_v<T, bool>)
      value = n;
    else
      value = SymInt(static_cast<int64_t>(n));
  }
  TensorIndex(SymInt n) : value(std::move(n)) {}
  TensorIndex(indexing::Slice slice) : value(std::move(slice)) {}
  TensorIndex(Tensor t) : value(std::move(t)) {}

  Variant value;
};

// On streams as in brackets: None, ..., true, 3, 1:3:2, or the tensor.
TAEDA_API std::ostream& operator<<(std::ostream& out, const TensorIndex& index);
namespace indexing {
using ::taeda::TensorIndex;
inline std::ostream& operator<<(std::ostream& out, const Slice& s) { return out << TensorIndex(s); }
}  // namespace indexing

}  // namespace taeda
