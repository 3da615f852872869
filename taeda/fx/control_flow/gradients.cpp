// Gradients of control flow that is one call.
//
//   cond   backward: the branch's derivative, by a cond of both
//   map    backward: a map of the derivative
//   scan   backward: a scan for the carries again, and one from the last step to the first
//   associative_scan   that of its parts, or, of a length that is a symbol, of a scan
//   while  forward keeps what each step started from; backward: a loop that counts down
//
// Where regions draw random numbers the forward keeps states too: Note [Random regions].
#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/variable.h"
#include "taeda/fx/control_flow/random_state.h"
#include "taeda/fx/control_flow/run.h"
#include "taeda/fx/control_flow/shapes.h"
#include "taeda/fx/control_flow/transforms.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

// Gradients of results that may have one.
Values given(const Values& gradients) {
  Values out;
  for (const Value& g : gradients)
    if (!g.is_none()) out.push_back(g);
  return out;
}

Values zeros_of(const Values& values) {
  Values out;
  for (const Value& v : values) out.emplace_back(taeda::zeros_like(v.get<Tensor>()));
  return out;
}

Values sums_of(const Values& a, const Values& b) {
  Values out;
  for (size_t i = 0; i < a.size(); ++i)
    out.emplace_back(a[i].get<Tensor>() + b.at(i).get<Tensor>());
  return out;
}

Values flipped(const Values& values) {
  Values out;
  for (const Value& v : values) out.emplace_back(taeda::flip(v.get<Tensor>(), {0}));
  return out;
}

// Goes through a list from the front.
class Reader {
 public:
  explicit Reader(const Values& values) : values_(values) {}
  Values take(size_t count) {
    at_ += count;
    return part(values_, at_ - count, count);
  }
  Values rest() { return take(values_.size() - at_); }

 private:
  const Values& values_;
  size_t at_ = 0;
};

// The state among values, which has one or none.
Tensor state_in(const Values& states) {
  return states.empty() ? Tensor() : states.at(0).get<Tensor>();
}

// The derivative of a region as a region: (*operands, *cotangents, *states) -> gradients.
Value vjp_region(const RegionValue& of, const Values& operands, const Values& cotangents,
                 const Values& states) {
  const auto program = [&](Values values) {
    Reader all(values);
    const Values inputs = all.take(operands.size()), of_results = all.take(cotangents.size());
    return list(Vjp(of)(inputs, of_results, state_in(all.rest())));
  };
  return traced_region(program, joined(joined(operands, cotangents), states));
}

// The operands of a step that a result of some step is made of, where what a step carries on is
// what the next one starts from.
std::vector<bool> reached_by_steps(const RegionValue& step, std::vector<bool> results,
                                   size_t num_carried) {
  for (;;) {
    std::vector<bool> reached = operands_of(step, results);
    bool is_new = false;
    for (size_t i = 0; i < num_carried; ++i) {
      is_new |= reached[i] && !results[i];
      if (reached[i]) results[i] = true;
    }
    if (!is_new) return reached;
  }
}

// What a region gives, and the state before it ran.
Values with_state(const RegionValue& of, const Values& operands) {
  const Tensor state = random_state(operands);
  return joined(of(operands), {Value(state)});
}

}  // namespace

Values record_cond(Operator& op, const Stack& a, Below below) {
  const Values branch_operands = items(a[3]);
  Values states;
  if (draws(region(a[1]), branch_operands) || draws(region(a[2]), branch_operands))
    states.emplace_back(random_state(branch_operands));
  const auto backward = [&op, on_true = a[1], on_false = a[2], count = branch_operands.size()](
                            const Values& all, const Values& gradients) {
    const Values inputs = part(all, 1, count), cotangents = given(gradients);
    const Values kept = part(all, 1 + count, all.size() - 1 - count);
    const Values found =
        call_control_flow(op, {all[0], vjp_region(region(on_true), inputs, cotangents, kept),
                               vjp_region(region(on_false), inputs, cotangents, kept),
                               list(joined(joined(inputs, cotangents), kept))});
    return joined(joined({Value()}, scattered(found, inputs)), Values(kept.size()));
  };
  const Values operands = joined(joined({a[0]}, branch_operands), states);
  const auto reaches = [on_true = a[1], on_false = a[2]](const std::vector<bool>& is_given) {
    const std::vector<bool> one = operands_of(region(on_true), is_given);
    const std::vector<bool> other = operands_of(region(on_false), is_given);
    std::vector<bool> all(1 + one.size());
    for (size_t i = 0; i < one.size(); ++i) all[1 + i] = one[i] || other[i];
    return all;
  };
  return record_node("CondBackward", operands, below(), backward, 0, reaches);
}

namespace {

// A map whose results have the states before its steps behind them.
Values map_with_states(Operator& op, const Stack& a) {
  const autograd::NoGrad unrecorded;
  const auto step = [&](Values values) { return list(with_state(region(a[0]), values)); };
  return call_control_flow(op, {traced_region(step, map_examples(a).at(0)), a[1], a[2]});
}

}  // namespace

Values record_map(Operator& op, const Stack& a, Below below) {
  const size_t num_xs = items(a[1]).size(), num_others = items(a[2]).size();
  const bool is_random = draws(region(a[0]), map_examples(a).at(0));
  Values results = is_random ? map_with_states(op, a) : below(), states;
  if (is_random) {
    states.push_back(results.back());
    results.pop_back();
  }
  const auto backward = [&op, num_xs, num_others, f = a[0]](const Values& all_operands,
                                                            const Values& gradients) {
    Reader kept(all_operands);
    const Values xs = kept.take(num_xs), others = kept.take(num_others), states = kept.rest();
    const Values operands = joined(xs, others);
    const Values cotangents = given(gradients);
    const Values mapped = joined(joined(xs, cotangents), states);
    const auto step = [&](Values values) {
      Reader all(values);
      const Values x = all.take(xs.size()), cotangent = all.take(cotangents.size());
      const Tensor state = state_in(all.take(states.size()));
      return list(Vjp(region(f))(joined(x, all.rest()), cotangent, state));
    };
    const Stack like{Value(), list(mapped), list(others)};
    const Value step_region = traced_region(step, map_examples(like).at(0));
    Values found = call_control_flow(op, {step_region, list(mapped), list(others)});
    for (size_t i = differentiable(xs).size(); i < found.size(); ++i)
      found[i] = Value(found[i].get<Tensor>().sum({0}));
    return joined(scattered(found, operands), Values(states.size()));
  };
  const Values operands = joined(joined(items(a[1]), items(a[2])), states);
  const auto reaches = [f = a[0]](const std::vector<bool>& is_given) {
    return operands_of(region(f), is_given);
  };
  return record_node("MapBackward", operands, std::move(results), backward, 0, reaches);
}

namespace {

struct ScanParts {
  Values init, xs, others;
  Values states;  // before each step, if those draw
  Values all() const { return joined(joined(joined(init, xs), others), states); }
};

// A scan whose results have the states before its steps behind them.
Values scan_with_states(Operator& op, const Stack& a) {
  const autograd::NoGrad unrecorded;
  const auto step = [&](Values values) { return list(with_state(region(a[0]), values)); };
  return call_control_flow(op, {traced_region(step, scan_examples(a).at(0)), a[1], a[2], a[3]});
}

// The carry that each step started from.
Values carries_of(Operator& op, const RegionValue& combine, const ScanParts& p) {
  const auto step = [&](Values values) {
    Reader all(values);
    const Values carry_and_x = all.take(p.init.size() + p.xs.size());
    const Values states = all.take(p.states.size()), operands = joined(carry_and_x, all.rest());
    Values results =
        states.empty() ? combine(operands) : run_from(state_in(states), combine, operands);
    results.resize(p.init.size());
    for (size_t i = 0; i < p.init.size(); ++i)
      results.emplace_back(values[i].get<Tensor>().clone());
    return list(std::move(results));
  };
  const Stack args{Value(), list(p.init), list(joined(p.xs, p.states)), list(p.others)};
  const Value step_region = traced_region(step, scan_examples(args).at(0));
  const Values found = call_control_flow(op, {step_region, args[1], args[2], args[3]});
  return part(found, p.init.size(), p.init.size());
}

// A scan from the last step to the first that carries gradients.
Values scan_backward(Operator& op, const RegionValue& combine, const ScanParts& p,
                     const Values& gradients) {
  const Values start = given(part(gradients, 0, p.init.size()));
  const Values of_outputs = given(part(gradients, p.init.size(), gradients.size() - p.init.size()));
  const Values carries = carries_of(op, combine, p);
  const Values sums = zeros_of(differentiable(p.others));
  const Values swept = flipped(joined(joined(joined(carries, p.xs), of_outputs), p.states));
  const auto step = [&](Values values) {
    Reader all(values);
    const Values of_carry = all.take(start.size()), sum = all.take(sums.size());
    const Values carry_and_x = all.take(carries.size() + p.xs.size());
    const Values of_output = all.take(of_outputs.size());
    const Tensor state = state_in(all.take(p.states.size()));
    const Values found =
        Vjp(combine)(joined(carry_and_x, all.rest()), joined(of_carry, of_output), state);
    Reader parts(found);
    const Values of_start = parts.take(start.size());
    const Values of_x = parts.take(differentiable(p.xs).size());
    return list(joined(joined(of_start, sums_of(sum, parts.rest())), of_x));
  };
  const Stack args{Value(), list(joined(start, sums)), list(swept), list(p.others)};
  const Value step_region = traced_region(step, scan_examples(args).at(0));
  const Values found = call_control_flow(op, {step_region, args[1], args[2], args[3]});
  Reader parts(found);
  const Values of_init = parts.take(start.size()), of_others = parts.take(sums.size());
  const Values of_operands =
      joined(joined(scattered(of_init, p.init), scattered(flipped(parts.rest()), p.xs)),
             scattered(of_others, p.others));
  return joined(of_operands, Values(p.states.size()));
}

}  // namespace

Values record_scan(Operator& op, const Stack& a, Below below) {
  ScanParts parts{items(a[1]), items(a[2]), items(a[3]), {}};
  const bool is_random = draws(region(a[0]), scan_examples(a).at(0));
  Values results = is_random ? scan_with_states(op, a) : below();
  if (is_random) {
    parts.states.push_back(results.back());
    results.pop_back();
  }
  const auto backward = [&op, combine = a[0], num_init = parts.init.size(),
                         num_xs = parts.xs.size(), num_others = parts.others.size()](
                            const Values& operands, const Values& gradients) {
    Reader all(operands);
    ScanParts p;
    p.init = all.take(num_init);
    p.xs = all.take(num_xs);
    p.others = all.take(num_others);
    p.states = all.rest();
    return scan_backward(op, region(combine), p, gradients);
  };
  const auto reaches = [combine = a[0], num_init = parts.init.size()](std::vector<bool> is_given) {
    return reached_by_steps(region(combine), std::move(is_given), num_init);
  };
  return record_node("ScanBackward", parts.all(), std::move(results), backward, 0, reaches);
}

namespace {

Tensor row_of(const Value& stack, const Tensor& index) {
  return taeda::index_select(stack.get<Tensor>(), 0, index.reshape({SymInt(1)})).squeeze(0);
}

// A run of a loop that keeps what each step started from, in stacks with a row more than steps.
struct KeptLoop {
  Values results;
  Values ends;  // what each step gave
  Tensor count;
  Values starts;
  Values states;  // a stack of those before each step, if the body draws
};

KeptLoop run_kept(const Stack& a) {
  const autograd::NoGrad unrecorded;
  const Values carried = items(a[2]), others = items(a[3]);
  const Tensor zero = taeda::zeros({}, DType::Long, {}, carried.at(0).get<Tensor>().device());
  Values counted = joined({Value(zero)}, carried);
  const bool is_random = draws(region(a[1]), joined(carried, others));
  if (is_random) counted.emplace_back(random_state(carried));
  const Values operands = joined(counted, others);
  const auto inner = [&](const Values& values) {
    return joined(part(values, 1, carried.size()),
                  part(values, counted.size(), values.size() - counted.size()));
  };
  const auto goes_on = [&](Values values) { return list(region(a[0])(inner(values))); };
  const auto step = [&](Values values) {
    const Tensor next = values[0].get<Tensor>() + Scalar(1);
    const Values given = inner(values);
    return list(
        joined({Value(next)}, is_random ? with_state(region(a[1]), given) : region(a[1])(given)));
  };
  const Values found = call_control_flow(
      operator_of(kWhileLoopStackOutput),
      {traced_region(goes_on, operands), traced_region(step, operands), list(counted), a[3]});
  KeptLoop kept;
  // They count from 1 on; a single 0 without a step. An example of a batch that is done stays.
  kept.count = taeda::amax(found[0].get<Tensor>(), {0});
  const Tensor last = taeda::clamp(kept.count - Scalar(1), Scalar(0));
  for (size_t i = 0; i < carried.size(); ++i) {
    const Tensor ends = found.at(i + 1).get<Tensor>();
    kept.results.emplace_back(row_of(found[i + 1], last));
    kept.ends.push_back(found[i + 1]);
    kept.starts.emplace_back(taeda::cat({carried[i].get<Tensor>().unsqueeze(0), ends}, 0));
  }
  if (is_random) kept.states.push_back(found.back());
  return kept;
}

// What the gradient of a loop starts from.
struct LoopGradient {
  Values carried, others;
  Tensor count;
  Values starts, states;
  Values of_results;  // of each carried value
  Values of_starts;   // of each, where somebody used it: the gradient of a gradient does
};

// Gradients of the state before step `at`, with those that its rows have besides. `rows` are the
// elements of `of_starts` that are given.
Values with_rows(const LoopGradient& g, Values moved, const Values& rows, const Tensor& at) {
  size_t place = 0, row = 0;
  for (size_t i = 0; i < g.carried.size(); ++i) {
    if (!may_have_gradient(g.carried[i])) continue;
    if (!g.of_starts[i].is_none())
      moved[place] = Value(moved[place].get<Tensor>() + row_of(rows.at(row++), at));
    ++place;
  }
  return moved;
}

// A loop from the last step to the first that carries gradients.
Values while_backward(const RegionValue& body, const LoopGradient& g) {
  const Values rows = given(g.of_starts), sums = zeros_of(differentiable(g.others));
  const Values moved = with_rows(g, given(g.of_results), rows, g.count);
  const Values state = joined(joined({Value(g.count)}, moved), sums);
  const Values fixed = joined(joined(joined(g.starts, g.others), g.states), rows);
  const Values operands = joined(state, fixed);
  const auto goes_on = [](Values values) {
    return list({Value(taeda::gt(values[0].get<Tensor>(), Scalar(0)))});
  };
  const auto step = [&](Values values) {
    Reader all(values);
    const Tensor now = all.take(1)[0].get<Tensor>();
    const Values of_end = all.take(moved.size()), sum = all.take(sums.size());
    // An example of a batch that is done stays at 0.
    const Tensor at = taeda::clamp(now - Scalar(1), Scalar(0));
    Values start;
    for (const Value& stack : all.take(g.starts.size())) start.emplace_back(row_of(stack, at));
    const Values given = joined(start, all.take(g.others.size()));
    Values drawn;
    for (const Value& stack : all.take(g.states.size())) drawn.emplace_back(row_of(stack, at));
    const Values found = Vjp(body)(given, of_end, state_in(drawn));
    Reader parts(found);
    const Values of_start = with_rows(g, parts.take(moved.size()), all.rest(), at);
    return list(joined(joined({Value(now - Scalar(1))}, of_start), sums_of(sum, parts.rest())));
  };
  const Values found = call_control_flow(
      operator_of(kWhileLoop),
      {traced_region(goes_on, operands), traced_region(step, operands), list(state), list(fixed)});
  Reader parts(found);
  parts.take(1);
  const Values of_carried = parts.take(moved.size());
  return joined(scattered(of_carried, g.carried), scattered(parts.rest(), g.others));
}

}  // namespace

namespace {

// Of what each step gave: it is where the next one starts. Without a step the only row is the first
// start itself.
Value of_starts_by_ends(const Value& of_ends, const Value& of_starts, const Tensor& count) {
  if (of_ends.is_none()) return of_starts;
  const Tensor& rows = of_ends.get<Tensor>();
  const Tensor first = rows.select(0, SymInt(0));
  const Tensor none = taeda::eq(count, Scalar(0));
  const Tensor start = taeda::where(none, first, taeda::zeros_like(first)).unsqueeze(0);
  const Tensor all = taeda::cat({start, rows}, 0);
  return Value(of_starts.is_none() ? all : all + of_starts.get<Tensor>());
}

void check_state(const Values& carried) {
  for (const Value& v : carried)
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented, v.is<Tensor>(),
                     "while_loop: a loop with gradients cannot be recorded with integers that "
                     "change; carry a tensor of no dimensions");
}

// Gives the results a node that keeps what each step started from: the last state, or the stacks of
// all.
KeptLoop record_loop(const Stack& a, KeptLoop kept, bool is_stacked) {
  const Values carried = items(a[2]), others = items(a[3]);
  const size_t num_carried = carried.size(), num_others = others.size();
  const auto backward = [body = a[1], num_carried, num_others, num_states = kept.states.size(),
                         is_stacked](const Values& all, const Values& gradients) {
    Reader operands(all);
    LoopGradient g;
    g.carried = operands.take(num_carried);
    g.others = operands.take(num_others);
    g.count = operands.take(1)[0].get<Tensor>();
    g.states = operands.take(num_states);
    g.starts = operands.rest();
    g.of_results = part(gradients, 0, num_carried);
    g.of_starts = part(gradients, num_carried, num_carried);
    for (size_t i = 0; is_stacked && i < num_carried; ++i) {
      if (!may_have_gradient(g.carried[i])) continue;
      g.of_starts[i] = of_starts_by_ends(g.of_results[i], g.of_starts[i], g.count);
      g.of_results[i] = Value(taeda::zeros_like(g.carried[i].get<Tensor>()));
    }
    return joined(while_backward(region(body), g), Values(1 + num_states));
  };
  const auto reaches = [body = a[1], num_carried](const std::vector<bool>& is_given) {
    std::vector<bool> ends(num_carried);
    for (size_t i = 0; i < num_carried; ++i) ends[i] = is_given[i] || is_given[num_carried + i];
    std::vector<bool> reached = reached_by_steps(region(body), ends, num_carried);
    // Of a loop without a step.
    for (size_t i = 0; i < num_carried; ++i) reached[i] = reached[i] || ends[i];
    return reached;
  };
  const Values operands = joined(joined(joined(carried, others), {Value(kept.count)}), kept.states);
  Values& shown = is_stacked ? kept.ends : kept.results;
  const Values results = record_node("WhileLoopBackward", operands, joined(shown, kept.starts),
                                     backward, num_carried, reaches);
  shown = part(results, 0, num_carried);
  kept.starts = part(results, num_carried, num_carried);
  return kept;
}

Values listed(const KeptLoop& kept) {
  return joined(joined(joined(kept.results, {Value(kept.count)}), kept.starts), kept.states);
}

KeptLoop kept_of(const Values& results, size_t num_carried) {
  Reader all(results);
  KeptLoop kept;
  kept.results = all.take(num_carried);
  kept.count = all.take(1)[0].get<Tensor>();
  kept.starts = all.take(num_carried);
  kept.states = all.rest();
  return kept;
}

// By the operator that levels further out differentiate as a whole.
KeptLoop call_kept(const Stack& a) {
  const autograd::NoGrad unrecorded;
  return kept_of(call_control_flow(operator_of(kKeptLoop), a), items(a[2]).size());
}

}  // namespace

Values keep_steps(const Stack& a) { return listed(run_kept(a)); }

Values record_while(Operator&, const Stack& a, Below) {
  check_state(items(a[2]));
  return record_loop(a, call_kept(a), false).results;
}
Values record_kept(Operator&, const Stack& a, Below below) {
  return listed(record_loop(a, kept_of(below(), items(a[2]).size()), false));
}
Values record_while_stacked(Operator&, const Stack& a, Below) {
  check_state(items(a[2]));
  return record_loop(a, run_kept(a), true).ends;
}

namespace {

Tensor behind_first(const Value& v) {
  const Tensor& t = v.get<Tensor>();
  return taeda::narrow(t, 0, SymInt(1), t.sym_size(0) - SymInt(1));
}

// That of the scan from the first slice on which gives the same, step by step.
Values steps_backward(const RegionValue& combine, const Values& xs, const Values& others,
                      const Values& gradients) {
  ScanParts p{slices(xs, 0), {}, others, {}};
  for (const Value& x : xs) p.xs.emplace_back(behind_first(x));
  Values of_results, of_rows;
  for (const Value& g : gradients) {
    of_rows.push_back(g.is_none() ? Value() : Value(behind_first(g)));
    of_results.push_back(
        g.is_none() ? Value() : Value(taeda::zeros_like(g.get<Tensor>().select(0, SymInt(0)))));
  }
  const auto step = [&](Values values) {
    Values results = combine(values);
    for (size_t i = 0; i < xs.size(); ++i) results.emplace_back(results[i].get<Tensor>().clone());
    return list(std::move(results));
  };
  const Stack like{Value(), list(p.init), list(p.xs), list(p.others)};
  const Value step_region = traced_region(step, scan_examples(like).at(0));
  Values found =
      scan_backward(operator_of(kScan), region(step_region), p, joined(of_results, of_rows));
  Values out;
  for (size_t i = 0; i < xs.size(); ++i) {
    const Value &of_first = found[i], &of_others = found.at(xs.size() + i);
    if (of_first.is_none()) {
      out.emplace_back();
      continue;
    }
    Tensor first = of_first.get<Tensor>();
    if (!gradients[i].is_none()) first = first + gradients[i].get<Tensor>().select(0, SymInt(0));
    out.emplace_back(taeda::cat({first.unsqueeze(0), of_others.get<Tensor>()}, 0));
  }
  return joined(std::move(out), part(found, 2 * xs.size(), others.size()));
}

}  // namespace

// Gradients are those of the parts. Of a length that is a symbol there is no fixed number of parts.
Values record_associative_scan(Operator&, const Stack& a, Below below) {
  const Values xs = items(a[1]), others = items(a[2]);
  if (!length_of(xs, "associative_scan").is_symbolic())
    return combine_in_parts(region(a[0]), xs, others);
  const auto backward = [combine = a[0], count = xs.size()](const Values& operands,
                                                            const Values& gradients) {
    return steps_backward(region(combine), part(operands, 0, count),
                          part(operands, count, operands.size() - count), gradients);
  };
  return record_node("AssociativeScanBackward", joined(xs, others), below(), backward);
}

}  // namespace taeda::fx
