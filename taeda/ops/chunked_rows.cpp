// Passes over chunks of rows.
#include "taeda/ops/chunked_rows.h"

#include "taeda/kernel/reduce_bodies.h"
#include "taeda/kernel/reduce_tree.h"
#include "taeda/ops/index_map.h"

namespace taeda::lowering {

ChunkedRows::ChunkedRows(const Definition& x, uint64_t dims, Type type)
    : x_(x), dims_(dims), type_(type), pool_(Lowering::current().pool()) {
  length_ = pool_.integer(1);
  for (size_t d = 0; d < x.sizes.size(); ++d) {
    if (dims >> d & 1)
      length_ = pool_.mul(length_, x.sizes[d]);
    else
      kept_.push_back(x.sizes[d]);
  }
  const Expr* chunk = pool_.integer(kernel::kReduceChunk);
  width_ = length_;
  if (length_->range.hi <= kernel::kReduceChunk) return;
  chunks_ = pool_.ceil_div(length_, chunk);
  width_ = pool_.make(symbolic::ExprOp::Min, chunk, length_);
}

const Expr* ChunkedRows::first_of(const Place& chunk) const {
  return pool_.mul(pool_.integer(kernel::kReduceChunk), chunk.back());
}

Sym ChunkedRows::count(Emitter& e, const Place& chunk, Type type) const {
  const Expr* n = length_;
  if (!is_one_chunk())
    n = pool_.make(symbolic::ExprOp::Min, pool_.integer(kernel::kReduceChunk),
                   pool_.subtract(length_, first_of(chunk)));
  return e.cast(e.index(n), type);
}

const Reduction& ChunkedRows::combine(const char* body, ElementFn value) const {
  Lowering& l = Lowering::current();
  if (is_one_chunk()) {
    const auto element = [x = &x_, dims = dims_, type = type_, value = std::move(value)](
                             Emitter& e, const Place& at) {
      Place kept;
      for (size_t d = 0; d < at.size(); ++d)
        if (!(dims >> d & 1)) kept.push_back(at[d]);
      return std::vector<Sym>{value(e, e.cast(e.read(*x, at), type), kept)};
    };
    return l.reduce(body, x_.sizes, dims_, element);
  }
  Place sizes = kept_, row;
  sizes.push_back(chunks_);
  sizes.push_back(width_);
  for (size_t d = 0; d < x_.sizes.size(); ++d)
    if (dims_ >> d & 1) row.push_back(x_.sizes[d]);
  const auto element = [rows = *this, row, value = std::move(value)](Emitter& e, const Place& at) {
    symbolic::ExprPool& pool = e.pool();
    Place chunk = at;
    chunk.pop_back();
    const Expr* position = pool.add(rows.first_of(chunk), at.back());
    const Place in_row = reshaped_place(pool, {rows.length_}, row, {position});
    Place place;
    size_t kept = 0, reduced = 0;
    for (size_t d = 0; d < rows.x_.sizes.size(); ++d)
      place.push_back(rows.dims_ >> d & 1 ? in_row[reduced++] : at[kept++]);
    return std::vector<Sym>{value(e, e.cast(e.read(rows.x_, place), rows.type_), chunk)};
  };
  return l.reduce_pieces(body, sizes, length_, element);
}

const Reduction* ChunkedRows::join(const char* body, StateFn states) const {
  if (is_one_chunk()) return nullptr;
  Place sizes = kept_;
  sizes.push_back(chunks_);
  return &Lowering::current().reduce(body, sizes, uint64_t{1} << kept_.size(), std::move(states),
                                     kernel::Part::Combining);
}

Moments::Moments(const Definition& x, uint64_t dims) {
  using kernel::MomentsBody;
  const Type type = kernel::compute_type(x.dtype);
  const ChunkedRows rows(x, dims, type);
  const Reduction& sum = rows.combine("sum", [](Emitter&, Sym v, const Place&) { return v; });
  const auto center = [rows, &sum, type](Emitter& e, const Place& chunk) {
    return e.result(sum, 0, chunk) / rows.count(e, chunk, type);
  };
  const Reduction& deviations =
      rows.combine("sum", [center](Emitter& e, Sym v, const Place& chunk) {
        return MomentsBody::deviation(v, center(e, chunk));
      });
  const Reduction& squares = rows.combine("sum", [center](Emitter& e, Sym v, const Place& chunk) {
    return MomentsBody::squared_deviation(v, center(e, chunk));
  });
  chunk_ = [rows, center, &deviations, &squares](Emitter& e, const Place& chunk) {
    const auto wide = [&](Sym value) { return e.cast(value, Type::F64); };
    const auto made = MomentsBody::of_sums<Sym>(
        rows.count(e, chunk, Type::F64), wide(center(e, chunk)),
        wide(e.result(deviations, 0, chunk)), wide(e.result(squares, 0, chunk)));
    return std::vector<Sym>{made.count, made.mean, made.squares};
  };
  joined_ = rows.join("moments", chunk_);
}

Moments::State Moments::at(Emitter& e, const Place& kept) const {
  if (joined_)
    return {e.result(*joined_, 0, kept), e.result(*joined_, 1, kept), e.result(*joined_, 2, kept)};
  const std::vector<Sym> state = chunk_(e, kept);
  return {state[0], state[1], state[2]};
}

LogSumExp::LogSumExp(const Definition& x, uint64_t dims, Type type) {
  using kernel::LogSumExpBody;
  const ChunkedRows rows(x, dims, type);
  const Reduction& largest = rows.combine("max", [](Emitter&, Sym v, const Place&) { return v; });
  const Reduction& sum = rows.combine("sum", [&largest](Emitter& e, Sym v, const Place& chunk) {
    return LogSumExpBody::term(v, LogSumExpBody::center(e.result(largest, 0, chunk)));
  });
  chunk_ = [&largest, &sum](Emitter& e, const Place& chunk) {
    return std::vector<Sym>{e.result(largest, 0, chunk), e.result(sum, 0, chunk)};
  };
  joined_ = rows.join("logsumexp", chunk_);
}

Sym LogSumExp::at(Emitter& e, const Place& kept) const {
  if (joined_) return e.result(*joined_, 0, kept);
  const std::vector<Sym> state = chunk_(e, kept);
  return kernel::LogSumExpBody::finish<Sym>({state[0], state[1]});
}

}  // namespace taeda::lowering
