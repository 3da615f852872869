// Chooses the primitives of this machine; integers, complex numbers, masks and casts are built
// once.
#include "taeda/kernel/interpret/primitives.h"

#include <type_traits>

#include "taeda/base/complex.h"
#include "taeda/kernel/interpret/isa_tables.h"
#include "taeda/kernel/interpret/primitive_bodies.h"

namespace taeda::kernel {

TAEDA_ISA_TABLE(PrimitiveTable, kPrimitives, table)

namespace {

struct OtherTable {
  TilePrimitive rows[kNumOps][kNumTypes] = {};
};

template <Op op>
constexpr void add(OtherTable& table) {
  TilePrimitive* row = table.rows[static_cast<int>(op)];
  row[static_cast<int>(Type::I64)] = tile_primitive<op, int64_t>();
  row[static_cast<int>(Type::U64)] = tile_primitive<op, uint64_t>();
  row[static_cast<int>(Type::C64)] = tile_primitive<op, Complex<float>>();
  row[static_cast<int>(Type::C128)] = tile_primitive<op, Complex<double>>();
}

// Plain loops over arrays: R result, T operands.
template <class R, class T, auto apply>
void loop(char* const* ptrs, int64_t n, const void*) {
  R* out = reinterpret_cast<R*>(ptrs[0]);
  const T* a = reinterpret_cast<const T*>(ptrs[1]);
  if constexpr (std::is_invocable_v<decltype(apply), T, T>) {
    const T* b = reinterpret_cast<const T*>(ptrs[2]);
    for (int64_t i = 0; i < n; ++i) out[i] = apply(a[i], b[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = apply(a[i]);
  }
}
template <class T>
void choose(char* const* ptrs, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(ptrs[0]);
  const uint8_t* mask = reinterpret_cast<const uint8_t*>(ptrs[1]);
  const T* a = reinterpret_cast<const T*>(ptrs[2]);
  const T* b = reinterpret_cast<const T*>(ptrs[3]);
  for (int64_t i = 0; i < n; ++i) out[i] = mask[i] ? a[i] : b[i];
}
template <class T>
void join_parts(char* const* ptrs, int64_t n, const void*) {
  auto* out = reinterpret_cast<Complex<T>*>(ptrs[0]);
  const T* re = reinterpret_cast<const T*>(ptrs[1]);
  const T* im = reinterpret_cast<const T*>(ptrs[2]);
  for (int64_t i = 0; i < n; ++i) out[i] = Complex<T>(re[i], im[i]);
}

constexpr void add_masks(OtherTable& t) {
  auto at = [&](Op op) -> TilePrimitive& {
    return t.rows[static_cast<int>(op)][static_cast<int>(Type::Mask)];
  };
  using B = uint8_t;
  at(Op::And) = &loop<B, B, [](B a, B b) -> B { return a & b; }>;
  at(Op::Or) = &loop<B, B, [](B a, B b) -> B { return a | b; }>;
  at(Op::Xor) = &loop<B, B, [](B a, B b) -> B { return a ^ b; }>;
  at(Op::Not) = &loop<B, B, [](B a) -> B { return !a; }>;
  at(Op::Where) = &choose<B>;
}

// As unsigned numbers where they could overflow: they wrap.
constexpr void add_int32(OtherTable& t) {
  auto at = [&](Op op) -> TilePrimitive& {
    return t.rows[static_cast<int>(op)][static_cast<int>(Type::I32)];
  };
  using I = int32_t;
  using U = uint32_t;
  using B = uint8_t;
  at(Op::Add) = &loop<U, U, [](U a, U b) { return a + b; }>;
  at(Op::Sub) = &loop<U, U, [](U a, U b) { return a - b; }>;
  at(Op::Mul) = &loop<U, U, [](U a, U b) { return a * b; }>;
  at(Op::Neg) = &loop<U, U, [](U a) { return 0 - a; }>;
  at(Op::And) = &loop<U, U, [](U a, U b) { return a & b; }>;
  at(Op::Or) = &loop<U, U, [](U a, U b) { return a | b; }>;
  at(Op::Xor) = &loop<U, U, [](U a, U b) { return a ^ b; }>;
  at(Op::BitNot) = &loop<U, U, [](U a) { return ~a; }>;
  at(Op::Lt) = &loop<B, I, [](I a, I b) { return a < b; }>;
  at(Op::Gt) = &loop<B, I, [](I a, I b) { return (a > b); }>;
  at(Op::Le) = &loop<B, I, [](I a, I b) { return a <= b; }>;
  at(Op::Ge) = &loop<B, I, [](I a, I b) { return (a >= b); }>;
  at(Op::Eq) = &loop<B, I, [](I a, I b) { return a == b; }>;
  at(Op::Ne) = &loop<B, I, [](I a, I b) { return a != b; }>;
  at(Op::Where) = &choose<I>;
}

constexpr OtherTable make_table() {
  OtherTable t;
#define TAEDA_ADD(id, name, arity, result, form) add<Op::id>(t);
  TAEDA_EXPR_OPS(TAEDA_ADD)
  TAEDA_CALLED_FUNCTIONS(TAEDA_ADD)
#undef TAEDA_ADD
  add_masks(t);
  add_int32(t);
  t.rows[static_cast<int>(Op::MakeComplex)][static_cast<int>(Type::F32)] = &join_parts<float>;
  t.rows[static_cast<int>(Op::MakeComplex)][static_cast<int>(Type::F64)] = &join_parts<double>;
  return t;
}
constinit const OtherTable kOthers = make_table();

// ---- casts ----
template <class From, class To>
void cast(char* const* ptrs, int64_t n, const void*) {
  To* out = reinterpret_cast<To*>(ptrs[0]);
  const From* in = reinterpret_cast<const From*>(ptrs[1]);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<To, bool>) {
      if constexpr (std::is_arithmetic_v<From>)
        out[i] = in[i] != 0;
      else
        out[i] = in[i].re != 0 || in[i].im != 0;
    } else if constexpr (std::is_arithmetic_v<To> && !std::is_arithmetic_v<From>) {
      out[i] = static_cast<To>(in[i].re);
    } else {
      out[i] = static_cast<To>(in[i]);
    }
  }
}

template <class From>
TilePrimitive cast_from(Type to) {
  switch (to) {
    case Type::F32: return &cast<From, float>;
    case Type::F64: return &cast<From, double>;
    case Type::I64: return &cast<From, int64_t>;
    case Type::U64: return &cast<From, uint64_t>;
    case Type::I32: return &cast<From, int32_t>;
    case Type::Mask: return &cast<From, bool>;
    case Type::C64: return &cast<From, Complex<float>>;
    default: return &cast<From, Complex<double>>;
  }
}

}  // namespace

TilePrimitive find_primitive(Op op, Type type) {
  const int o = static_cast<int>(op), t = static_cast<int>(type);
  const TilePrimitive other = kOthers.rows[o][t];
  return other ? other : table().operations[o][t];
}

TilePrimitive find_cast(Type from, Type to) {
  switch (from) {
    case Type::F32: return cast_from<float>(to);
    case Type::F64: return cast_from<double>(to);
    case Type::I64: return cast_from<int64_t>(to);
    case Type::U64: return cast_from<uint64_t>(to);
    case Type::I32: return cast_from<int32_t>(to);
    case Type::Mask: return cast_from<bool>(to);
    case Type::C64: return cast_from<Complex<float>>(to);
    default: return cast_from<Complex<double>>(to);
  }
}

}  // namespace taeda::kernel
