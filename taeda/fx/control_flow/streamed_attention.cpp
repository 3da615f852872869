// Attention block by block, with a region for what happens to a block of scores.
//
// Note [Streamed attention]: scores are made for a block of queries and a block of keys of all
// batches and heads at once. A region, which holds the program's score_mod and mask_mod, turns them
// into weights relative to the largest score so far:
//
//   step(scores, b, h, q_idx, kv_idx, is_inside, largest, total, *others)
//     -> (weights, largest, total, shrink)
//
// `shrink` is what earlier sums are multiplied with. There are two regions: for blocks that the
// mask leaves as a whole and for those that it cuts; blocks that it closes are never made. So
// memory grows with the lengths and not with their product. Backward makes weights again: with the
// logarithm of twice the sum as the largest score a step gives half of the softmax. It is larger
// than every score, so the step needs no largest score of the block, and the cotangent
// 2 (dP - delta) of these weights gives the gradient of the scores. This is part of the region of
// backward, so that a block is read and written once beside its products. The scale is a factor of
// queries, of which there are fewer than of scores; half types would round it, and scale scores.
#include <algorithm>
#include <cmath>
#include <limits>

#include "taeda/fx/control_flow/run.h"
#include "taeda/fx/control_flow/transforms.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/padding/functions.h"

namespace taeda::fx {
namespace {

constexpr size_t kNumPlaces = 8;  // operands of a step before the others

const Tensor& tensor(const Value& v) { return v.get<Tensor>(); }

// One call: the lists of its arguments behind the regions.
struct StreamedCall {
  Values operands, places, others, blocks;
  double scale;

  StreamedCall(const Stack& a, size_t first)
      : operands(items(a.at(first))),
        places(items(a.at(first + 1))),
        others(items(a.at(first + 2))),
        blocks(items(a.at(first + 3))),
        scale(items(a.at(first + 4)).at(0).to_double()) {
    TAEDA_CHECK(places.size() == kNumPlaces, "streamed_attention: got ", places.size(),
                " places, expected ", kNumPlaces);
  }
  Values examples() const { return joined(places, others); }
  const Tensor& query() const { return tensor(operands[0]); }
  const Tensor& key() const { return tensor(operands[1]); }
  const Tensor& value() const { return tensor(operands[2]); }
  DType precision() const { return tensor(places[0]).dtype(); }
};

// Which blocks of keys each block of queries sees, of the lists of a BlockMask. What only some
// batches or heads see is seen by all, behind the mask.
class VisibleBlocks {
 public:
  VisibleBlocks(const Values& lists, int64_t rows, int64_t columns)
      : columns_(columns),
        kinds_(static_cast<size_t>(rows * columns), lists.empty() ? kFull : kClosed) {
    if (lists.empty()) return;
    const int64_t examples = tensor(lists[0]).size(0) * tensor(lists[0]).size(1);
    std::vector<int64_t> full(kinds_.size(), 0);
    note(tensor(lists[0]), tensor(lists[1]), rows, [&](size_t at) { kinds_[at] = kCut; });
    if (lists.size() > 2)
      note(tensor(lists[2]), tensor(lists[3]), rows, [&](size_t at) {
        kinds_[at] = kCut;
        ++full[at];
      });
    for (size_t i = 0; i < full.size(); ++i)
      if (full[i] == examples) kinds_[i] = kFull;
  }
  bool is_closed(int64_t row, int64_t column) const { return kind(row, column) == kClosed; }
  bool is_full(int64_t row, int64_t column) const { return kind(row, column) == kFull; }

 private:
  enum Kind : uint8_t { kClosed, kCut, kFull };

  Kind kind(int64_t row, int64_t column) const {
    return kinds_[static_cast<size_t>(row * columns_ + column)];
  }
  template <class F>
  void note(const Tensor& counts, const Tensor& indices, int64_t rows, F&& f) {
    const Tensor n = counts.to(DType::Int64).contiguous(),
                 at = indices.to(DType::Int64).contiguous();
    const int64_t width = at.size(-1), listed = n.size(-1);
    for (int64_t line = 0; line < n.numel(); ++line) {
      const int64_t row = line % listed;
      if (row >= rows) continue;
      const int64_t count = std::min(n.data<int64_t>()[line], width);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t column = at.data<int64_t>()[line * width + i];
        if (column >= 0 && column < columns_) f(static_cast<size_t>(row * columns_ + column));
      }
    }
  }

  int64_t columns_;
  std::vector<Kind> kinds_;
};

// The blocks of one length; the last one may reach beyond the end.
struct Cut {
  int64_t length, size;
  int64_t count() const { return length == 0 ? 0 : (length + size - 1) / size; }
  int64_t inside(int64_t i) const { return std::min(size, length - i * size); }
  // Block `i` along dimension 2, with zeros beyond the end.
  Tensor of(const Tensor& t, int64_t i) const {
    const Tensor part = t.narrow(2, i * size, inside(i));
    if (inside(i) == size) return part;
    SymIntVec padding(static_cast<size_t>(2 * (t.dim() - 2)), SymInt(0));
    padding.back() = SymInt(size - inside(i));
    return taeda::constant_pad_nd(part, SymIntList(padding));
  }
  // The blocks in a row, without what lies beyond the end.
  Tensor joined_blocks(std::vector<Tensor> blocks) const {
    blocks.back() = blocks.back().narrow(2, 0, inside(count() - 1));
    return taeda::cat(blocks, 2);
  }
};

// What the steps of a call share.
class Stream {
 public:
  explicit Stream(const StreamedCall& call)
      : call_(call),
        queries_{call.query().size(2), tensor(call.places[3]).size(0)},
        keys_{call.key().size(2), tensor(call.places[4]).size(0)},
        visible_(call.blocks, queries_.count(), keys_.count()) {}

  const Cut& queries() const { return queries_; }
  const Cut& keys() const { return keys_; }
  const VisibleBlocks& visible() const { return visible_; }
  int64_t heads() const { return call_.key().size(1); }

  // Rows of the heads that share keys, one behind the other.
  Tensor grouped(const Tensor& t) const {
    return t.reshape({t.sym_size(0), SymInt(heads()), SymInt(-1), t.sym_size(3)});
  }
  Tensor by_head(const Tensor& t) const {
    return t.reshape(
        {t.sym_size(0), call_.query().sym_size(1), SymInt(queries_.size), t.sym_size(3)});
  }
  Tensor product(const Tensor& a, const Tensor& b) const {
    return by_head(taeda::matmul(grouped(a), b)).to(call_.precision());
  }
  // The sum over the rows of all heads of a group: (keys, width).
  Tensor turned_product(const Tensor& a, const Tensor& b, const Tensor& like) const {
    const Tensor sum = taeda::matmul(grouped(a).mT(), grouped(b)).to(call_.precision());
    return sum.size(0) == like.size(0) ? sum : sum.sum({0}, /*keepdim=*/true);
  }
  bool scales_queries() const { return call_.query().dtype() == call_.precision(); }
  // Block `row` of the queries, scaled where scores are not.
  Tensor scaled_queries(int64_t row) const {
    const Tensor query = queries_.of(call_.query(), row);
    return scales_queries() ? query * Scalar(call_.scale) : query;
  }
  Tensor scores(const Tensor& query, int64_t column) const {
    const Tensor made = product(query, keys_.of(call_.key(), column).mT());
    return scales_queries() ? made : made * Scalar(call_.scale);
  }
  // The operands of a step: scores, places and what the rows have so far.
  Values operands(const Tensor& scores, int64_t row, int64_t column, const Tensor& largest,
                  const Tensor& total) const {
    const auto moved = [](const Value& places, int64_t first, int64_t last) {
      return taeda::clamp(tensor(places) + Scalar(first), std::nullopt, Scalar(last));
    };
    const Tensor keys = moved(call_.places[4], column * keys_.size, keys_.length);
    Values all{Value(scores),
               call_.places[1],
               call_.places[2],
               Value(moved(call_.places[3], row * queries_.size, queries_.length - 1)),
               Value(taeda::clamp(keys, std::nullopt, Scalar(keys_.length - 1))),
               Value(keys.lt(Scalar(keys_.length))),
               Value(largest),
               Value(total)};
    return joined(std::move(all), call_.others);
  }
  Tensor row_numbers(double value) const {
    const Tensor& q = call_.query();
    return taeda::full({q.sym_size(0), q.sym_size(1), SymInt(queries_.size)}, Scalar(value),
                       call_.precision(), std::nullopt, q.device());
  }

 private:
  const StreamedCall& call_;
  Cut queries_, keys_;
  VisibleBlocks visible_;
};

// ---- forward: (full step, cut step, operands, places, others, blocks, settings) ----

Values streamed_shapes(const Stack& a) {
  const StreamedCall call(a, 2);
  const SymIntList sizes = call.query().sym_sizes();
  const Tensor rows = call.query().new_empty({sizes[0], sizes[1], sizes[2]}, call.precision());
  return {Value(call.query().new_empty({sizes[0], sizes[1], sizes[2], call.value().sym_size(3)})),
          Value(rows), Value(taeda::empty_like(rows))};
}

Values run_streamed(const Stack& a) {
  const StreamedCall call(a, 2);
  const Stream stream(call);
  if (stream.queries().count() == 0) return streamed_shapes(a);
  std::vector<Tensor> outputs, sums, most;
  for (int64_t row = 0; row < stream.queries().count(); ++row) {
    const Tensor query = stream.scaled_queries(row);
    Tensor largest = stream.row_numbers(-std::numeric_limits<double>::infinity());
    Tensor total = stream.row_numbers(0), output;
    for (int64_t column = 0; column < stream.keys().count(); ++column) {
      if (stream.visible().is_closed(row, column)) continue;
      const RegionValue& step = region(a[stream.visible().is_full(row, column) ? 0 : 1]);
      const Values made =
          step(stream.operands(stream.scores(query, column), row, column, largest, total));
      const Tensor weighted = stream.product(tensor(made.at(0)).to(call.value().dtype()),
                                             stream.keys().of(call.value(), column));
      output = output.defined() ? output * tensor(made.at(3)).unsqueeze(-1) + weighted : weighted;
      largest = tensor(made.at(1));
      total = tensor(made.at(2));
    }
    const Tensor divisor = total.masked_fill(total.eq(Scalar(0)), Scalar(1));
    if (!output.defined())
      output = taeda::zeros({query.sym_size(0), query.sym_size(1), SymInt(stream.queries().size),
                             call.value().sym_size(3)},
                            call.precision(), std::nullopt, query.device());
    outputs.push_back((output / divisor.unsqueeze(-1)).to(call.query().dtype()));
    sums.push_back(largest + divisor.log());
    most.push_back(largest);
  }
  return {Value(stream.queries().joined_blocks(outputs)),
          Value(stream.queries().joined_blocks(sums)), Value(stream.queries().joined_blocks(most))};
}

std::vector<Values> streamed_examples(const Stack& a) {
  const Values examples = StreamedCall(a, 2).examples();
  return {examples, examples};
}

[[noreturn]] Values refuse_batch(Operator& op, const Stack&) {
  fail(ErrorKind::NotImplemented, "vmap of ", op.full_name(),
       " in a traced program is not implemented");
}
[[noreturn]] Values refuse_record(Operator& op, const Stack&, Below) {
  fail(ErrorKind::NotImplemented, "the derivative of ", op.full_name(), " is not implemented");
}

// ---- backward: (full, cut, (query, key, value, output, logsumexp, grad of output, grad of
// logsumexp), places, others, blocks, settings), steps give (weights, grad of scores, *others')
// ----

// A step of which only the weights are wanted, relative to a given largest score: without the
// largest one of the block, and so without its gradient.
Value weights_of_step(const RegionValue& step) {
  constexpr size_t kLargest = 6;  // among the operands
  const Graph& from = *step.graph();
  const std::vector<Arg>& made = from.output_node()->args().at(0).compound()->items;
  const Node *weights = made.at(0).node(), *most = made.at(1).node();
  auto to = make_intrusive<Graph>();
  NodeMap map;
  const auto mapped = [&](Node& node) { return map.at(&node); };
  for (const Node& node : from)
    if (&node == most)
      map.emplace(&node, map.at(from.placeholders().at(kLargest)));
    else if (&node != from.output_node())
      map.emplace(&node, Arg(copy_node(node, *to, mapped)));
  to->output(Arg::tuple({map.at(weights)}));
  return region_value(std::move(to));
}

// A step and its derivative, as one region. Behind the operands of the step it takes the product of
// the output's gradient with values, and delta.
Value backward_step(const Value& step, const StreamedCall& call) {
  const Value weights = weights_of_step(region(step));
  const auto program = [&](Values values) {
    const Values operands = part(values, 0, values.size() - 2);
    const Tensor &product = tensor(values.at(values.size() - 2)), &delta = tensor(values.back());
    const Tensor cotangent = (product - delta.unsqueeze(-1)) * Scalar(2);
    const Values made = region(weights)(operands);
    const Values found = Vjp(region(weights))(operands, {Value(cotangent)});
    // Of the floats among the operands: the scores, largest and total come before the others.
    return list(joined({made.at(0), found.at(0)}, part(found, 3, found.size() - 3)));
  };
  return traced_region(program, joined(call.examples(), {call.places[0], call.places[6]}));
}

Values zero_gradients(const StreamedCall& call) {
  Values found;
  for (const Value& v : joined(part(call.operands, 0, 3), differentiable(call.others)))
    found.emplace_back(taeda::zeros_like(tensor(v)));
  return found;
}

Values run_streamed_backward(const Stack& a) {
  const StreamedCall call(a, 2);
  const Stream stream(call);
  if (stream.queries().count() == 0 || stream.keys().count() == 0) return zero_gradients(call);
  const Tensor &output = tensor(call.operands.at(3)), &sums = tensor(call.operands.at(4)),
               &grad = tensor(call.operands.at(5)), &grad_sums = tensor(call.operands.at(6));
  const Tensor delta =
      (grad.to(call.precision()) * output.to(call.precision())).sum({-1}) - grad_sums;
  std::vector<Tensor> of_queries, of_keys(stream.keys().count()), of_values(stream.keys().count());
  std::vector<Tensor> of_others;
  const auto add = [](Tensor& sum, const Tensor& t) { sum = sum.defined() ? sum + t : t; };
  for (int64_t row = 0; row < stream.queries().count(); ++row) {
    const Tensor query = stream.scaled_queries(row), row_grad = stream.queries().of(grad, row),
                 row_sums = stream.queries().of(sums, row) + Scalar(std::log(2.0)),
                 row_delta = stream.queries().of(delta, row);
    const Tensor none = taeda::zeros_like(row_sums);
    Tensor of_query;
    for (int64_t column = 0; column < stream.keys().count(); ++column) {
      if (stream.visible().is_closed(row, column)) continue;
      const RegionValue& step = region(a[stream.visible().is_full(row, column) ? 0 : 1]);
      const Tensor value = stream.keys().of(call.value(), column);
      const Values made =
          step(joined(stream.operands(stream.scores(query, column), row, column, row_sums, none),
                      {Value(stream.product(row_grad, value.mT())), Value(row_delta)}));
      const Tensor of_scores =
          (stream.scales_queries() ? tensor(made.at(1)) : tensor(made.at(1)) * Scalar(call.scale))
              .to(call.query().dtype());
      add(of_query, stream.product(of_scores, stream.keys().of(call.key(), column)));
      add(of_keys[column], stream.turned_product(of_scores, query, call.key()));
      const Tensor weights = tensor(made.at(0)).to(grad.dtype());
      add(of_values[column], stream.turned_product(weights, row_grad, call.value()));
      of_others.resize(made.size() - 2);
      for (size_t i = 2; i < made.size(); ++i) add(of_others[i - 2], tensor(made[i]));
    }
    if (!of_query.defined()) of_query = taeda::zeros_like(query, call.precision());
    of_queries.push_back(stream.scales_queries() ? of_query * Scalar(call.scale) : of_query);
  }
  const auto joined_keys = [&](std::vector<Tensor>& blocks, const Tensor& like, double factor) {
    for (int64_t i = 0; i < stream.keys().count(); ++i)
      if (!blocks[i].defined())
        blocks[i] = taeda::zeros_like(stream.keys().of(like, i), call.precision());
    const Tensor all = stream.keys().joined_blocks(blocks);
    return (factor == 1 ? all : all * Scalar(factor)).to(like.dtype());
  };
  Values found{Value(stream.queries().joined_blocks(of_queries).to(call.query().dtype())),
               Value(joined_keys(of_keys, call.key(), 1)),
               Value(joined_keys(of_values, call.value(), 2))};
  const Values like = differentiable(call.others);
  for (size_t i = 0; i < like.size(); ++i)
    found.emplace_back(i < of_others.size() ? of_others[i] : taeda::zeros_like(tensor(like[i])));
  return found;
}

Values streamed_backward_shapes(const Stack& a) {
  const StreamedCall call(a, 2);
  Values found;
  for (size_t i = 0; i < 3; ++i)
    found.emplace_back(tensor(call.operands[i]).new_empty(tensor(call.operands[i]).sym_sizes()));
  for (const Value& v : differentiable(call.others))
    found.emplace_back(tensor(v).new_empty(tensor(v).sym_sizes()));
  return found;
}

std::vector<Values> streamed_backward_examples(const Stack& a) {
  const StreamedCall call(a, 2);
  const Values examples = joined(call.examples(), {call.places[0], call.places[6]});
  return {examples, examples};
}

Values record_streamed(Operator&, const Stack& a, Below below) {
  const StreamedCall call(a, 2);
  const size_t num_places = call.places.size(), num_others = call.others.size(),
               num_blocks = call.blocks.size();
  const auto backward = [full = a[0], cut = a[1], settings = a[6], num_places, num_others,
                         num_blocks](const Values& all, const Values& gradients) {
    size_t at = 0;
    const auto take = [&](size_t count) {
      at += count;
      return part(all, at - count, count);
    };
    Values tensors = take(3);
    const Values places = take(num_places), others = take(num_others), blocks = take(num_blocks);
    const Values kept = take(3);  // output, logsumexp, largest
    for (size_t i = 0; i < 2; ++i) tensors.push_back(kept[i]);
    for (size_t i = 0; i < 2; ++i)
      tensors.push_back(gradients[i].is_none() ? Value(taeda::zeros_like(tensor(kept[i])))
                                               : gradients[i]);
    Stack args{Value(), Value(), list(tensors), list(places), list(others), list(blocks), settings};
    const StreamedCall like(args, 2);
    args[0] = backward_step(full, like);
    args[1] = backward_step(cut, like);
    const Values found = call_control_flow(operator_of(kStreamedAttentionBackward), args);
    Values by_operand = part(found, 0, 3);
    by_operand.resize(3 + num_places);
    by_operand = joined(std::move(by_operand), scattered(part(found, 3, found.size() - 3), others));
    by_operand.resize(by_operand.size() + num_blocks);
    return by_operand;
  };
  const Values operands =
      joined(joined(joined(call.operands, call.places), call.others), call.blocks);
  return record_node("StreamedAttentionBackward", operands, below(), backward, 3);
}

}  // namespace

const ControlFlow kStreamedAttention{
    "higher_order::streamed_attention(Any full_step, Any cut_step, Any[] operands, Any[] places, "
    "Any[] others, Any[] blocks, Any[] settings) -> Any[]",
    "(((((",
    run_streamed,
    streamed_shapes,
    streamed_examples,
    record_streamed,
    refuse_batch};
const ControlFlow kStreamedAttentionBackward{
    "higher_order::streamed_attention_backward(Any full_step, Any cut_step, Any[] operands, Any[] "
    "places, Any[] others, Any[] blocks, Any[] settings) -> Any[]",
    "(((((",
    run_streamed_backward,
    streamed_backward_shapes,
    streamed_backward_examples,
    refuse_record,
    refuse_batch};

}  // namespace taeda::fx
