// Batching rules of ranges between ends that differ from example to example.
#include "taeda/ops/factory/batching.h"

#include "taeda/ops/factory/spaced_numbers.h"
#include "taeda/ops/functions.h"

namespace taeda::batch {
namespace {

// The ends as columns beside a row of steps.
Batched spaced(const char* name, const Batched& start, const Batched& end, int64_t steps,
               std::optional<double> base, std::optional<DType> dtype, std::optional<Layout> layout,
               std::optional<Device> device, std::optional<bool> pin_memory) {
  TAEDA_CHECK(start.rank() == 0 && end.rank() == 0, name,
              " only supports 0-dimensional start and end tensors, but got start with ",
              start.rank(), " dimension(s) and end with ", end.rank(), " dimension(s).");
  TAEDA_CHECK(steps >= 0, "number of steps must be non-negative");
  const bool has_complex = start.value.is_complex() || end.value.is_complex();
  TAEDA_CHECK(!has_complex || !dtype || is_complex(*dtype), name, "(): inferred dtype ",
              default_complex_dtype(), " can't be safely cast to passed dtype ", *dtype);
  const DType type = dtype.value_or(has_complex ? default_complex_dtype() : default_dtype());
  // Kernels compute floats in double and round once.
  const DType wide = is_complex(type)    ? DType::ComplexDouble
                     : is_floating(type) ? DType::Double
                                         : type;
  const Tensor numbers = spaced_numbers(start.front().unsqueeze(-1), end.front().unsqueeze(-1),
                                        steps, base, wide, layout, device, pin_memory);
  return {numbers.to(type), 0};
}

Batched number(const Scalar& s) { return {number_tensor(s), -1}; }

}  // namespace

Batched linspace_Tensor_Tensor(const Batched& start, const Batched& end, int64_t steps,
                               std::optional<DType> dtype, std::optional<Layout> layout,
                               std::optional<Device> device, std::optional<bool> pin_memory) {
  return spaced("linspace", start, end, steps, {}, dtype, layout, device, pin_memory);
}
Batched linspace_Tensor_Scalar(const Batched& start, const Scalar& end, int64_t steps,
                               std::optional<DType> dtype, std::optional<Layout> layout,
                               std::optional<Device> device, std::optional<bool> pin_memory) {
  return spaced("linspace", start, number(end), steps, {}, dtype, layout, device, pin_memory);
}
Batched linspace_Scalar_Tensor(const Scalar& start, const Batched& end, int64_t steps,
                               std::optional<DType> dtype, std::optional<Layout> layout,
                               std::optional<Device> device, std::optional<bool> pin_memory) {
  return spaced("linspace", number(start), end, steps, {}, dtype, layout, device, pin_memory);
}
Batched logspace_Tensor_Tensor(const Batched& start, const Batched& end, int64_t steps, double base,
                               std::optional<DType> dtype, std::optional<Layout> layout,
                               std::optional<Device> device, std::optional<bool> pin_memory) {
  return spaced("logspace", start, end, steps, base, dtype, layout, device, pin_memory);
}
Batched logspace_Tensor_Scalar(const Batched& start, const Scalar& end, int64_t steps, double base,
                               std::optional<DType> dtype, std::optional<Layout> layout,
                               std::optional<Device> device, std::optional<bool> pin_memory) {
  return spaced("logspace", start, number(end), steps, base, dtype, layout, device, pin_memory);
}
Batched logspace_Scalar_Tensor(const Scalar& start, const Batched& end, int64_t steps, double base,
                               std::optional<DType> dtype, std::optional<Layout> layout,
                               std::optional<Device> device, std::optional<bool> pin_memory) {
  return spaced("logspace", number(start), end, steps, base, dtype, layout, device, pin_memory);
}

}  // namespace taeda::batch
