// Fills the kernel table of one instruction set; compiled once for each.
#include <utility>

#include "taeda/backends/cpu/gemm/kernels.h"
#include "taeda/backends/cpu/gemm/pack_kernel.h"
#include "taeda/backends/cpu/gemm/tile_kernel.h"
#include "taeda/backends/cpu/gemm/unpacked_kernel.h"
#include "taeda/backends/cpu/gemm/vector_kernel.h"

namespace taeda::cpu::gemm_kernels {
namespace {

// Tile shapes in rows x vectors: as many accumulators as the register file holds beside the
// operands.
#if defined(__aarch64__)
constexpr int kRealRows = 8, kRealVectors = 3, kComplexRows = 4, kComplexVectors = 2, kStrip = 4;
constexpr int64_t kDepthBytes = 3072, kRows = 128, kCols = 1536;
#elif defined(__AVX512F__)
constexpr int kRealRows = 14, kRealVectors = 2, kComplexRows = 6, kComplexVectors = 2, kStrip = 4;
constexpr int64_t kDepthBytes = 1536, kRows = 336, kCols = 2048;
#else
constexpr int kRealRows = 6, kRealVectors = 2, kComplexRows = 4, kComplexVectors = 1, kStrip = 2;
constexpr int64_t kDepthBytes = 1024, kRows = 240, kCols = 2048;
#endif

// The kernel of a tile whose first `rows` rows count. Only products of real numbers are worth one
// per pair of rows; integers have half tiles and whole ones.
template <class T, int rows, int mr, int vectors>
consteval typename Kernels<T>::Tile* tile_of() {
  using Part = PartOf<T>;
  constexpr int coarse = 2 * rows <= mr ? mr / 2 : mr;
  constexpr int computed = std::is_floating_point_v<Part> ? rows : coarse;
  if constexpr (kParts<T> == 2)
    return complex_tile<Part, mr, vectors>;
  else
    return real_tile<Part, computed, mr, vectors>;
}

template <class T>
consteval Kernels<T> make_kernels() {
  using Part = PartOf<T>;
  constexpr bool is_complex = kParts<T> == 2;
  constexpr int mr = is_complex ? kComplexRows : kRealRows;
  constexpr int vectors = is_complex ? kComplexVectors : kRealVectors;
  constexpr int nr = vectors * Simd<Part>::width;
  static_assert(mr * nr <= kMaxTile && mr <= kMaxTileRows && mr % 2 == 0);
  Kernels<T> k{};
  k.mr = mr;
  k.nr = nr;
  k.kc = kDepthBytes / static_cast<int64_t>(sizeof(Part) < 4 ? 4 : sizeof(Part));
  k.mc = kRows / mr * mr;
  k.nc = kCols / nr * nr;
  k.pack = pack_panels<T, mr, nr>;
  k.store = store_tile<T>;
  k.dot_rows = dot_rows<T>;
  k.add_rows = add_rows<T>;
  [&]<int... half>(std::integer_sequence<int, half...>) {
    ((k.tiles[half] = tile_of<T, 2 * half + 2, mr, vectors>()), ...);
  }(std::make_integer_sequence<int, mr / 2>());
  if constexpr (std::is_floating_point_v<T>) {
    k.unpacked = unpacked<T, kStrip>;
    k.transpose = transpose_lanes<T>;
  }
  return k;
}

}  // namespace

#define TAEDA_GEMM_SET_NAME2(isa) kernel_set_##isa
#define TAEDA_GEMM_SET_NAME(isa) TAEDA_GEMM_SET_NAME2(isa)
extern const KernelSet TAEDA_GEMM_SET_NAME(TAEDA_ISA);
constinit const KernelSet TAEDA_GEMM_SET_NAME(TAEDA_ISA) = {
    make_kernels<float>(),    make_kernels<double>(),         make_kernels<Half>(),
    make_kernels<BFloat16>(), make_kernels<Complex<float>>(), make_kernels<Complex<double>>(),
    make_kernels<uint64_t>(), make_kernels<uint32_t>(),       make_kernels<uint16_t>(),
    make_kernels<uint8_t>()};

}  // namespace taeda::cpu::gemm_kernels
