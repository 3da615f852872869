// Division with a rounding mode, and subtraction the other way round.
#include "taeda/ops/arithmetic/declarations.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

enum class Rounding { None, Floor, Trunc };

Rounding rounding_of(std::optional<std::string_view> mode) {
  if (!mode) return Rounding::None;
  if (*mode == "floor") return Rounding::Floor;
  if (*mode == "trunc") return Rounding::Trunc;
  fail(ErrorKind::Runtime,
       "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *mode, "'");
}

// 16-bit quotients are rounded to their type before they are truncated, as in PyTorch.
bool is_reduced(const Tensor& self, const Tensor& other) {
  const Tensor* const inputs[] = {&self, &other};
  return is_reduced_float(result_type(inputs));
}

}  // namespace

Tensor div_Tensor_mode(const Tensor& self, const Tensor& other,
                       std::optional<std::string_view> rounding_mode) {
  switch (rounding_of(rounding_mode)) {
    case Rounding::Floor: return taeda::_div_floor(self, other);
    case Rounding::Trunc:
      return is_reduced(self, other) ? taeda::trunc(taeda::div(self, other))
                                     : taeda::_div_trunc(self, other);
    default: return taeda::div(self, other);
  }
}

Tensor& div__Tensor_mode(Tensor& self, const Tensor& other,
                         std::optional<std::string_view> rounding_mode) {
  switch (rounding_of(rounding_mode)) {
    case Rounding::Floor: return taeda::_div_floor_(self, other);
    case Rounding::Trunc:
      return is_reduced(self, other) ? taeda::trunc_(taeda::div_(self, other))
                                     : taeda::_div_trunc_(self, other);
    default: return taeda::div_(self, other);
  }
}

Tensor& div_out_mode(const Tensor& self, const Tensor& other,
                     std::optional<std::string_view> rounding_mode, Tensor& out) {
  switch (rounding_of(rounding_mode)) {
    case Rounding::Floor: return taeda::_div_floor_out(out, self, other);
    case Rounding::Trunc:
      if (!is_reduced(self, other)) return taeda::_div_trunc_out(out, self, other);
      return taeda::trunc_(taeda::div_out(out, self, other));
    default: return taeda::div_out(out, self, other);
  }
}

}  // namespace taeda::impl
