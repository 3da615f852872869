// A number with its kind: bool, integer, float or complex; what a Python number becomes in a
// signature.
#pragma once

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
  constexpr Scalar(float v) : Scalar(static_cast<double>(v)) {}
  constexpr Scalar(double v) : kind_(Kind::Float), re_(v) {}
  constexpr Scalar(taeda::Complex<double> v) : kind_(Kind::Complex), re_(v.re), im_(v.im) {}
  Scalar(const SymInt& v) : Scalar(v.expect_int()) {}

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
    if (kind_ == Kind::Float || kind_ == Kind::Complex) {
      check_real();
      TAEDA_CHECK(re_ >= -9223372036854775808.0 && re_ < 9223372036854775808.0,
                  "value cannot be converted to type int64_t without overflow");
      return static_cast<int64_t>(re_);
    }
    return int_;
  }
  double to_double() const {
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
  Scalar conj() const {
    return kind_ == Kind::Complex ? Scalar(taeda::Complex<double>(re_, -im_)) : *this;
  }
  Scalar operator-() const {
    switch (kind_) {
      case Kind::Float: return Scalar(-re_);
      case Kind::Complex: return Scalar(taeda::Complex<double>(-re_, -im_));
      default: return Scalar(static_cast<int64_t>(-static_cast<uint64_t>(int_)));
    }
  }
  bool equals(double v) const {
    return kind_ == Kind::Complex ? re_ == v && im_ == 0 : to_double() == v;
  }
  friend bool operator==(const Scalar& a, const Scalar& b) {
    if (a.is_complex() || b.is_complex()) return a.to_complex() == b.to_complex();
    if (a.is_floating() || b.is_floating()) return a.to_double() == b.to_double();
    return a.int_ == b.int_;
  }

 private:
  void check_real() const {
    TAEDA_CHECK(im_ == 0, "value cannot be converted to type double without overflow");
  }
  Kind kind_;
  union {
    int64_t int_;
    double re_;
  };
  double im_ = 0;
};

inline void append(std::string& out, const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool: append(out, s.to_bool()); break;
    case Scalar::Kind::Float: append(out, s.to_double()); break;
    case Scalar::Kind::Complex:
      out += str("(", s.to_complex().re, "+", s.to_complex().im, "j)");
      break;
    default: append(out, s.to_int());
  }
}

}  // namespace taeda
