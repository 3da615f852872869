// Prints tensors as PyTorch's C++ library does.
#include "taeda/ops/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "taeda/ops/functions.h"

namespace taeda {
namespace {

// How the elements of one tensor are written: all with the same width and notation.
struct Format {
  double scale = 1;
  int width = 1;
  int precision = 0;
  enum class Notation : uint8_t { Whole, Fixed, Scientific } notation = Notation::Whole;

  std::string text(double v) const {
    std::ostringstream out;
    if (notation == Notation::Fixed) out << std::fixed << std::setprecision(precision);
    if (notation == Notation::Scientific) out << std::scientific << std::setprecision(precision);
    out << std::setw(width) << v / scale;
    return out.str();
  }
};

int decimal_places(double v) {
  return v == 0 ? 1 : static_cast<int>(std::floor(std::log10(v))) + 1;
}

Format format_of(const double* values, int64_t count) {
  double least = INFINITY, most = 0;
  bool is_whole = true, is_any_finite = false;
  for (int64_t i = 0; i < count; ++i) {
    const double v = std::fabs(values[i]);
    if (!std::isfinite(v)) continue;
    is_any_finite = true;
    is_whole &= v == std::ceil(v);
    least = std::min(least, v);
    most = std::max(most, v);
  }
  const int lowest = is_any_finite ? decimal_places(least) : 1;
  const int highest = is_any_finite ? decimal_places(most) : 1;
  using N = Format::Notation;
  if (is_whole) {
    if (highest > 9) return {1, 11, 4, N::Scientific};
    return {1, highest + 1, 0, N::Whole};
  }
  if (highest - lowest > 4) {
    const bool is_wide = std::abs(highest) > 99 || std::abs(lowest) > 99;
    return {1, is_wide ? 12 : 11, 4, N::Scientific};
  }
  if (highest > 5 || highest < 0) return {std::pow(10, highest - 1), 7, 4, N::Fixed};
  return {1, highest == 0 ? 7 : highest + 6, 4, N::Fixed};
}

// The fewest digits that tell the number from all others; an exponent below 1e-4 and from 1e16 on.
std::string shortest(double v) {
  const double size = std::fabs(v);
  const bool is_plain = !std::isfinite(v) || v == 0 || (size >= 1e-4 && size < 1e16);
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof(text), v,
                    is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  return std::string(text, end.ptr);
}

void print_scale(std::ostream& out, double scale) { out << shortest(scale) << " *\n"; }

// Rows of `rows` x `columns`, as many columns at a time as the line holds. The margin stands before
// every row but the first, one wider under a scale, and after what is printed before the rows:
// PyTorch's form.
void print_matrix(std::ostream& out, const double* values, int64_t rows, int64_t columns,
                  int64_t line_width, int indent) {
  const Format format = format_of(values, rows * columns);
  const bool is_scaled = format.scale != 1;
  const std::string margin(static_cast<size_t>(indent), ' ');
  const int64_t at_a_time = std::max<int64_t>(1, (line_width - indent) / (format.width + 1));
  for (int64_t first = 0; first < columns; first += at_a_time) {
    const int64_t last = std::min(first + at_a_time, columns) - 1;
    if (at_a_time < columns)
      out << (first ? "\n" : "") << "Columns " << first + 1 << " to " << last + 1 << margin;
    if (is_scaled) {
      print_scale(out, format.scale);
      out << margin;
    }
    for (int64_t row = 0; row < rows; ++row) {
      if (row != 0) out << (is_scaled ? " " : "") << margin;
      for (int64_t c = first; c <= last; ++c)
        out << format.text(values[row * columns + c]) << (c == last ? "\n" : " ");
    }
  }
}

// Each matrix of the last two dimensions under its index, (1,.,.) =, the first index fastest.
void print_matrices(std::ostream& out, const double* values, IntList sizes, int64_t line_width) {
  const size_t ndim = sizes.size() - 2;
  const int64_t rows = sizes[ndim], columns = sizes[ndim + 1];
  std::vector<int64_t> index(ndim, 0);
  int64_t count = 1;
  for (size_t d = 0; d < ndim; ++d) count *= sizes[d];
  for (int64_t i = 0; i < count; ++i) {
    out << (i ? "\n(" : "(");
    int64_t at = 0;
    for (size_t d = 0; d < ndim; ++d) {
      out << index[d] + 1 << ',';
      at = at * sizes[d] + index[d];
    }
    out << ".,.) = \n";
    print_matrix(out, values + at * rows * columns, rows, columns, line_width, 1);
    for (size_t d = 0; d < ndim && ++index[d] == sizes[d]; ++d) index[d] = 0;
  }
}

void print_type(std::ostream& out, const Tensor& t) {
  // PyTorch names the CPU: tensors elsewhere say where.
  const bool is_elsewhere = !t.device().is_cpu();
  out << "[ " << t.toString() << '{';
  for (int64_t d = 0; d < t.dim(); ++d) out << (d ? "," : "") << t.size(d);
  out << '}';
  if (is_elsewhere && t.device().has_index()) out << " (" << t.device().text() << ")";
  out << " ]";
}

// "float", "int64_t", "::taeda::Half".
const char* cpp_type_name(DType t) {
#define TAEDA_NAME(name, type, text, long_name) #type,
  constexpr const char* names[] = {TAEDA_FOR_EACH_DTYPE(TAEDA_NAME)};
#undef TAEDA_NAME
  return t == DType::Undefined ? "undefined" : names[static_cast<int>(t)];
}

void print_values(std::ostream& out, const Tensor& t, int64_t line_width) {
  // PyTorch names the CPU: numbers are printed from there.
  const Tensor values = t.detach().to(Device(DeviceType::CPU), DType::Double).contiguous();
  const double* p = values.data<double>();
  if (t.dim() == 0) {
    out << shortest(*p) << '\n';
  } else if (t.numel() == 0) {
    return;
  } else if (t.dim() == 1) {
    const Format format = format_of(p, t.numel());
    if (format.scale != 1) print_scale(out, format.scale);
    for (int64_t i = 0; i < t.numel(); ++i) out << format.text(p[i]) << '\n';
  } else if (t.dim() == 2) {
    print_matrix(out, p, t.size(0), t.size(1), line_width, 0);
  } else {
    print_matrices(out, p, t.sizes(), line_width);
  }
}

}  // namespace

void print(std::ostream& out, const Tensor& t, int64_t line_width) {
  if (!t.defined()) {
    out << "[ Tensor (undefined) ]";
    return;
  }
  if (t.is_complex()) {
    out << "real part\n" << real(t.detach()) << "\nimaginary part\n" << imag(t.detach());
    return;
  }
  if (!t.is_meta()) print_values(out, t, line_width);
  print_type(out, t);
}

std::ostream& operator<<(std::ostream& out, Layout l) {
  constexpr const char* names[] = {"Strided",   "Sparse",    "SparseCsr", "SparseCsc",
                                   "SparseBsr", "SparseBsc", "Jagged"};
  return out << names[static_cast<int>(l)];
}

std::ostream& operator<<(std::ostream& out, MemoryFormat m) {
  constexpr const char* names[] = {"Contiguous", "Preserve", "ChannelsLast", "ChannelsLast3d"};
  return out << names[static_cast<int>(m)];
}

std::ostream& operator<<(std::ostream& out, const TensorOptions& options) {
  const auto part = [&](const char* name, const auto& value, bool is_set) {
    out << name << '=' << value << (is_set ? "" : " (default)") << ", ";
  };
  const auto word = [](bool value) { return value ? "true" : "false"; };
  out << "TensorOptions(";
  part("dtype", cpp_type_name(options.dtype()), options.has_dtype());
  part("device", options.device(), options.has_device());
  part("layout", options.layout(), options.has_layout());
  part("requires_grad", word(options.requires_grad()), options.has_requires_grad());
  part("pinned_memory", word(options.pinned_memory()), options.has_pinned_memory());
  out << "memory_format=";
  if (options.has_memory_format())
    out << *options.memory_format_opt();
  else
    out << "(nullopt)";
  return out << ')';
}

std::string Tensor::toString() const {
  if (!defined()) return "UndefinedType";
  // A device type without kernels has a name alone.
  const DeviceType type = device().type;
  const std::string backend =
      has_backend(type) ? slot_name(slot_of(Key::Dense, type)) : device_type_name(type);
  return str(backend, dtype_long_name(dtype()), "Type");
}

void Tensor::print() const {
  if (defined())
    std::cerr << '[' << toString() << ' ' << sizes() << "]\n";
  else
    std::cerr << "[UndefinedTensor]\n";
}

}  // namespace taeda
