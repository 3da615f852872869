// Reductions that take several passes over each chunk of Note [Reduction tree], for lowerings.
//
// Eager kernels reduce a row of n elements chunk by chunk, each in several passes, and join the
// states of chunks in order. A lowering has the rows as (kept dimensions, chunks, 4096), where the
// last chunk is shorter.
#pragma once

#include "taeda/ops/lowering.h"

namespace taeda::lowering {

class ChunkedRows {
 public:
  // The rows of a definition along `dims`, in a compute type.
  ChunkedRows(const Definition& x, uint64_t dims, Type type);

  // A value of each element, which lies in the chunk at `chunk`.
  using ElementFn = std::function<Sym(Emitter&, Sym element, const Place& chunk)>;
  using StateFn = std::function<std::vector<Sym>(Emitter&, const Place& chunk)>;
  // One result per chunk, at (kept place, chunk); at the kept place where rows are of one chunk.
  const Reduction& combine(const char* body, ElementFn value) const;
  // The states of chunks joined to one per row; null where rows are of one chunk.
  const Reduction* join(const char* body, StateFn states) const;
  // Elements of a chunk, or of a row where it is one.
  Sym count(Emitter& e, const Place& chunk, Type type) const;

 private:
  bool is_one_chunk() const { return !chunks_; }
  const Expr* first_of(const Place& chunk) const;

  const Definition& x_;
  uint64_t dims_;
  Type type_;
  symbolic::ExprPool& pool_;
  const Expr *length_, *chunks_ = nullptr, *width_;  // of a row, chunks of it, of a chunk
  Place kept_;                                       // sizes
};

// Number, mean, and sum of squared distances from it, of the real elements of rows, in double.
class Moments {
 public:
  Moments(const Definition& x, uint64_t dims);
  struct State {
    Sym count, mean, squares;
  };
  State at(Emitter& e, const Place& kept) const;

 private:
  ChunkedRows::StateFn chunk_;
  const Reduction* joined_;
};

// log(sum(exp(x))) of real elements.
class LogSumExp {
 public:
  LogSumExp(const Definition& x, uint64_t dims, Type type);
  Sym at(Emitter& e, const Place& kept) const;

 private:
  ChunkedRows::StateFn chunk_;
  const Reduction* joined_;
};

}  // namespace taeda::lowering
