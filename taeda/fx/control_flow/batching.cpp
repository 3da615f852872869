// Control flow under vmap that is one call: calls with regions over the batch.
#include "taeda/dispatch/levels.h"
#include "taeda/fx/control_flow/run.h"
#include "taeda/fx/control_flow/shapes.h"
#include "taeda/fx/control_flow/transforms.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

using dispatch::BelowLevel;
using dispatch::Level;
using Dims = std::vector<int64_t>;  // where the batch is; -1: the same for every example

// A vmap level until the end of the scope.
class VmapLevel {
 public:
  VmapLevel(const SymInt& size, dispatch::Randomness randomness) {
    Level& level = dispatch::push_level(dispatch::LevelKind::Vmap);
    level.batch_size = size;
    level.randomness = randomness;
    id_ = level.id;
  }
  ~VmapLevel() { dispatch::pop_level(id_); }
  VmapLevel(const VmapLevel&) = delete;
  uint64_t id() const { return id_; }

  Values wrap(const Values& values, const Dims& dims) const {
    Values out = values;
    for (size_t i = 0; i < out.size(); ++i)
      if (dims[i] >= 0) out[i] = Value(dispatch::make_wrapper(out[i].get<Tensor>(), id_, dims[i]));
    return out;
  }

 private:
  uint64_t id_ = 0;
};

struct Unwrapped {
  Values values;
  Dims dims;
};

Unwrapped unwrap(const Values& values, uint64_t level) {
  Unwrapped out;
  for (const Value& v : values) {
    const dispatch::LevelWrapper* w =
        v.is<Tensor>() ? dispatch::wrapper_at(v.get<Tensor>(), level) : nullptr;
    out.values.push_back(w ? Value(w->value) : v);
    out.dims.push_back(w ? w->batch_dim : -1);
  }
  return out;
}

Values wrap_at(const Values& values, uint64_t level, int64_t dim) {
  Values out;
  for (const Value& v : values)
    out.push_back(v.is<Tensor>() ? Value(dispatch::make_wrapper(v.get<Tensor>(), level, dim)) : v);
  return out;
}

Tensor expanded(const Tensor& t, const SymInt& size) {
  std::vector<SymInt> sizes{size};
  sizes.insert(sizes.end(), t.sym_sizes().begin(), t.sym_sizes().end());
  return t.expand(sizes);
}

// With the batch in front.
Value batch_first(const Value& v, int64_t dim, const SymInt& size) {
  if (!v.is<Tensor>()) return v;
  const Tensor& t = v.get<Tensor>();
  return Value(dim < 0 ? expanded(t, size) : t.movedim(dim, 0));
}

// The batch of an active level.
struct Batch {
  uint64_t id;
  SymInt size;
  dispatch::Randomness randomness;
  explicit Batch(const Level& level)
      : id(level.id), size(level.batch_size), randomness(level.randomness) {}

  Unwrapped apart(const RegionValue& of, const Values& operands, const Dims& dims) const {
    const VmapLevel level(size, randomness);
    return unwrap(of(level.wrap(operands, dims)), level.id());
  }

  // Runs a region over a batch of operands; results with the batch in front.
  Values run(const RegionValue& of, const Values& operands, const Dims& dims) const {
    Unwrapped results = apart(of, operands, dims);
    for (size_t i = 0; i < results.values.size(); ++i)
      results.values[i] = batch_first(results.values[i], results.dims[i], size);
    return results.values;
  }

  // Which results of a region differ between examples.
  std::vector<bool> differing(const RegionValue& of, const Values& operands,
                              const Dims& dims) const {
    Dims found;
    const auto program = [&](Values values) {
      found = apart(of, values, dims).dims;
      return list({});
    };
    traced_region(program, operands);
    std::vector<bool> out;
    for (const int64_t d : found) out.push_back(d >= 0);
    return out;
  }

  Value over(const RegionValue& of, const Values& operands, const Dims& dims) const {
    const auto program = [&](Values values) { return list(run(of, values, dims)); };
    return traced_region(program, operands);
  }
};

// Tensors whose slices have the batch in front, and its dimension in the slices.
Unwrapped with_slices(const Unwrapped& xs) {
  Unwrapped out = xs;
  for (size_t i = 0; i < xs.values.size(); ++i) {
    if (xs.dims[i] < 0) continue;
    out.values[i] = Value(xs.values[i].get<Tensor>().movedim(xs.dims[i], 1));
    out.dims[i] = 0;
  }
  return out;
}

Dims joined_dims(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

Values batch_cond(Operator& op, const Stack& a) {
  const Batch batch(dispatch::top_level());
  const Values operands = items(a[3]);
  const bool differs =
      a[0].is<Tensor>() && dispatch::wrapper_at(a[0].get<Tensor>(), batch.id) != nullptr;
  if (differs) {
    const Tensor pred = a[0].get<Tensor>().reshape({});
    const Values of_true = region(a[1])(operands), of_false = region(a[2])(operands);
    return selected(pred, of_true, of_false);
  }
  const Unwrapped inputs = unwrap(operands, batch.id);
  const BelowLevel below;
  const Values results = call_control_flow(
      op, {a[0], batch.over(region(a[1]), inputs.values, inputs.dims),
           batch.over(region(a[2]), inputs.values, inputs.dims), list(inputs.values)});
  return wrap_at(results, batch.id, 0);
}

Values batch_map(Operator& op, const Stack& a) {
  const Batch batch(dispatch::top_level());
  const Unwrapped xs = unwrap(items(a[1]), batch.id), others = unwrap(items(a[2]), batch.id);
  const BelowLevel below;
  const Unwrapped mapped = with_slices(xs);
  const Stack args{Value(), list(mapped.values), list(others.values)};
  const Value f =
      batch.over(region(a[0]), map_examples(args).at(0), joined_dims(mapped.dims, others.dims));
  return wrap_at(call_control_flow(op, {f, args[1], args[2]}), batch.id, 1);
}

Values batch_scan(Operator& op, const Stack& a) {
  const Batch batch(dispatch::top_level());
  Unwrapped init = unwrap(items(a[1]), batch.id);
  const Unwrapped xs = unwrap(items(a[2]), batch.id), others = unwrap(items(a[3]), batch.id);
  const BelowLevel below;
  for (size_t i = 0; i < init.values.size(); ++i) {
    init.values[i] = batch_first(init.values[i], init.dims[i], batch.size);
    init.dims[i] = 0;
  }
  const Unwrapped swept = with_slices(xs);
  const Stack args{Value(), list(init.values), list(swept.values), list(others.values)};
  const Value step = batch.over(region(a[0]), scan_examples(args).at(0),
                                joined_dims(joined_dims(init.dims, swept.dims), others.dims));
  const Values results = call_control_flow(op, {step, args[1], args[2], args[3]});
  const size_t count = init.values.size();
  return joined(wrap_at(part(results, 0, count), batch.id, 0),
                wrap_at(part(results, count, results.size() - count), batch.id, 1));
}

namespace {

// A loop over a batch, made of the one for an example. Where the condition differs between examples
// it runs until all are done, and one that is done keeps its values.
class BatchedLoop {
 public:
  BatchedLoop(const Batch& batch, const Stack& a)
      : batch_(batch), goes_on_(region(a[0])), body_(region(a[1])) {
    carried_ = unwrap(items(a[2]), batch.id);
    others_ = unwrap(items(a[3]), batch.id);
  }

  // From below the level; results of the level, `num_outer` dimensions in front of the batch.
  Values run(Operator& op, int64_t num_outer) {
    find_differing();
    const Values operands = examples();
    const auto goes_on = [&](Values values) { return list({Value(condition(values))}); };
    const auto step = [&](Values values) { return list(next(values)); };
    Values results =
        call_control_flow(op, {traced_region(goes_on, operands), traced_region(step, operands),
                               list(carried_.values), list(others_.values)});
    for (size_t i = 0; i < results.size(); ++i)
      if (differs_[i])
        results[i] = Value(dispatch::make_wrapper(results[i].get<Tensor>(), batch_.id, num_outer));
    return results;
  }

 private:
  Dims dims() const { return joined_dims(carried_.dims, others_.dims); }
  // Like the operands of any step.
  Values examples() const {
    return while_examples({Value(), Value(), list(carried_.values), list(others_.values)}).at(0);
  }

  // Finds the carried values that differ between examples at some step, and gives each of them its
  // batch.
  void find_differing() {
    for (const int64_t d : carried_.dims) differs_.push_back(d >= 0);
    for (bool is_new = true; is_new;) {
      is_new = false;
      add_batches();
      const auto after = results_differing(body_);
      for (size_t i = 0; i < differs_.size(); ++i) {
        is_new |= after.at(i) && !differs_[i];
        differs_[i] = differs_[i] || after[i];
      }
    }
    is_masked_ = results_differing(goes_on_).at(0);
    if (is_masked_) differs_.assign(differs_.size(), true);
    add_batches();
  }

  std::vector<bool> results_differing(const RegionValue& of) const {
    return batch_.differing(of, examples(), dims());
  }

  void add_batches() {
    for (size_t i = 0; i < differs_.size(); ++i) {
      if (!differs_[i]) continue;
      TAEDA_CHECK_KIND(ErrorKind::NotImplemented, carried_.values[i].is<Tensor>(),
                       "while_loop: an integer of the state that differs between the examples of a "
                       "vmap cannot be recorded; carry a tensor of no dimensions");
      carried_.values[i] = batch_first(carried_.values[i], carried_.dims[i], batch_.size);
      carried_.dims[i] = 0;
    }
  }

  Tensor active(const Values& values) const {
    return batch_.run(goes_on_, values, dims()).at(0).get<Tensor>();
  }
  Value condition(const Values& values) const {
    if (is_masked_) return Value(taeda::any(active(values)));
    return batch_.apart(goes_on_, values, dims()).values.at(0);
  }

  Values next(const Values& values) const {
    Unwrapped results = batch_.apart(body_, values, dims());
    for (size_t i = 0; i < differs_.size(); ++i)
      if (differs_[i])
        results.values.at(i) = batch_first(results.values[i], results.dims[i], batch_.size);
    if (!is_masked_) return results.values;
    const Tensor goes_on = active(values);
    for (size_t i = 0; i < differs_.size(); ++i) {
      const Tensor fresh = results.values[i].get<Tensor>();
      std::vector<SymInt> sizes(static_cast<size_t>(fresh.dim()), SymInt(1));
      sizes[0] = batch_.size;
      results.values[i] =
          Value(taeda::where(goes_on.reshape(sizes), fresh, values[i].get<Tensor>()));
    }
    return results.values;
  }

  Batch batch_;
  const RegionValue &goes_on_, &body_;
  Unwrapped carried_, others_;
  std::vector<bool> differs_;  // of each carried value
  bool is_masked_ = false;
};

Values batch_loop(Operator& op, const Stack& a, int64_t num_outer) {
  const Batch batch(dispatch::top_level());
  const BelowLevel below;
  return BatchedLoop(batch, a).run(op, num_outer);
}

}  // namespace

Values batch_while(Operator& op, const Stack& a) { return batch_loop(op, a, 0); }
Values batch_while_stacked(Operator& op, const Stack& a) { return batch_loop(op, a, 1); }

// Every example counts its own steps.
Values batch_kept(Operator&, const Stack& a) { return keep_steps(a); }

// Batches are those of the parts.
Values batch_associative_scan(Operator&, const Stack& a) {
  return combine_in_parts(region(a[0]), items(a[1]), items(a[2]));
}

// ---- a scan by its parts ----
namespace {

Values every_second(const Values& xs, int64_t first, const SymInt& end) {
  Values out;
  for (const Value& x : xs)
    out.emplace_back(x.get<Tensor>().slice(0, SymInt(first), end, SymInt(2)));
  return out;
}

// a[0], b[0], a[1], b[1], ...; `a` may have one more.
Tensor interleaved(const Tensor& a, const Tensor& b) {
  const SymInt count = b.sym_size(0);
  const Tensor paired = taeda::stack({a.slice(0, SymInt(0), count), b}, 1).flatten(0, 1);
  if (a.sym_size(0) == count) return paired;
  return taeda::cat({paired, a.slice(0, count)}, 0);
}

using Combine = FunctionRef<Values(const Values& a, const Values& b)>;

// The scan of pairs is every second result, from the second on; one step more gives the others.
Values prefixes(Combine combine, const Values& xs) {
  const int64_t count = length_of(xs, "associative_scan").expect_int();
  Values out;
  if (count < 2) {
    for (const Value& x : xs) out.emplace_back(x.get<Tensor>().clone(MemoryFormat::Contiguous));
    return out;
  }
  const Values second = prefixes(
      combine, combine(every_second(xs, 0, SymInt(count - 1)), every_second(xs, 1, SymInt(count))));
  Values first;
  for (const Value& x : xs) first.emplace_back(x.get<Tensor>().slice(0, SymInt(0), SymInt(1)));
  if (count > 2) {
    Values before;
    for (const Value& y : second)
      before.emplace_back(y.get<Tensor>().slice(0, SymInt(0), SymInt((count - 1) / 2)));
    const Values steps = combine(before, every_second(xs, 2, SymInt(count)));
    for (size_t i = 0; i < first.size(); ++i)
      first[i] = Value(taeda::cat({first[i].get<Tensor>(), steps[i].get<Tensor>()}, 0));
  }
  for (size_t i = 0; i < xs.size(); ++i)
    out.emplace_back(interleaved(first[i].get<Tensor>(), second[i].get<Tensor>()).contiguous());
  return out;
}

}  // namespace

Values combine_in_parts(const RegionValue& combine, const Values& xs, const Values& others) {
  const auto over_slices = [&](const Values& a, const Values& b) {
    if (combine.takes_batches) return combine(joined(joined(a, b), others));
    Dims dims(a.size() + b.size(), 0);
    dims.resize(dims.size() + others.size(), -1);
    const VmapLevel level(length_of(a, "associative_scan"), dispatch::Randomness::Error);
    const Batch batch(dispatch::top_level());
    Unwrapped results = unwrap(combine(level.wrap(joined(joined(a, b), others), dims)), level.id());
    const BelowLevel below;
    for (size_t i = 0; i < results.values.size(); ++i)
      results.values[i] = batch_first(results.values[i], results.dims[i], batch.size);
    return results.values;
  };
  return prefixes(over_slices, xs);
}

}  // namespace taeda::fx
