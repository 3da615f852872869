// Operators that make tensors.
#include "taeda/ops/factory/declarations.h"

#include <cmath>
#include <limits>

#include "taeda/core/determinism.h"
#include "taeda/dispatch/levels.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/kernel_name.h"
#include "taeda/ops/number_range.h"
#include "taeda/ops/options.h"
#include "taeda/ops/shape.h"

namespace taeda {

void check_options(std::optional<Layout> layout, std::optional<bool> pin_memory) {
  TAEDA_CHECK(!layout || *layout == Layout::Strided, "layout ",
              layout_name(layout.value_or(Layout::Strided)),
              " is not supported; supported: strided");
  TAEDA_CHECK(!pin_memory.value_or(false),
              "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
              "allocator is available on this system.");
}

Tensor new_tensor(SymIntList size, SymIntList strides, DType dtype, Device device) {
  for (const SymInt& s : size)
    TAEDA_CHECK(s >= SymInt(0), "Trying to create tensor with negative dimension ", s, ": ", size);
  if (strides.empty() && !has_symbolic(size)) return make_tensor(as_int(size), dtype, device);
  OutSpec spec(size, dtype, device);
  spec.strides.assign(strides.begin(), strides.end());
  return spec.allocate();
}

Scalar unwritten_number(DType dtype) {
  if (is_floating(dtype) || is_complex(dtype)) return std::numeric_limits<double>::quiet_NaN();
  switch (dtype) {
    case DType::Bool: return true;
    case DType::UInt8: return int64_t{std::numeric_limits<uint8_t>::max()};
    case DType::UInt16: return int64_t{std::numeric_limits<uint16_t>::max()};
    case DType::UInt32: return int64_t{std::numeric_limits<uint32_t>::max()};
    case DType::UInt64: return std::numeric_limits<uint64_t>::max();
    case DType::Int8: return int64_t{std::numeric_limits<int8_t>::max()};
    case DType::Int16: return int64_t{std::numeric_limits<int16_t>::max()};
    case DType::Int32: return int64_t{std::numeric_limits<int32_t>::max()};
    default: return std::numeric_limits<int64_t>::max();
  }
}

void fill_unwritten(const Tensor& made, int64_t first) {
  if (!determinism().fills_new_memory() || made.impl()->has_symbolic_sizes()) return;
  const int64_t count =
      static_cast<int64_t>(made.storage()->nbytes()) / made.element_size() - first;
  if (count <= 0) return;
  const ExcludeKeys below(KeySet(Key::Autograd) | KeySet(Key::ADInplaceOrView));
  make_alias(made, {count}, {1}, first).fill_(unwritten_number(made.dtype()));
}

DType dtype_of_fill(const Scalar& value) {
  if (value.is_bool()) return DType::Bool;
  if (value.is_complex()) return default_complex_dtype();
  return value.is_floating() ? default_dtype() : DType::Int64;
}

}  // namespace taeda

namespace taeda::impl {
namespace {

SymIntVec strides_in(SymIntList size, std::optional<MemoryFormat> memory_format) {
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Contiguous);
  TAEDA_CHECK(format != MemoryFormat::Preserve, "unsupported memory format option Preserve");
  if (format == MemoryFormat::Contiguous) return {};
  const size_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
  TAEDA_CHECK(size.size() == rank, "required rank ", rank, " tensor to use ",
              memory_format_name(format), " format");
  return channels_last_strides(size);
}

}  // namespace

Tensor empty_memory_format(SymIntList size, std::optional<DType> dtype,
                           std::optional<Layout> layout, std::optional<Device> device,
                           std::optional<bool> pin_memory,
                           std::optional<MemoryFormat> memory_format) {
  check_options(layout, pin_memory);
  const Tensor made =
      new_tensor(size, strides_in(size, memory_format), dtype.value_or(default_dtype()),
                 device.value_or(default_device()));
  fill_unwritten(made);
  return made;
}

Tensor& empty_out(SymIntList size, std::optional<MemoryFormat> memory_format, Tensor& out) {
  for (const SymInt& s : size)
    TAEDA_CHECK(s >= SymInt(0), "Trying to create tensor with negative dimension ", s, ": ", size);
  const SymIntVec strides = strides_in(size, memory_format);
  resize_to(out, size);
  if (!strides.empty())
    out.impl()->set_sym_geometry(size, strides, out.impl()->sym_storage_offset());
  if (determinism().fills_new_memory() && !out.impl()->has_symbolic_sizes()) {
    const ExcludeKeys below(KeySet(Key::Autograd) | KeySet(Key::ADInplaceOrView));
    out.fill_(unwritten_number(out.dtype()));
  }
  return out;
}

Tensor empty_strided(SymIntList size, SymIntList stride, std::optional<DType> dtype,
                     std::optional<Layout> layout, std::optional<Device> device,
                     std::optional<bool> pin_memory) {
  check_options(layout, pin_memory);
  TAEDA_CHECK(size.size() == stride.size(), "dimensionality of sizes (", size.size(),
              ") must match dimensionality of strides (", stride.size(), ")");
  const Tensor made =
      new_tensor(size, stride, dtype.value_or(default_dtype()), device.value_or(default_device()));
  fill_unwritten(made);
  return made;
}

Tensor empty_permuted(SymIntList size, IntList physical_layout, std::optional<DType> dtype,
                      std::optional<Layout> layout, std::optional<Device> device,
                      std::optional<bool> pin_memory) {
  const int64_t ndim = static_cast<int64_t>(size.size());
  TAEDA_CHECK(physical_layout.size() == size.size(),
              "Number of dimensions in size does not match the length of the physical_layout; i.e. "
              "len(size) = ",
              size.size(), " is not equal to len(physical_layout) = ", physical_layout.size());
  SymIntVec strides(size.size());
  SymInt running = 1;
  uint64_t seen = 0;
  for (int64_t i = ndim; i-- > 0;) {
    const int64_t d = physical_layout[i];
    TAEDA_CHECK(d >= 0 && d < ndim, "Dimension out of range (expected to be between 0 and ",
                ndim - 1, ", but got ", d, " at index ", i,
                ").  NB: negative dims not currently supported; file an issue if you want it.");
    TAEDA_CHECK(!(seen >> d & 1), "Duplicate dim not allowed");
    seen |= 1ULL << d;
    strides[d] = running;
    running = running * sym_max(size[d], 1);
  }
  return taeda::empty_strided(size, strides, dtype, layout, device, pin_memory);
}

Tensor zeros(SymIntList size, std::optional<DType> dtype, std::optional<Layout> layout,
             std::optional<Device> device, std::optional<bool> pin_memory) {
  for (const SymInt& n : size)
    TAEDA_CHECK(n >= SymInt(0), "zeros: Dimension size must be non-negative.");
  return taeda::empty(size, dtype, layout, device, pin_memory).zero_();
}
Tensor& zeros_out(SymIntList size, Tensor& out) { return taeda::empty_out(out, size).zero_(); }

Tensor ones(SymIntList size, std::optional<DType> dtype, std::optional<Layout> layout,
            std::optional<Device> device, std::optional<bool> pin_memory) {
  return taeda::empty(size, dtype, layout, device, pin_memory).fill_(Scalar(1));
}
Tensor& ones_out(SymIntList size, Tensor& out) {
  return taeda::empty_out(out, size).fill_(Scalar(1));
}

Tensor full(SymIntList size, const Scalar& fill_value, std::optional<DType> dtype,
            std::optional<Layout> layout, std::optional<Device> device,
            std::optional<bool> pin_memory) {
  return taeda::empty(size, dtype.value_or(dtype_of_fill(fill_value)), layout, device, pin_memory)
      .fill_(fill_value);
}
Tensor& full_out(SymIntList size, const Scalar& fill_value, Tensor& out) {
  return taeda::empty_out(out, size).fill_(fill_value);
}

Tensor scalar_tensor(const Scalar& s, std::optional<DType> dtype, std::optional<Layout> layout,
                     std::optional<Device> device, std::optional<bool> pin_memory) {
  Tensor out = taeda::empty(SymIntList(), dtype, layout, device, pin_memory);
  return out.fill_(rounded_to(s, out.dtype()));
}

namespace {

void check_eye(const SymInt& n, const SymInt& m) {
  TAEDA_CHECK(n >= SymInt(0), "n must be greater or equal to 0, got ", n);
  TAEDA_CHECK(m >= SymInt(0), "m must be greater or equal to 0, got ", m);
}

}  // namespace

Tensor eye(SymInt n, std::optional<DType> dtype, std::optional<Layout> layout,
           std::optional<Device> device, std::optional<bool> pin_memory) {
  return taeda::eye(n, n, dtype, layout, device, pin_memory);
}
Tensor& eye_out(SymInt n, Tensor& out) { return taeda::eye_out(out, n, n); }
Tensor eye_m(SymInt n, SymInt m, std::optional<DType> dtype, std::optional<Layout> layout,
             std::optional<Device> device, std::optional<bool> pin_memory) {
  check_eye(n, m);
  Tensor out = taeda::zeros({n, m}, dtype, layout, device, pin_memory);
  out.diagonal().fill_(Scalar(1));
  return out;
}
Tensor& eye_m_out(SymInt n, SymInt m, Tensor& out) {
  check_eye(n, m);
  taeda::zeros_out(out, {n, m});
  out.diagonal().fill_(Scalar(1));
  return out;
}

// ---- ranges ----

namespace {

bool is_whole(const Scalar& s) { return !s.is_floating() && !s.is_complex(); }

// How many numbers a range has; `is_integral`: counted in integers, exactly.
int64_t range_length(const Scalar& start, const Scalar& end, const Scalar& step, bool is_integral) {
  const double s = start.to_double(), e = end.to_double(), d = step.to_double();
  TAEDA_CHECK(d != 0, "step must be nonzero");
  TAEDA_CHECK(std::isfinite(s) && std::isfinite(e), "unsupported range: ", s, " -> ", e);
  TAEDA_CHECK((d > 0 && e >= s) || (d < 0 && e <= s),
              "upper bound and lower bound inconsistent with step sign");
  if (is_integral) {
    // Without signs, where no difference of two int64 overflows.
    const auto from = static_cast<uint64_t>(start.to_int()),
               to = static_cast<uint64_t>(end.to_int()), by = static_cast<uint64_t>(step.to_int());
    const uint64_t width = d > 0 ? to - from : from - to, stride = d > 0 ? by : 0 - by;
    const uint64_t n = width / stride + (width % stride != 0);
    TAEDA_CHECK(n <= INT64_MAX, "invalid size, possible overflow?");
    return static_cast<int64_t>(n);
  }
  const double n = std::ceil((e - s) / d);
  TAEDA_CHECK(n >= 0 && n < 9.0e18, "invalid size, possible overflow?");
  return static_cast<int64_t>(n);
}

SymInt to_symint(const Scalar& s) {
  return s.is_symbolic() ? SymInt(IntrusivePtr<SymNode>::share(s.node())) : SymInt(s.to_int());
}
SymInt symbolic_range_length(const SymInt& start, const SymInt& end, const SymInt& step) {
  TAEDA_CHECK(step != SymInt(0), "step must be nonzero");
  const bool is_rising = step > SymInt(0);
  TAEDA_CHECK(is_rising ? end >= start : end <= start,
              "upper bound and lower bound inconsistent with step sign");
  return is_rising ? (end - start + step - SymInt(1)) / step
                   : (start - end - step - SymInt(1)) / -step;
}

// Where integers are stored, each of the numbers counts as one.
Scalar stored_as(const Scalar& s, DType dtype) {
  return is_integral(dtype, true) ? Scalar(s.to_int()) : s;
}

}  // namespace

Tensor arange(const Scalar& end, std::optional<DType> dtype, std::optional<Layout> layout,
              std::optional<Device> device, std::optional<bool> pin_memory) {
  return taeda::arange(Scalar(0), end, Scalar(1), dtype, layout, device, pin_memory);
}
Tensor& arange_out(const Scalar& end, Tensor& out) {
  return taeda::arange_out(out, Scalar(0), end, Scalar(1));
}
Tensor arange_start(const Scalar& start, const Scalar& end, std::optional<DType> dtype,
                    std::optional<Layout> layout, std::optional<Device> device,
                    std::optional<bool> pin_memory) {
  return taeda::arange(start, end, Scalar(1), dtype, layout, device, pin_memory);
}
Tensor arange_start_step(const Scalar& start, const Scalar& end, const Scalar& step,
                         std::optional<DType> dtype, std::optional<Layout> layout,
                         std::optional<Device> device, std::optional<bool> pin_memory) {
  const bool is_integral_range = is_whole(start) && is_whole(end) && is_whole(step);
  const DType type = dtype.value_or(is_integral_range ? DType::Int64 : default_dtype());
  if (is_integral_range && (start.is_symbolic() || end.is_symbolic() || step.is_symbolic())) {
    const SymInt length = symbolic_range_length(to_symint(start), to_symint(end), to_symint(step));
    Tensor out = taeda::empty({length}, type, layout, device, pin_memory);
    return taeda::_fill_range_(out, start, step);
  }
  Tensor out = taeda::empty({SymInt(0)}, type, layout, device, pin_memory);
  return taeda::arange_out(out, start, end, step);
}
Tensor& arange_start_out(const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  const DType type = out.dtype();
  TAEDA_CHECK_NOT_IMPLEMENTED(!is_complex(type) && type != DType::Bool, "\"",
                              kernel_name("arange", out.device()), "\" not implemented for '", type,
                              "'");
  const Scalar s = stored_as(start, type), d = stored_as(step, type);
  // An int64 range is counted in integers whatever the numbers are.
  const bool is_long = type == DType::Int64;
  TAEDA_CHECK_VALUE(!is_long || d.to_int() != 0 || step.to_double() == 0, "step must be nonzero");
  const Scalar from = is_long ? s : start, to = is_long ? stored_as(end, type) : end,
               by = is_long ? d : step;
  const int64_t length = range_length(from, to, by, is_whole(from) && is_whole(to) && is_whole(by));
  if (out.numel() != length) resize_output(out, {SymInt(length)});
  check_no_internal_overlap(out);
  return taeda::_fill_range_(out, s, d);
}

Tensor& _fill_range__meta(Tensor& self, const Scalar&, const Scalar&) { return self; }
Tensor& _fill_spaced__meta(Tensor& self, const Scalar&, const Scalar&, std::optional<double>) {
  return self;
}

namespace {

Tensor spaced(const Scalar& start, const Scalar& end, int64_t steps, std::optional<double> base,
              std::optional<DType> dtype, std::optional<Layout> layout,
              std::optional<Device> device, std::optional<bool> pin_memory) {
  TAEDA_CHECK(steps >= 0, "number of steps must be non-negative");
  const bool has_complex = start.is_complex() || end.is_complex();
  const DType type = dtype.value_or(has_complex ? default_complex_dtype() : default_dtype());
  TAEDA_CHECK(!has_complex || is_complex(type), base ? "logspace" : "linspace",
              "(): inferred dtype ", default_complex_dtype(),
              " can't be safely cast to passed dtype ", type);
  Tensor out = taeda::empty({SymInt(steps)}, type, layout, device, pin_memory);
  return taeda::_fill_spaced_(out, start, end, base);
}

Tensor& spaced_out(const Scalar& start, const Scalar& end, int64_t steps,
                   std::optional<double> base, Tensor& out) {
  TAEDA_CHECK(steps >= 0, "number of steps must be non-negative");
  if (out.numel() != steps) resize_output(out, {SymInt(steps)});
  check_no_internal_overlap(out);
  return taeda::_fill_spaced_(out, start, end, base);
}

// Where the result lies: an end without values leaves it without memory.
std::optional<Device> spaced_device(std::optional<Device> device, const Tensor& end) {
  return device || !end.is_meta() ? device : end.device();
}

// One end of a range, given as a tensor.
Scalar number_in(const Tensor& t, const char* name) {
  TAEDA_CHECK(t.dim() == 0, name,
              " only supports 0-dimensional start and end tensors, but got start with ", t.dim(),
              " dimension(s) and end with 0 dimension(s).");
  // Without values the result's shape is still known.
  if (t.is_meta()) return t.is_complex() ? Scalar(Complex<double>(0)) : Scalar(0.0);
  return read_scalar(dispatch::plain_value(t));
}

}  // namespace

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, std::optional<DType> dtype,
                std::optional<Layout> layout, std::optional<Device> device,
                std::optional<bool> pin_memory) {
  return spaced(start, end, steps, {}, dtype, layout, device, pin_memory);
}
Tensor& linspace_out(const Scalar& start, const Scalar& end, int64_t steps, Tensor& out) {
  return spaced_out(start, end, steps, {}, out);
}
Tensor linspace_Tensor_Tensor(const Tensor& start, const Tensor& end, int64_t steps,
                              std::optional<DType> dtype, std::optional<Layout> layout,
                              std::optional<Device> device, std::optional<bool> pin_memory) {
  return spaced(number_in(start, "linspace"), number_in(end, "linspace"), steps, {}, dtype, layout,
                spaced_device(spaced_device(device, start), end), pin_memory);
}
Tensor linspace_Tensor_Scalar(const Tensor& start, const Scalar& end, int64_t steps,
                              std::optional<DType> dtype, std::optional<Layout> layout,
                              std::optional<Device> device, std::optional<bool> pin_memory) {
  return spaced(number_in(start, "linspace"), end, steps, {}, dtype, layout,
                spaced_device(device, start), pin_memory);
}
Tensor linspace_Scalar_Tensor(const Scalar& start, const Tensor& end, int64_t steps,
                              std::optional<DType> dtype, std::optional<Layout> layout,
                              std::optional<Device> device, std::optional<bool> pin_memory) {
  return spaced(start, number_in(end, "linspace"), steps, {}, dtype, layout,
                spaced_device(device, end), pin_memory);
}
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base,
                std::optional<DType> dtype, std::optional<Layout> layout,
                std::optional<Device> device, std::optional<bool> pin_memory) {
  return spaced(start, end, steps, base, dtype, layout, device, pin_memory);
}
Tensor& logspace_out(const Scalar& start, const Scalar& end, int64_t steps, double base,
                     Tensor& out) {
  return spaced_out(start, end, steps, base, out);
}
Tensor logspace_Tensor_Tensor(const Tensor& start, const Tensor& end, int64_t steps, double base,
                              std::optional<DType> dtype, std::optional<Layout> layout,
                              std::optional<Device> device, std::optional<bool> pin_memory) {
  return spaced(number_in(start, "logspace"), number_in(end, "logspace"), steps, base, dtype,
                layout, spaced_device(spaced_device(device, start), end), pin_memory);
}
Tensor logspace_Tensor_Scalar(const Tensor& start, const Scalar& end, int64_t steps, double base,
                              std::optional<DType> dtype, std::optional<Layout> layout,
                              std::optional<Device> device, std::optional<bool> pin_memory) {
  return spaced(number_in(start, "logspace"), end, steps, base, dtype, layout,
                spaced_device(device, start), pin_memory);
}
Tensor logspace_Scalar_Tensor(const Scalar& start, const Tensor& end, int64_t steps, double base,
                              std::optional<DType> dtype, std::optional<Layout> layout,
                              std::optional<Device> device, std::optional<bool> pin_memory) {
  return spaced(start, number_in(end, "logspace"), steps, base, dtype, layout,
                spaced_device(device, end), pin_memory);
}

}  // namespace taeda::impl
