// Reads sample calls.
//
// Note [Sample texts]: arguments stand in schema order, separated by commas; those after `name=`
// by their name. Tensors: t(2,3) has distinct numbers of magnitude 0.2 to 0.9 and both signs,
// p(2,3) positive ones from 0.3 to 0.9, u(2,3; 1.2, 2.2) ones between two limits, m(2,3) truth
// values; r and c are t in the real or complex partner of the dtype. Integers are -9 to 9 without
// zero. v[1, -2], i[0, 2] and b[true] hold what they say, in the dtype under test, int64 and bool.
// A suffix .T exchanges the last two dimensions, .conj and .neg set those flags of a view, .float32
// and its like convert, whatever the dtype under test, .wide to the type that sums are held in:
// float for 16-bit numbers. .gram is a matrix times its adjoint plus the identity, which is
// positive definite, .tril the lower triangle. Beside them numbers, true, false, none, 'text',
// lists, dtypes (same, real, complex, float32, ...), seed(7) for a generator, and the names of
// layouts, memory formats and the device cpu.
#include "taeda/ops/samples.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "taeda/core/generator.h"
#include "taeda/dispatch/call_form.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/sample_numbers.h"

namespace taeda {
namespace {

using dispatch::Stack;
using dispatch::TypeRef;
using dispatch::Value;

uint64_t hash_of(std::string_view text, uint64_t hash = 0xcbf29ce484222325u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::optional<DType> dtype_by_name(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  return std::nullopt;
}

class Reader {
 public:
  Reader(const dispatch::Operator& op, std::string_view text, DType dtype)
      : op_(op), form_(dispatch::call_form(op)), text_(text), dtype_(dtype) {}

  Stack arguments() {
    Stack stack = form_.defaults;
    std::vector<bool> is_given(form_.arguments.size(), false);
    size_t next = 0;
    for (skip_spaces(); at_ < text_.size();) {
      const size_t i = named_argument().value_or(next++);
      check(i < form_.arguments.size(), "more arguments than the schema has");
      check(!is_given[i], "an argument twice");
      stack[i] = value(form_.arguments[i].type);
      is_given[i] = true;
      if (at_ < text_.size()) expect(',');
    }
    for (size_t i = 0; i < stack.size(); ++i)
      check(is_given[i] || form_.arguments[i].has_default, "no value for an argument");
    return stack;
  }
  bool is_held() const { return is_held_; }

 private:
  void check(bool is_right, const char* what) const {
    TAEDA_CHECK(is_right, "sample of ", op_.full_name(), ", column ", at_ + 1, " of `", text_,
                "`: ", what);
  }

  // ---- text ----
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_spaces();
    return true;
  }
  void expect(char c) {
    const char wanted[] = {'e', 'x', 'p', 'e', 'c', 't', 'e', 'd', ' ', c, '\0'};
    check(take(c), wanted);
  }
  std::string_view word() {
    const size_t start = at_;
    const auto is_part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  std::optional<size_t> named_argument() {
    const size_t start = at_;
    const std::string_view name = word();
    if (!name.empty() && take('='))
      for (size_t i = 0; i < form_.arguments.size(); ++i)
        if (form_.arguments[i].name == name) return i;
    at_ = start;
    return std::nullopt;
  }

  // ---- numbers ----
  // 2, -1.5, 1e-5, inf, nan, 2j, 1+2j, true; what was read is an integer if it looks like one.
  Scalar number() {
    const Scalar first = real_number();
    if (take('j')) return Scalar(Complex<double>(0, first.to_double()));
    const bool has_imaginary = at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-');
    if (!has_imaginary) return first;
    const Scalar second = real_number();
    expect('j');
    return Scalar(Complex<double>(first.to_double(), second.to_double()));
  }
  Scalar real_number() {
    const double sign = take('-') ? -1 : 1;
    take('+');
    const size_t start = at_;
    if (const std::string_view name = word(); !name.empty() && std::isalpha(name[0])) {
      if (name == "inf") return Scalar(sign * std::numeric_limits<double>::infinity());
      if (name == "nan") return Scalar(std::numeric_limits<double>::quiet_NaN());
      if (name == "true" || name == "false") return Scalar(name == "true");
    }
    at_ = start;
    double v = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    check(error == std::errc(), "expected a number");
    const std::string_view read = text_.substr(at_, static_cast<size_t>(end - text_.data()) - at_);
    at_ += read.size();
    if (read.find_first_not_of("0123456789") != std::string_view::npos) return Scalar(sign * v);
    int64_t integer = 0;
    std::from_chars(read.data(), end, integer);
    return Scalar(sign < 0 ? -integer : integer);
  }

  // ---- tensors ----
  IntVec sizes() {
    IntVec found;
    expect('(');
    while (at_ < text_.size() && text_[at_] != ')' && text_[at_] != ';') {
      found.push_back(real_number().to_int());
      if (!take(',')) break;
    }
    return found;
  }
  static Tensor gram(const Tensor& t) {
    if (is_integral(t.dtype(), true)) return gram(t.to(DType::Double)).to(t.dtype());
    // Numbers of a sample are the same everywhere, those of a product are not.
    const Tensor product = t.unsqueeze(-2).mul(t.conj().resolve_conj().unsqueeze(-3)).sum(-1);
    return product.add(taeda::eye(product.sym_size(-1), t.dtype()));
  }
  Tensor viewed(Tensor t) {
    while (take('.')) {
      const std::string_view view = word();
      const std::optional<DType> other = dtype_by_name(view);
      check(other || view == "T" || view == "conj" || view == "neg" || view == "wide" ||
                view == "gram" || view == "tril",
            "expected T, conj, neg, wide, gram, tril or a dtype");
      t = other            ? t.to(*other)
          : view == "wide" ? t.to(is_reduced_float(t.dtype()) ? DType::Float : t.dtype())
          : view == "T"    ? t.transpose(-2, -1)
          : view == "gram" ? gram(t)
          : view == "tril" ? t.tril()
          : view == "conj" ? t.conj()
                           : t._neg_view();
    }
    return t;
  }
  // Numbers of a tensor that depend on the operator, the text and the place in it alone.
  uint64_t seed() const {
    return hash_of(text_, hash_of(op_.full_name())) + 0x9E3779B97F4A7C15u * at_;
  }
  // v[...], i[...], b[...]: nested lists of numbers, or one number without brackets.
  Tensor literal(DType dtype) {
    skip_spaces();
    IntVec sizes;
    std::vector<Scalar> values;
    literal_items(0, sizes, values);
    // PyTorch names the CPU: the program's own numbers lie there.
    Tensor t =
        make_tensor(sizes, is_complex(dtype) ? DType::ComplexDouble : wide_type(dtype), Device());
    check(t.numel() == static_cast<int64_t>(values.size()), "rows of different lengths");
    for (size_t i = 0; i < values.size(); ++i) {
      is_held_ &= holds(dtype, values[i]);
      if (is_held_) write(t, i, values[i]);
    }
    return t.to(dtype);
  }
  static bool holds(DType dtype, const Scalar& v) {
    if (is_complex(dtype)) return true;
    if (v.is_complex()) return false;
    const double x = v.to_double();
    if (is_floating(dtype)) return true;
    if (dtype == DType::Bool) return x == 0 || x == 1;
    return std::isfinite(x) && x == std::trunc(x) && !(is_unsigned(dtype) && x < 0);
  }
  static DType wide_type(DType dtype) {
    return is_integral(dtype, true) ? DType::Int64 : DType::Double;
  }
  static void write(Tensor& t, size_t i, const Scalar& v) {
    if (t.dtype() == DType::ComplexDouble)
      t.data<Complex<double>>()[i] = v.to<Complex<double>>();
    else if (t.dtype() == DType::Double)
      t.data<double>()[i] = v.to_double();
    else
      t.data<int64_t>()[i] = v.to<int64_t>();
  }
  void literal_items(size_t depth, IntVec& sizes, std::vector<Scalar>& values) {
    if (!take('[')) return values.push_back(number());
    if (sizes.size() == depth) sizes.push_back(-1);
    int64_t count = 0;
    for (; !take(']'); ++count) {
      if (count) expect(',');
      literal_items(depth + 1, sizes, values);
    }
    check(sizes[depth] < 0 || sizes[depth] == count, "rows of different lengths");
    sizes[depth] = count;
  }

  Tensor tensor() {
    const uint64_t seeded = seed();
    const std::string_view kind = word();
    if (kind == "none") return {};
    if (kind == "v") return viewed(literal(dtype_));
    if (kind == "i") return viewed(literal(DType::Int64));
    if (kind == "b") return viewed(literal(DType::Bool));
    check(kind.size() == 1 && std::string_view("tpumrc").find(kind) != std::string_view::npos,
          "expected a tensor: t, p, u, m, r, c, v, i or b");
    const IntVec shape = sizes();
    SampleLimits limits{0.2, 0.9, true};
    if (kind == "p") limits = {0.3, 0.9, false};
    if (kind == "u") {
      expect(';');
      limits.low = real_number().to_double();
      expect(',');
      limits = {limits.low, real_number().to_double(), false};
    }
    expect(')');
    const DType dtype = kind == "m"   ? DType::Bool
                        : kind == "r" ? to_real(dtype_)
                        : kind == "c" ? to_complex(dtype_)
                                      : dtype_;
    return viewed(sample_tensor(seeded, shape, limits, dtype));
  }

  // ---- by the schema's types ----
  Value value(const TypeRef& type) {
    skip_spaces();
    if (type.is_list && at_ < text_.size() && text_[at_] == '[') return list(type);
    if (type.is_list && !is_none()) return repeated(type);
    return item(type);
  }
  bool is_none() {
    const size_t start = at_;
    const bool is = word() == "none";
    at_ = start;
    return is;
  }
  Value item(const TypeRef& type) {
    if (type.base == "Tensor") {
      Tensor t = tensor();
      return t.defined() ? Value(std::move(t)) : Value();
    }
    if (is_none()) {
      word();
      return Value();
    }
    if (type.base == "str") return quoted();
    if (type.base == "Generator") return generator();
    if (type.base == "ScalarType") return named_dtype();
    if (type.base == "Layout" || type.base == "MemoryFormat" || type.base == "Device")
      return place(type.base);
    const Scalar s = number();
    if (type.base == "bool") return Value(s.to_bool());
    if (type.base == "float") return Value(s.to_double());
    if (type.base == "SymInt") return Value(SymInt(s.to_int()));
    if (type.base == "int") return Value(s.to_int());
    return Value(s);
  }
  template <class T, class F>
  Value list_of(F&& read) {
    std::vector<T> found;
    expect('[');
    while (!take(']')) {
      if (!found.empty()) expect(',');
      found.push_back(read());
    }
    return Value(std::move(found));
  }
  Value list(const TypeRef& type) {
    if (type.base.starts_with("Tensor")) return list_of<Tensor>([&] { return tensor(); });
    if (type.base == "SymInt")
      return list_of<SymInt>([&] { return SymInt(real_number().to_int()); });
    if (type.base == "int") return list_of<int64_t>([&] { return real_number().to_int(); });
    if (type.base == "float" || type.base == "Scalar")
      return list_of<double>([&] { return real_number().to_double(); });
    if (type.base == "bool") return list_of<bool>([&] { return real_number().to_bool(); });
    check(false, "lists of this type have no text");
    return Value();
  }
  // int[2] given as one number.
  Value repeated(const TypeRef& type) {
    const auto count = static_cast<size_t>(std::max(type.list_size, 1));
    const int64_t n = real_number().to_int();
    if (type.base == "SymInt") return Value(std::vector<SymInt>(count, SymInt(n)));
    return Value(std::vector<int64_t>(count, n));
  }
  Value quoted() {
    expect('\'');
    const size_t end = text_.find('\'', at_);
    check(end != std::string_view::npos, "a text without its end");
    std::string found(text_.substr(at_, end - at_));
    at_ = end + 1;
    skip_spaces();
    return Value(std::move(found));
  }
  Value generator() {
    check(word() == "seed", "expected seed(...)");
    expect('(');
    // PyTorch names the CPU: a generator without a device is its own.
    Generator g(Device(), static_cast<uint64_t>(real_number().to_int()));
    expect(')');
    return Value(std::move(g));
  }
  Value named_dtype() {
    const std::string_view name = word();
    if (name == "same") return Value(dtype_);
    if (name == "real") return Value(to_real(dtype_));
    if (name == "complex") return Value(to_complex(dtype_));
    const std::optional<DType> found = dtype_by_name(name);
    check(found.has_value(), "no such dtype");
    return Value(*found);
  }
  Value place(const std::string& base) {
    const std::string_view name = word();
    if (base == "Device") return Value(Device::parse(name));
    if (base == "Layout" && name == "strided") return Value(Layout::Strided);
    if (name == "contiguous_format") return Value(MemoryFormat::Contiguous);
    if (name == "preserve_format") return Value(MemoryFormat::Preserve);
    if (name == "channels_last") return Value(MemoryFormat::ChannelsLast);
    check(false, "no such layout, memory format or device");
    return Value();
  }

  const dispatch::Operator& op_;
  const dispatch::CallForm& form_;
  std::string_view text_;
  DType dtype_;
  size_t at_ = 0;
  bool is_held_ = true;  // every number so far by the dtype under test
};

char class_letter(DType t) {
  if (t == DType::Bool) return 'b';
  return is_complex(t) ? 'c' : is_floating(t) ? 'f' : 'i';
}

}  // namespace

bool OperatorSamples::takes(DType dtype) const {
  return std::string_view(accept).find(class_letter(dtype)) != std::string_view::npos;
}

std::optional<Stack> read_sample(const dispatch::Operator& op, std::string_view text, DType dtype) {
  const BelowADInplaceOrView guard;
  Reader reader(op, text, dtype);
  Stack arguments = reader.arguments();
  return reader.is_held() ? std::optional(std::move(arguments)) : std::nullopt;
}

}  // namespace taeda
