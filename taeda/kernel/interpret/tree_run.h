// Reductions of tiles in the order of Note [Reduction tree].
#pragma once

#include <vector>

#include "taeda/kernel/interpret/body_program.h"
#include "taeda/kernel/interpret/folds.h"
#include "taeda/kernel/ir/kernel.h"

namespace taeda::kernel {

// The states of running reductions: one, `width` of them side by side, whose states lie next to
// each other, or one per line, with lanes of its own and one chunk of elements at most. Can be
// started again and again without new memory.
class TreeRun {
 public:
  TreeRun(const ReduceBody& body, const BodyProgram& combine, Part part);

  void start(int64_t width, int64_t lines = 1);
  // Goes on with a line, of which `position` elements were added.
  void select(int64_t line, int64_t position) {
    line_ = line;
    position_ = position;
  }
  // The lanes of the only state, from a line on, for a chain that folds the next n elements of each
  // line into them; they do not cross a chunk.
  char* open(int64_t line, int64_t n);
  int64_t line_bytes() const { return static_cast<int64_t>(bytes_); }
  // The next n elements of one reduction, lifted: a tile per state.
  void add(char* const* states, int64_t n);
  // The same from tiles of values, where is_folded() says so.
  void fold(const char* const* values, int64_t n);
  bool is_folded() const { return fold_ && !is_cascade_; }
  // The next element of each of the reductions: a tile of `width` elements per state.
  void add_across(char* const* states);
  // Tiles of `width` or `lines` elements per state, valid until the next start.
  void finish(char** results);

 private:
  struct alignas(64) CacheLine {
    char bytes[64];
  };
  char* lanes() { return reinterpret_cast<char*>(lanes_.data()); }
  char* lane(size_t state, int64_t l) {
    return lanes() + line_ * bytes_ + offsets_[state] * width_ + l * width_ * sizes_[state];
  }
  char* level(size_t depth, size_t state) { return levels_[depth].data() + 16 * state * width_; }
  void fold_few(const char* const* values, int64_t first, int64_t n);
  void add_block(char* const* states);
  void clear_lanes();
  void combine_into(char* const* left, char* const* right, int64_t n);
  void copy(char* to, const char* from, size_t state) {
    if (width_ == 1)
      copy_element(to, from, sizes_[state]);
    else
      std::memcpy(to, from, width_ * sizes_[state]);
  }
  void close_lanes();
  void finish_chunk(char** results);
  void close_chunk();
  void settle();

  const BodyProgram& combine_;
  FoldPrimitive fold_;
  ClosePrimitive close_;
  bool is_cascade_;  // elements are results of blocks
  int lanes_count_;
  size_t bytes_ = 0;  // of all lanes of one reduction
  std::vector<size_t> sizes_, offsets_, value_sizes_;
  std::vector<CacheLine> lanes_;
  std::vector<char> identity_, scratch_, results_;  // the identity in all lanes of one reduction
  std::vector<std::vector<char>> levels_;           // 16 bytes per state and reduction
  int64_t width_ = 0, lines_ = 1, line_ = 0, position_ = 0, chunks_ = 0;
};

}  // namespace taeda::kernel
