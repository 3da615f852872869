// A number with its kind: bool, integer, float or complex; the form of a Python number in a
// signature. One whose value is symbolic has a node; reading the value specializes.
#pragma once

#include <utility>

#include <limits>

#include "taeda/core/dtype.h"
#include "taeda/core/symint.h"

namespace taeda {

class Scalar {
 public:
  enum class Kind : uint8_t { Bool, Int, UInt, Float, Complex };

  constexpr Scalar() : Scalar(int64_t{0}) {}
  constexpr Scalar(bool v) : kind_(Kind::Bool), int_(v) {}
  constexpr Scalar(int v) : kind_(Kind::Int), int_(v) {}
  constexpr Scalar(int64_t v) : kind_(Kind::Int), int_(v) {}
  constexpr Scalar(uint64_t v)
      : kind_(v >> 63 ? Kind::UInt : Kind::Int), int_(static_cast<int64_t>(v)) {}
  constexpr Scalar(long long v) : Scalar(static_cast<int64_t>(v)) {}
  constexpr Scalar(unsigned long long v) : Scalar(static_cast<uint64_t>(v)) {}
  constexpr Scalar(unsigned v) : Scalar(static_cast<int64_t>(v)) {}
  constexpr Scalar(float v) : Scalar(static_cast<double>(v)) {}
  constexpr Scalar(double v) : kind_(Kind::Float), re_(v) {}
  constexpr Scalar(Half v) : Scalar(static_cast<float>(v)) {}
  constexpr Scalar(BFloat16 v) : Scalar(static_cast<float>(v)) {}
  constexpr Scalar(taeda::Complex<double> v) : kind_(Kind::Complex), re_(v.re), im_(v.im) {}
  constexpr Scalar(taeda::Complex<float> v) : kind_(Kind::Complex), re_(v.re), im_(v.im) {}
  Scalar(const SymInt& v)
      : Scalar(v.is_symbolic() ? Scalar(IntrusivePtr<SymNode>::share(v.node()))
                               : Scalar(v.word())) {}
  explicit Scalar(IntrusivePtr<SymNode> node)
      : kind_(node->kind() == SymKind::Bool  ? Kind::Bool
              : node->kind() == SymKind::Int ? Kind::Int
                                             : Kind::Float),
        is_symbolic_(true),
        int_(0),
        node_(node.detach()) {}
  constexpr Scalar(const Scalar& o) : kind_(o.kind_), is_symbolic_(o.is_symbolic_) {
    take_bits(o);
    if (is_symbolic_) node_->retain();
  }
  constexpr Scalar(Scalar&& o) noexcept : kind_(o.kind_), is_symbolic_(o.is_symbolic_) {
    take_bits(o);
    o.is_symbolic_ = false;
  }
  constexpr Scalar& operator=(const Scalar& o) {
    if (o.is_symbolic_) o.node_->retain();
    if (is_symbolic_) release_node();
    kind_ = o.kind_;
    is_symbolic_ = o.is_symbolic_;
    take_bits(o);
    return *this;
  }
  constexpr ~Scalar() {
    if (is_symbolic_) release_node();
  }

  // ---- names of PyTorch's C++ interface ----
  bool isFloatingPoint() const { return is_floating(); }
  bool isIntegral(bool include_bool) const { return is_integral() || (include_bool && is_bool()); }
  bool isComplex() const { return is_complex(); }
  bool isBoolean() const { return is_bool(); }
  DType type() const { return dtype(); }
  double toDouble() const { return to_double(); }
  float toFloat() const { return static_cast<float>(to_double()); }
  int64_t toLong() const { return to_int(); }
  int toInt() const { return static_cast<int>(to_int()); }
  bool toBool() const { return to_bool(); }
  Half toHalf() const { return Half(toFloat()); }
  BFloat16 toBFloat16() const { return BFloat16(toFloat()); }
  taeda::Complex<double> toComplexDouble() const { return to_complex(); }
  taeda::Complex<float> toComplexFloat() const { return to<taeda::Complex<float>>(); }
  bool isSymbolic() const { return is_symbolic(); }
  // A truth value equals no number.
  template <class T>
  bool equal(T number) const {
    return is_bool() == std::is_same_v<T, bool> && *this == Scalar(number);
  }

  bool is_symbolic() const { return is_symbolic_; }
  SymNode* node() const { return is_symbolic_ ? node_ : nullptr; }
  Kind kind() const { return kind_; }
  bool is_complex() const { return kind_ == Kind::Complex; }
  bool is_floating() const { return kind_ == Kind::Float; }
  bool is_bool() const { return kind_ == Kind::Bool; }
  bool is_integral() const { return kind_ == Kind::Int || kind_ == Kind::UInt; }
  // The dtype a wrapped number of this kind has.
  DType dtype() const {
    switch (kind_) {
      case Kind::Bool: return DType::Bool;
      case Kind::Int: return DType::Int64;
      case Kind::UInt: return DType::UInt64;
      case Kind::Float: return DType::Double;
      default: return DType::ComplexDouble;
    }
  }
  int64_t to_int() const {
    if (__builtin_expect(is_symbolic_, 0)) return specialized().to_int();
    if (kind_ == Kind::Float || kind_ == Kind::Complex) {
      check_real();
      TAEDA_CHECK(re_ >= -9223372036854775808.0 && re_ < 9223372036854775808.0,
                  "value cannot be converted to type int64_t without overflow");
      return static_cast<int64_t>(re_);
    }
    return int_;
  }
  double to_double() const {
    if (__builtin_expect(is_symbolic_, 0)) return specialized().to_double();
    switch (kind_) {
      case Kind::Float: return re_;
      case Kind::Complex: check_real(); return re_;
      case Kind::UInt: return static_cast<double>(static_cast<uint64_t>(int_));
      default: return static_cast<double>(int_);
    }
  }
  taeda::Complex<double> to_complex() const {
    return kind_ == Kind::Complex ? taeda::Complex<double>(re_, im_)
                                  : taeda::Complex<double>(to_double());
  }
  bool to_bool() const {
    if (__builtin_expect(is_symbolic_, 0)) return specialized().to_bool();
    return kind_ == Kind::Complex ? re_ != 0 || im_ != 0
           : kind_ == Kind::Float ? re_ != 0
                                  : int_ != 0;
  }
  // Converts as a store into memory of type T does.
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>)
      return to_bool();
    else if constexpr (std::is_same_v<T, taeda::Complex<float>> ||
                       std::is_same_v<T, taeda::Complex<double>>)
      return T(to_complex());
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(kind_ == Kind::UInt ? int_ : to_int());
    else
      return static_cast<T>(
          static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(to_double()));
  }
  // The same; RuntimeError where an integer does not fit.
  template <class T>
  T checked() const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const bool is_wide = kind_ == Kind::UInt;
      const int64_t v = is_wide ? int_ : to_int();
      const bool fits = is_wide ? std::is_same_v<T, uint64_t> : std::in_range<T>(v);
      TAEDA_CHECK(fits, "value cannot be converted to type ", std::is_signed_v<T> ? "" : "u", "int",
                  8 * sizeof(T), "_t without overflow");
    }
    return to<T>();
  }
  Scalar conj() const {
    return kind_ == Kind::Complex ? Scalar(taeda::Complex<double>(re_, -im_)) : *this;
  }
  Scalar operator-() const {
    if (__builtin_expect(is_symbolic_, 0)) return negated();
    switch (kind_) {
      case Kind::Float: return Scalar(-re_);
      case Kind::Complex: return Scalar(taeda::Complex<double>(-re_, -im_));
      default: return Scalar(static_cast<int64_t>(-static_cast<uint64_t>(int_)));
    }
  }
  // The square root of a real number, and one over it: floats.
  TAEDA_API Scalar root() const;
  TAEDA_API Scalar reciprocal() const;
  bool equals(double v) const {
    return kind_ == Kind::Complex ? re_ == v && im_ == 0 : to_double() == v;
  }
  friend bool operator==(const Scalar& a, const Scalar& b) {
    if (a.is_complex() || b.is_complex()) return a.to_complex() == b.to_complex();
    if (a.is_floating() || b.is_floating()) return a.to_double() == b.to_double();
    if (a.is_symbolic_ || b.is_symbolic_) return a.to_int() == b.to_int();
    return a.int_ == b.int_;
  }

 private:
  void check_real() const {
    TAEDA_CHECK(im_ == 0, "value cannot be converted to type double without overflow");
  }
  constexpr void take_bits(const Scalar& o) {
    if (o.kind_ == Kind::Float || o.kind_ == Kind::Complex)
      re_ = o.is_symbolic_ ? 0 : o.re_;
    else
      int_ = o.int_;
    if (is_symbolic_)
      node_ = o.node_;
    else
      im_ = o.im_;
  }
  TAEDA_API void release_node() const;
  // The number it stands for, guarded on.
  TAEDA_API Scalar specialized() const;
  TAEDA_API Scalar negated() const;

  Kind kind_;
  bool is_symbolic_ = false;
  union {
    int64_t int_;
    double re_;
  };
  union {
    double im_ = 0;
    SymNode* node_;
  };
};

TAEDA_API void append(std::string& out, const Scalar& s);

}  // namespace taeda
