// What native_dropout does before a device draws: checks, and the results that need no draw.
#pragma once

#include <optional>

#include "taeda/base/error.h"
#include "taeda/ops/functions.h"

namespace taeda {

struct DrawnDropout {
  Tensor out, mask;
  bool is_done;  // nothing is left to draw

  DrawnDropout(const Tensor& input, double p, std::optional<bool> train) {
    TAEDA_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
    mask = taeda::empty_like(input, DType::Bool);
    const bool is_drawn = train.value_or(true);
    if (!is_drawn) mask.fill_(Scalar(true));
    out = is_drawn ? taeda::empty_like(input) : input.clone();
    is_done = !is_drawn || input.numel() == 0;
  }
};

inline void check_dropout_mask(const Tensor& mask) {
  TAEDA_CHECK(mask.dtype() == DType::Bool, "Mask should be Bool Scalar Type, got ", mask.dtype());
}

}  // namespace taeda
