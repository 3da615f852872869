// Named choices of options: kMean is a value of the type enumtype::kMean, and an option that takes
// one of several holds a variant of their types. A choice outside the list does not compile.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "taeda/base/error.h"

// The formatter has no stable form for a list of calls in a macro.
// clang-format off
#define TAEDA_FOR_EACH_CHOICE(X)                                                          \
  X(Linear) X(Conv1D) X(Conv2D) X(Conv3D) X(ConvTranspose1D) X(ConvTranspose2D)           \
  X(ConvTranspose3D) X(Sigmoid) X(Tanh) X(ReLU) X(GELU) X(SiLU) X(Mish) X(LeakyReLU)      \
  X(FanIn) X(FanOut) X(Constant) X(Reflect) X(Replicate) X(Circular) X(Nearest)           \
  X(Bilinear) X(Bicubic) X(Trilinear) X(Area) X(NearestExact) X(Sum) X(Mean) X(Max)       \
  X(None) X(BatchMean) X(Zeros) X(Border) X(Reflection) X(RNN_TANH) X(RNN_RELU) X(LSTM)   \
  X(GRU) X(Valid) X(Same)
// clang-format on

namespace taeda {

// The numbers by which the schemas of losses name reductions.
namespace Reduction {
enum Reduction : int64_t { None = 0, Mean = 1, Sum = 2, END };
}

namespace enumtype {
#define TAEDA_CHOICE(name)                     \
  struct k##name {                             \
    static constexpr const char* text = #name; \
  };
TAEDA_FOR_EACH_CHOICE(TAEDA_CHOICE)
#undef TAEDA_CHOICE

// "kMean" of a variant that holds kMean.
template <class Variant>
std::string get_enum_name(const Variant& choice) {
  return std::visit([](auto held) { return std::string("k") + decltype(held)::text; }, choice);
}

template <class Variant>
Reduction::Reduction reduction_get_enum(const Variant& choice) {
  if (std::holds_alternative<kNone>(choice)) return Reduction::None;
  if (std::holds_alternative<kMean>(choice)) return Reduction::Mean;
  if (std::holds_alternative<kSum>(choice)) return Reduction::Sum;
  fail(ErrorKind::Runtime, get_enum_name(choice), " is not a valid value for reduction");
}
}  // namespace enumtype

#define TAEDA_CHOICE(name) inline constexpr enumtype::k##name k##name{};
TAEDA_FOR_EACH_CHOICE(TAEDA_CHOICE)
#undef TAEDA_CHOICE

}  // namespace taeda
