// Forward mode of control flow that is one call: a call on operands and their tangents.
//
//   map(f, xs, others)  ->  map(f', xs + tangents, others + tangents), f' gives results and
//   tangents
#include "taeda/autograd/forward.h"
#include "taeda/autograd/grad_level.h"
#include "taeda/dispatch/levels.h"
#include "taeda/fx/control_flow/run.h"
#include "taeda/fx/control_flow/transforms.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

Value plain(const Value& v) {
  return v.is<Tensor>() ? Value(autograd::primal_of(v.get<Tensor>())) : v;
}

// The tangents of those that may have one, zeros where there is none.
Values tangents_of(const Values& values) {
  Values out;
  for (const Value& v : differentiable(values))
    out.emplace_back(autograd::tangent_or_zeros(v.get<Tensor>()));
  return out;
}

Values with_tangents(const Values& values) {
  Values out;
  for (const Value& v : values) out.push_back(plain(v));
  return joined(std::move(out), tangents_of(values));
}

// A level of forward mode until the end of the scope: duals are its own, whatever levels and duals
// the program around has.
class JvpLevel {
 public:
  JvpLevel() : id_(autograd::enter_jvp_level()) {}
  ~JvpLevel() { autograd::exit_level(id_); }
  JvpLevel(const JvpLevel&) = delete;

  Value dual(const Value& v, const Value& tangent) const {
    return Value(autograd::make_dual(autograd::wrap_at_level(v.get<Tensor>(), id_),
                                     autograd::wrap_at_level(tangent.get<Tensor>(), id_)));
  }
  // The values with their tangents behind them, as they are outside.
  Values apart(const Values& values) const {
    Values out = with_tangents(values);
    for (Value& v : out) {
      const dispatch::LevelWrapper* w =
          v.is<Tensor>() ? dispatch::wrapper_at(v.get<Tensor>(), id_) : nullptr;
      if (w) v = Value(w->value);
    }
    return out;
  }

 private:
  uint64_t id_;
};

// The sizes of the lists of operands that a region takes, and of their tangents.
struct Layout {
  struct Part {
    size_t num_values, num_tangents;
  };
  std::vector<Part> parts;

  explicit Layout(const std::vector<Values>& lists) {
    for (const Values& list : lists) parts.push_back({list.size(), differentiable(list).size()});
  }
  // Operands with their tangents, or without any where there is no level.
  Values operands(const Values& given, const JvpLevel* level) const {
    Values out;
    size_t at = 0;
    for (const Part& p : parts) {
      size_t tangent = at + p.num_values;
      for (size_t i = 0; i < p.num_values; ++i) {
        const Value& v = given.at(at + i);
        const bool is_dual = may_have_gradient(v) && level;
        out.push_back(is_dual ? level->dual(v, given.at(tangent++)) : v);
      }
      at += p.num_values + p.num_tangents;
    }
    return out;
  }
};

// The region on operands and tangents. Results come in groups of these sizes, the last of which is
// the rest, each with its tangents behind it.
Value dual_region(const RegionValue& of, const Layout& layout, const Values& examples,
                  const std::vector<size_t>& groups) {
  const auto program = [&](Values values) {
    const JvpLevel level;
    const Values results = of(layout.operands(values, &level));
    Values out;
    size_t at = 0;
    for (const size_t size : groups) {
      out = joined(std::move(out), level.apart(part(results, at, size)));
      at += size;
    }
    return list(joined(std::move(out), level.apart(part(results, at, results.size() - at))));
  };
  return traced_region(program, examples);
}

// A condition: its result has no tangent.
Value primal_region(const RegionValue& of, const Layout& layout, const Values& examples) {
  const auto program = [&](Values values) { return list(of(layout.operands(values, nullptr))); };
  return traced_region(program, examples);
}

size_t num_results(const RegionValue& of) {
  const Node* output = of.graph()->output_node();
  const Compound* results = output->args().at(0).compound();
  return results ? results->items.size() : 1;
}

// Results of a group with their tangents, from `at` on.
Values take_duals(const Values& found, size_t& at, size_t count) {
  Values results = part(found, at, count);
  at += count;
  for (const Value& r : differentiable(results))
    autograd::set_tangent(r.get<Tensor>(), found.at(at++).get<Tensor>());
  return results;
}

}  // namespace

Values run_with_tangents(Operator& op, const ControlFlow& flow, const Stack& args) {
  if (&flow == &kAssociativeScan)
    return combine_in_parts(region(args[0]), items(args[1]), items(args[2]));
  TAEDA_CHECK_NOT_IMPLEMENTED(&flow != &kStreamedAttention && &flow != &kStreamedAttentionBackward,
                              "forward mode of ", op.full_name(), " is not implemented");
  Stack doubled = args;
  std::vector<Values> lists;
  size_t num_regions = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_region = find_region(args[i]) != nullptr;
    num_regions += is_region;
    if (is_region || num_regions == 0) continue;  // the predicate comes before the regions
    lists.push_back(items(args[i]));
    doubled[i] = list(with_tangents(lists.back()));
  }
  if (num_regions > 0 && !find_region(args[0])) doubled[0] = plain(args[0]);
  const Layout layout(lists);
  const std::vector<Values> examples = flow.examples(doubled);
  const bool is_loop = &flow == &kWhileLoop || &flow == &kWhileLoopStackOutput;
  // Carried values come first, in a group of their own.
  std::vector<size_t> groups;
  if (&flow == &kScan) groups.push_back(lists.at(0).size());
  size_t at = 0, total = 0;
  for (Value& v : doubled) {
    const RegionValue* of = find_region(v);
    if (!of) continue;
    const bool is_condition = is_loop && at == 0;
    total = num_results(*of);
    v = is_condition ? primal_region(*of, layout, examples.at(at))
                     : dual_region(*of, layout, examples.at(at), groups);
    ++at;
  }
  const Values found = call_control_flow(op, std::move(doubled));
  Values results;
  size_t next = 0;
  for (const size_t size : groups) {
    results = joined(std::move(results), take_duals(found, next, size));
    total -= size;
  }
  return joined(std::move(results), take_duals(found, next, total));
}

}  // namespace taeda::fx
