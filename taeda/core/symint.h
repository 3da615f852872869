// SymInt: an integer of a shape, plain or symbolic, in one 64-bit word.
//
// Plain values in [-2^62, 2^63) are stored as themselves, so an array of plain SymInts is an array
// of int64 (Note [SymInt layout]); a word whose top two bits are 10 is a tagged pointer to a
// SymNode.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "taeda/base/error.h"
#include "taeda/base/intrusive_ptr.h"
#include "taeda/base/small_vector.h"
#include "taeda/base/span.h"

namespace taeda {

enum class SymOp : uint8_t { Add, Sub, Mul, FloorDiv, Mod, Min, Max, Eq, Ne, Lt, Le, Gt, Ge };
enum class SymKind : uint8_t { Bool, Int, Float };

// A symbolic expression, of an integer unless it says otherwise; implemented by the shape
// environment of the graph layer.
class TAEDA_API SymNode : public RefCounted {
 public:
  virtual SymKind kind() const { return SymKind::Int; }
  virtual IntrusivePtr<SymNode> binary(SymOp op, int64_t word_of_other, bool is_self_left) = 0;
  // Specializes: records the guard and returns the value it holds under.
  virtual int64_t guard_int(const char* file, int line) = 0;
  virtual bool guard_bool(SymOp op, int64_t word_of_other, bool is_self_left) = 0;
  // The square root, and one over the number, as floats; null of a node that is no expression.
  virtual IntrusivePtr<SymNode> root() { return {}; }
  virtual IntrusivePtr<SymNode> reciprocal() { return {}; }
  // States that a truth value holds: false where it does not, checked by a run where only data
  // tells.
  virtual bool expect_true() { return guard_truth(__FILE__, __LINE__); }
  // The same as guard_int for a float or a truth value.
  virtual double guard_float(const char* file, int line) = 0;
  virtual bool guard_truth(const char* file, int line) = 0;
  virtual std::string text() const = 0;
};

class SymInt {
 public:
  constexpr SymInt() = default;
  constexpr SymInt(int64_t value) : word_(value) {
    if (is_pointer(value)) overflow(value);
  }
  constexpr SymInt(int value) : word_(value) {}
  constexpr SymInt(size_t value) : SymInt(static_cast<int64_t>(value)) {}
  constexpr SymInt(long long value) : SymInt(static_cast<int64_t>(value)) {}
  constexpr SymInt(unsigned value) : SymInt(static_cast<int64_t>(value)) {}
  explicit SymInt(IntrusivePtr<SymNode> node)
      : word_(static_cast<int64_t>((reinterpret_cast<uint64_t>(node.detach()) & ~(3ULL << 62)) |
                                   (1ULL << 63))) {}
  SymInt(const SymInt& o) : word_(o.word_) {
    if (is_symbolic()) node()->retain();
  }
  SymInt(SymInt&& o) noexcept : word_(o.word_) { o.word_ = 0; }
  SymInt& operator=(SymInt o) noexcept {
    std::swap(word_, o.word_);
    return *this;
  }
  constexpr ~SymInt() {
    if (is_symbolic()) release_node(word_);
  }

  constexpr bool is_symbolic() const { return is_pointer(word_); }
  SymNode* node() const {
    return reinterpret_cast<SymNode*>(static_cast<uint64_t>(word_) & ~(3ULL << 62));
  }
  // The value of a plain integer; a symbolic one is guarded on (specialized).
  int64_t expect_int(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return is_symbolic() ? node()->guard_int(file, line) : word_;
  }
  int64_t word() const { return word_; }

  friend SymInt operator+(const SymInt& a, const SymInt& b) { return apply(SymOp::Add, a, b); }
  friend SymInt operator-(const SymInt& a, const SymInt& b) { return apply(SymOp::Sub, a, b); }
  friend SymInt operator*(const SymInt& a, const SymInt& b) { return apply(SymOp::Mul, a, b); }
  // Python's floor division and modulo.
  friend SymInt operator/(const SymInt& a, const SymInt& b) { return apply(SymOp::FloorDiv, a, b); }
  friend SymInt operator%(const SymInt& a, const SymInt& b) { return apply(SymOp::Mod, a, b); }
  friend SymInt operator-(const SymInt& a) { return SymInt(0) - a; }
  SymInt& operator+=(const SymInt& b) { return *this = *this + b; }
  SymInt& operator*=(const SymInt& b) { return *this = *this * b; }
  friend bool operator==(const SymInt& a, const SymInt& b) { return test(SymOp::Eq, a, b); }
  friend bool operator!=(const SymInt& a, const SymInt& b) { return test(SymOp::Ne, a, b); }
  friend bool operator<(const SymInt& a, const SymInt& b) { return test(SymOp::Lt, a, b); }
  friend bool operator<=(const SymInt& a, const SymInt& b) { return test(SymOp::Le, a, b); }
  friend bool operator>(const SymInt& a, const SymInt& b) { return test(SymOp::Gt, a, b); }
  friend bool operator>=(const SymInt& a, const SymInt& b) { return test(SymOp::Ge, a, b); }
  friend SymInt sym_min(const SymInt& a, const SymInt& b) { return apply(SymOp::Min, a, b); }
  friend SymInt sym_max(const SymInt& a, const SymInt& b) { return apply(SymOp::Max, a, b); }

 private:
  static constexpr bool is_pointer(int64_t word) { return static_cast<uint64_t>(word) >> 62 == 2; }
  [[noreturn]] TAEDA_API static void overflow(int64_t value);
  TAEDA_API static void release_node(int64_t word);
  TAEDA_API static SymInt apply_symbolic(SymOp op, const SymInt& a, const SymInt& b);
  TAEDA_API static bool test_symbolic(SymOp op, const SymInt& a, const SymInt& b);
  static int64_t floor_div(int64_t a, int64_t b) {
    TAEDA_CHECK_KIND(ErrorKind::ZeroDivision, b != 0, "integer division or modulo by zero");
    return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
  }
  static SymInt apply(SymOp op, const SymInt& a, const SymInt& b) {
    if (__builtin_expect(a.is_symbolic() || b.is_symbolic(), 0)) return apply_symbolic(op, a, b);
    int64_t r = 0;
    switch (op) {
      case SymOp::Add:
        if (__builtin_add_overflow(a.word_, b.word_, &r)) overflow(a.word_);
        break;
      case SymOp::Sub:
        if (__builtin_sub_overflow(a.word_, b.word_, &r)) overflow(a.word_);
        break;
      case SymOp::Mul:
        if (__builtin_mul_overflow(a.word_, b.word_, &r)) overflow(a.word_);
        break;
      case SymOp::FloorDiv: r = floor_div(a.word_, b.word_); break;
      case SymOp::Mod: r = a.word_ - floor_div(a.word_, b.word_) * b.word_; break;
      case SymOp::Min: r = a.word_ < b.word_ ? a.word_ : b.word_; break;
      default: r = a.word_ > b.word_ ? a.word_ : b.word_; break;
    }
    return SymInt(r);
  }
  static bool test(SymOp op, const SymInt& a, const SymInt& b) {
    if (__builtin_expect(a.is_symbolic() || b.is_symbolic(), 0)) return test_symbolic(op, a, b);
    switch (op) {
      case SymOp::Eq: return a.word_ == b.word_;
      case SymOp::Ne: return a.word_ != b.word_;
      case SymOp::Lt: return a.word_ < b.word_;
      case SymOp::Le: return a.word_ <= b.word_;
      case SymOp::Gt: return a.word_ > b.word_;
      default: return a.word_ >= b.word_;
    }
  }

  int64_t word_ = 0;
};
static_assert(sizeof(SymInt) == 8);

// Note [SymInt layout]: a list of plain integers is a list of SymInts.
template <>
struct SpanAlias<SymInt> {
  using type = int64_t;
};

using IntList = Span<int64_t>;
using SymIntList = Span<SymInt>;
using IntVec = SmallVector<int64_t, 6>;
using SymIntVec = SmallVector<SymInt, 6>;

TAEDA_API void append(std::string& out, const SymInt& v);
extern template TAEDA_API void append(std::string& out, Span<int64_t> values);
extern template TAEDA_API void append(std::string& out, Span<SymInt> values);

inline bool has_symbolic(SymIntList values) {
  for (const SymInt& v : values)
    if (v.is_symbolic()) return true;
  return false;
}
// A number that may stand for a list of one size.
template <class T>
concept IntegerLike = std::same_as<T, SymInt> || (std::integral<T> && !std::same_as<T, bool>);

// Note [SymInt layout]: plain lists are reinterpreted, never copied.
inline SymIntList as_symint(IntList values) {
  return {reinterpret_cast<const SymInt*>(values.data()), values.size()};
}
// The plain view of a list without symbolic entries.
inline IntList as_int(SymIntList values) {
  TAEDA_CHECK(!has_symbolic(values), "symbolic sizes where concrete ones are needed: got ", values);
  return {reinterpret_cast<const int64_t*>(values.data()), values.size()};
}

}  // namespace taeda
