// The parts of the generated tile tables: one function per body and compute type.
#pragma once

#include <cstdint>

#include "taeda/base/isa.h"
#include "taeda/core/dtype.h"
#include "taeda/kernel/vec.h"

namespace taeda {
struct PointwiseOp;
}

namespace taeda::cpu {

// Contiguous tiles: ptrs[0] the output, then the inputs; `scalars` one compute-type value each.
using TileFn = void (*)(char* const* ptrs, int64_t n, const void* scalars);

// Types tiles compute in; every storage dtype maps to one (compute_type).
enum class ComputeType : uint8_t { F32, F64, I64, U64, C64, C128 };

// The kind of an operand's elements: a compute-type value, a byte mask, or the real partner of a
// complex value.
enum class OperandKind : uint8_t { Compute, Mask, Real };

struct Operands {
  uint8_t num_inputs = 0;
  OperandKind out = OperandKind::Compute;
  OperandKind in[6] = {};
  uint8_t divisor = 0;  // position of the input that integers are divided by; 0: none

  // Whether every operand holds compute-type values.
  constexpr bool is_uniform() const {
    for (OperandKind kind : in)
      if (kind != OperandKind::Compute) return false;
    return out == OperandKind::Compute;
  }
};

#if defined(__x86_64__)
constexpr int kNumIsas = 3;
#  define TAEDA_DECLARE_ISA_TILES(name) \
    namespace generic {                 \
    extern const TileFn name[2];        \
    }                                   \
    namespace avx2 {                    \
    extern const TileFn name[2];        \
    }                                   \
    namespace avx512 {                  \
    extern const TileFn name[2];        \
    }
#  define TAEDA_ISA_TILES(name) {generic::name, avx2::name, avx512::name}
#else
constexpr int kNumIsas = 1;
#  define TAEDA_DECLARE_ISA_TILES(name) \
    namespace neon {                    \
    extern const TileFn name[2];        \
    }
#  define TAEDA_ISA_TILES(name) {neon::name}
#endif

constexpr int64_t kGrain = 32768;  // elements of simple arithmetic that are worth a thread

struct PointwiseKernel {
  const PointwiseOp* op;
  const TileFn* float_tiles[kNumIsas];  // by isa_level: float, double
  TileFn other_tiles[4];                // int64, uint64, complex64, complex128
  Operands operands;
  int64_t grain = kGrain;  // elements worth a thread
  bool is_uniform = operands.is_uniform();
};

// The tile function of a compute type on this machine; null where the body has none.
inline TileFn tile_of(const PointwiseKernel& kernel, ComputeType c) {
  const int i = static_cast<int>(c);
  return i < 2 ? kernel.float_tiles[isa_level()][i] : kernel.other_tiles[i - 2];
}

namespace tiles_detail {
template <class V, class P>
constexpr OperandKind kind_of() {
  if constexpr (std::is_same_v<P, kernel::MaskOf<V>>)
    return OperandKind::Mask;
  else if constexpr (std::is_same_v<P, V>)
    return OperandKind::Compute;
  else
    return OperandKind::Real;
}
template <class V, class P>
constexpr void add_input(Operands& o) {
  if constexpr (!std::is_same_v<P, kernel::Uniform<V>>) o.in[o.num_inputs++] = kind_of<V, P>();
}
template <class V, class R, class... P>
constexpr Operands read(R (*)(P...)) {
  Operands o;
  o.out = kind_of<V, R>();
  (add_input<V, P>(o), ...);
  return o;
}
}  // namespace tiles_detail

// The operand kinds of a body, from its parameter types. Read with a complex value, where compute
// and real types differ.
template <class Body>
constexpr Operands operands_of() {
  using V = kernel::Vec<Complex<float>>;
  using Fn = decltype(&Body::template apply<V>);
  Operands o = tiles_detail::read<V>(static_cast<Fn>(nullptr));
  if constexpr (requires { Body::kDivisor; }) o.divisor = Body::kDivisor;
  return o;
}

// The elements that are worth a thread, by what the body says one costs.
template <class Body>
constexpr int64_t grain_of() {
  if constexpr (requires { Body::kCost; }) return kGrain / Body::kCost;
  return kGrain;
}

}  // namespace taeda::cpu
