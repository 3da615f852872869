// Numbers at equal distances, by arithmetic on tensors.
#include "taeda/ops/factory/spaced_numbers.h"

#include <algorithm>

#include "taeda/ops/functions.h"

namespace taeda {

Tensor spaced_numbers(Tensor start, Tensor end, int64_t steps, std::optional<double> base,
                      std::optional<DType> dtype, std::optional<Layout> layout,
                      std::optional<Device> device, std::optional<bool> pin_memory) {
  const bool has_complex = start.is_complex() || end.is_complex();
  const DType result = dtype.value_or(has_complex ? default_complex_dtype() : default_dtype());
  const bool is_whole = is_integral(result, true);
  const DType compute = is_whole                   ? (base ? DType::Float : DType::Double)
                        : is_reduced_float(result) ? DType::Float
                                                   : result;
  // Integers count from whole numbers.
  const auto end_in = [&](const Tensor& t) {
    return (is_whole ? t.to(DType::Int64) : t).to(compute).to(device);
  };
  start = end_in(start);
  end = end_in(end);
  const Tensor i = taeda::arange(Scalar(steps), to_real(compute), layout, device, pin_memory);
  const Tensor step = (end - start) / Scalar(std::max<int64_t>(steps - 1, 1));
  // From both ends, so that both are met exactly.
  const Tensor is_first = taeda::lt(i, Scalar(steps == 1 ? 1 : steps / 2));
  const Tensor out = taeda::where(is_first, start + i * step, end - (Scalar(steps - 1) - i) * step);
  return (base ? taeda::pow(Scalar(*base), out) : out).to(result);
}

Tensor number_tensor(const Scalar& s) {
  return taeda::scalar_tensor(s, s.is_complex() ? DType::ComplexDouble : DType::Double);
}

}  // namespace taeda
