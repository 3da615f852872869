// ReduceShape: the iteration space of a reduction, kept and reduced dimensions merged and ordered.
#pragma once

#include <cstdlib>

#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/core/tensor.h"

namespace taeda::cpu {

// Computes tiles in place of a conversion; a block lies in the memory of the reduced tensor.
class TileMap {
 public:
  virtual void load(const char* memory, const Block& block, char* tile) const = 0;

 protected:
  ~TileMap() = default;
};

// How elements come into tiles: as they lie in memory (`is_direct`), converted, or computed.
struct TileSource {
  LoadFn convert;
  bool is_direct;
  const TileMap* map = nullptr;
  bool is_bfloat16 = false;  // converted from it to float

  void load(const char* memory, const Block& block, char* tile) const {
    if (map)
      map->load(memory, block, tile);
    else
      convert(memory, block, tile);
  }
};
inline TileSource tile_source(DType memory, ComputeType tile) {
  return {load_fn(memory, tile), memory == compute_dtype(tile), nullptr,
          memory == DType::BFloat16 && tile == ComputeType::F32};
}

// Strides are in bytes, innermost dimension first.
struct ReduceShape {
  struct Kept {
    int64_t size, in, out[2];
  };
  struct Reduced {
    int64_t size, in;
  };
  SmallVector<Kept, 6> kept;
  SmallVector<Reduced, 6> reduced;
  int64_t num_outputs = 1, num_reduced = 1;

  // `bits` names the reduced dimensions of `self`; outs have its other dimensions, with or without
  // ones in between. Kept dimensions are ordered by stride, reduced ones stay in row-major order.
  ReduceShape(const Tensor& self, uint64_t bits, bool keepdim, Span<const Tensor*> outs);

  // Whether neighbours in memory belong to different outputs.
  bool is_kept_inner() const;
  const char* output_at(const char* in, char* const* out, int64_t index, char** out_at) const;
  // Whether neighbours in memory are far apart in the reduced space.
  bool is_turned() const {
    return reduced.size() > 1 && std::abs(reduced[1].in) < std::abs(reduced[0].in);
  }
  // Copies elements [first, first + n) of the reduced space into a contiguous tile; `is_direct`:
  // they are of its type.
  void fill(const TileSource& source, const char* in, int64_t first, int64_t n, char* tile,
            int64_t tile_item) const;

 private:
  void fill_turned(const TileSource& source, const char* at, int64_t rows, char* tile,
                   int64_t tile_item) const;
};

}  // namespace taeda::cpu
