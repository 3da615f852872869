// Noting scores, and the product that ends attention.
#include "taeda/inductor/recognize_attention.h"

#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>

#include "taeda/autograd/grad_mode.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/shapes/sym_expr_node.h"
#include "taeda/ops/attention/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/operators.h"
#include "taeda/ops/operators.h"

namespace taeda::inductor {

using dispatch::Operator;
using dispatch::Stack;
using dispatch::Value;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Keys from which on the gradient in one pass, which computes scores again, is the faster one.
constexpr int64_t kLongRow = 1024;

// A tensor, and the state in which it was read.
struct Operand {
  Tensor tensor;
  uint32_t version = 0;

  Operand() = default;
  explicit Operand(const Tensor& t) : tensor(t), version(t.version()) {}
  bool is_unchanged() const { return !tensor.defined() || tensor.version() == version; }
};

// How scores, or their softmax, came about.
struct Scores {
  Operand result, query, transposed_key;
  double scale = 1;
  Operand mask;              // added, or true where a number is filled in
  bool is_fill = false;      // which of the two
  double fill = -kInfinity;  // that number
  bool is_softmax = false;

  bool is_unchanged() const {
    return result.is_unchanged() && query.is_unchanged() && transposed_key.is_unchanged() &&
           mask.is_unchanged();
  }
};

enum class Part : uint8_t {
  Product,
  AddedProduct,
  Einsum,
  Multiply,
  Divide,
  Add,
  Fill,
  Where,
  Softmax,
  Cast,
};

const std::unordered_map<const Operator*, Part>& parts() {
  static const auto* const made = new std::unordered_map<const Operator*, Part>{
      {&ops::matmul, Part::Product},          {&ops::bmm, Part::Product},
      {&ops::baddbmm, Part::AddedProduct},    {&ops::einsum, Part::Einsum},
      {&ops::mul_Tensor, Part::Multiply},     {&ops::mul_Scalar, Part::Multiply},
      {&ops::mul__Tensor, Part::Multiply},    {&ops::div_Tensor, Part::Divide},
      {&ops::div_Scalar, Part::Divide},       {&ops::div__Tensor, Part::Divide},
      {&ops::add_Tensor, Part::Add},          {&ops::add__Tensor, Part::Add},
      {&ops::masked_fill_Scalar, Part::Fill}, {&ops::masked_fill__Scalar, Part::Fill},
      {&ops::where_self, Part::Where},        {&ops::where_ScalarSelf, Part::Where},
      {&ops::where_ScalarOther, Part::Where}, {&ops::softmax_int, Part::Softmax},
      {&ops::to_dtype, Part::Cast},           {&ops::to_device, Part::Cast},
      {&ops::to_other, Part::Cast},
  };
  return *made;
}

// A number of the program; nothing where it is a tensor or depends on sizes.
std::optional<double> number_in(const Value& v) {
  if (v.is<int64_t>() || v.is<double>()) return v.to_double();
  if (!v.is<Tensor>() || !v.get<Tensor>().defined()) return std::nullopt;
  const Tensor& t = v.get<Tensor>();
  if (!t.impl()->is_wrapped_number() || is_complex(t.dtype())) return std::nullopt;
  const Scalar number = read_scalar(t);
  if (number.is_symbolic()) return std::nullopt;
  return number.to_double();
}

bool is_narrow(DType dtype) { return dtype == DType::Half || dtype == DType::BFloat16; }

// The number to fill in for one that takes a place out of every softmax, which scores are far from;
// nothing for others. Finite ones become the least of the dtype, to which scores may be added
// without changing it: rows of nothing else stay the mean of all values, as in the program.
std::optional<double> fill_for(double number, DType dtype) {
  constexpr double kFar = -1e8;
  if (number == -kInfinity) return number;
  if (!(number <= kFar)) return std::nullopt;
  switch (dtype) {
    case DType::Float: return -static_cast<double>(std::numeric_limits<float>::max());
    case DType::Double: return -std::numeric_limits<double>::max();
    case DType::BFloat16: return -std::ldexp(255.0 / 128, 127);
    default: return std::nullopt;
  }
}

// Whether a tensor has one number per matrix of scores, or fewer.
bool is_one_per_matrix(const Tensor& t) {
  for (int64_t d = std::max<int64_t>(t.dim() - 2, 0); d < t.dim(); ++d)
    if (t.sym_size(d).is_symbolic() || t.sym_size(d).expect_int() != 1) return false;
  return true;
}

// Whether two sizes are equal without a condition on any of them.
bool are_same(const SymInt& a, const SymInt& b) {
  if (!a.is_symbolic() && !b.is_symbolic()) return a.expect_int() == b.expect_int();
  // A condition of the program may have made a symbol a number.
  const auto is_number = [](const SymInt& symbol, const SymInt& number) {
    const fx::SymExprNode* node = fx::SymExprNode::from(symbol.node());
    return node && node->expr()->is_constant(number.expect_int());
  };
  if (!a.is_symbolic()) return is_number(b, a);
  if (!b.is_symbolic()) return is_number(a, b);
  const fx::SymExprNode *x = fx::SymExprNode::from(a.node()), *y = fx::SymExprNode::from(b.node());
  return x && y && x->expr() == y->expr();
}

// The value of a size in the run that was traced; 0 where it has none.
int64_t likely(const SymInt& size) {
  if (!size.is_symbolic()) return size.expect_int();
  const fx::SymExprNode* node = fx::SymExprNode::from(size.node());
  return node && node->expr()->has_hint ? node->expr()->value.integer : 0;
}

bool have_same_sizes(const Tensor& a, const Tensor& b, int64_t num_dims) {
  if (a.dim() < num_dims || b.dim() < num_dims) return false;
  for (int64_t d = 0; d < num_dims; ++d)
    if (!are_same(a.sym_size(d), b.sym_size(d))) return false;
  return true;
}

// The letters of an einsum that is a product of matrices: of the operands, of the result, of the
// batch in the result's order, of rows, of what is summed over, and of columns.
struct ProductLetters {
  std::string first, second, out, batch, row, inner, column;
};

std::optional<ProductLetters> read_letters(std::string equation) {
  std::erase(equation, ' ');
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    return std::nullopt;
  ProductLetters l;
  l.first = equation.substr(0, comma);
  l.second = equation.substr(comma + 1, arrow - comma - 1);
  l.out = equation.substr(arrow + 2);
  const auto has = [](const std::string& text, char c) { return text.find(c) != text.npos; };
  for (const std::string* text : {&l.first, &l.second, &l.out})
    for (size_t i = 0; i < text->size(); ++i) {
      const char c = (*text)[i];
      const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!is_letter || text->find(c, i + 1) != text->npos) return std::nullopt;
    }
  for (const char c : l.out) {
    const bool in_first = has(l.first, c), in_second = has(l.second, c);
    if (!in_first && !in_second) return std::nullopt;
    (in_first && in_second ? l.batch : in_first ? l.row : l.column) += c;
  }
  for (const char c : l.first)
    if (!has(l.out, c)) l.inner += c;
  const bool is_product = l.row.size() == 1 && l.column.size() == 1 && l.inner.size() == 1 &&
                          has(l.second, l.inner[0]) && l.second.size() == l.batch.size() + 2;
  return is_product ? std::optional(l) : std::nullopt;
}

// A tensor whose dimensions have the letters `from`, in the order `to`.
Tensor reordered(const Tensor& t, const std::string& from, const std::string& to) {
  if (from == to) return t;
  std::vector<int64_t> order;
  for (const char c : to) order.push_back(static_cast<int64_t>(from.find(c)));
  return t.permute(order);
}

class AttentionFinder final : public dispatch::Mode {
 public:
  AttentionFinder() { is_before_autograd = true; }

  bool offer_early(Operator& op, Stack& stack) override {
    const auto found = parts().find(&op);
    if (found == parts().end()) return false;
    switch (found->second) {
      case Part::Product: return take_product(op, stack);
      case Part::AddedProduct: return take_added_product(op, stack);
      case Part::Einsum: return take_einsum(op, stack);
      case Part::Where: return take_where(op, stack);
      default: return take_step(op, found->second, stack);
    }
  }
  // What is left below autograd is not its concern.
  bool offer(Operator& op, Stack& stack) override {
    run(op, stack);
    return true;
  }
  void run(Operator& op, Stack& stack) override { dispatch::call_boxed(op, stack); }

 private:
  bool take_step(Operator& op, Part part, Stack& stack) {
    const Scores* scores = find(stack.at(0));
    // A mask may stand first.
    const bool is_second = !scores && &op == &ops::add_Tensor && number_in(stack.at(2)) == 1.0;
    if (is_second) scores = find(stack.at(1));
    if (!scores || (scores->is_softmax && part != Part::Cast)) return false;
    if (is_second) std::swap(stack[0], stack[1]);
    std::optional<Scores> next = followed(*scores, part, stack);
    if (!next && is_second) std::swap(stack[0], stack[1]);
    return next &&
           run_step(op, stack, std::move(*next), part == Part::Softmax || part == Part::Cast);
  }
  bool run_step(Operator& op, Stack& stack, Scores next, bool may_change_dtype) {
    dispatch::call_boxed(op, stack);
    note(std::move(next), stack.at(0).get<Tensor>(), may_change_dtype);
    return true;
  }
  // A number where a condition holds, or where it does not.
  bool take_where(Operator& op, Stack& stack) {
    const Tensor condition = stack.at(0).get<Tensor>();
    const bool is_first = find(stack.at(1)) != nullptr;
    const Scores* scores = find(stack.at(is_first ? 1 : 2));
    if (!scores || scores->is_softmax || condition.dtype() != DType::Bool) return false;
    const std::optional<double> number = number_in(stack.at(is_first ? 2 : 1));
    if (!number || !fill_for(*number, scores->result.tensor.dtype())) return false;
    std::optional<Scores> next =
        filled(*scores, is_first ? condition.logical_not() : condition, *number);
    return next && run_step(op, stack, std::move(*next), false);
  }

  const Scores* find(const Value& v) const {
    if (!v.is<Tensor>() || !v.get<Tensor>().defined()) return nullptr;
    const auto found = known_.find(v.get<Tensor>().impl());
    return found == known_.end() || !found->second.is_unchanged() ? nullptr : &found->second;
  }
  void note(Scores scores, const Tensor& result, bool may_change_dtype) {
    // Scores that a mask makes larger are those of another attention.
    const bool is_alike = scores.result.tensor.dim() == result.dim() &&
                          have_same_sizes(scores.result.tensor, result, result.dim()) &&
                          (may_change_dtype || scores.result.tensor.dtype() == result.dtype());
    if (!is_alike) return;
    scores.result = Operand(result);
    known_[result.impl()] = std::move(scores);
  }

  // The scores behind another step; nothing where attention has no such step.
  static std::optional<Scores> followed(const Scores& scores, Part part, const Stack& stack) {
    Scores next = scores;
    switch (part) {
      case Part::Multiply:
      case Part::Divide: {
        if (scores.mask.tensor.defined()) return std::nullopt;
        const std::optional<double> by = number_in(stack.at(1));
        if (!by) return scaled_by_tensor(scores, part, stack.at(1));
        if (*by == 0) return std::nullopt;
        next.scale = part == Part::Multiply ? scores.scale * *by : scores.scale / *by;
        return next;
      }
      case Part::Add: {
        const bool is_tensor = stack.at(1).is<Tensor>() && stack.at(1).get<Tensor>().defined() &&
                               !stack.at(1).get<Tensor>().impl()->is_wrapped_number();
        if (!is_tensor || number_in(stack.at(2)) != 1.0) return std::nullopt;
        const Tensor& mask = stack.at(1).get<Tensor>();
        if (!scores.mask.tensor.defined()) {
          next.mask = Operand(mask);
          return next;
        }
        if (mask.dtype() != scores.query.tensor.dtype()) return std::nullopt;
        next.mask = Operand(added_mask(scores).add(mask));
        next.is_fill = false;
        return next;
      }
      case Part::Fill: {
        const std::optional<double> number = number_in(stack.at(2));
        return number ? filled(scores, stack.at(1).get<Tensor>(), *number) : std::nullopt;
      }
      case Part::Softmax: {
        const int64_t dim = stack.at(1).to_int();
        const DType from = scores.result.tensor.dtype();
        const DType to = stack.at(2).is_none() ? from : stack.at(2).get<DType>();
        const bool keeps_numbers = to == from || (to == DType::Float && is_narrow(from));
        if ((dim != -1 && dim != scores.result.tensor.dim() - 1) || !keeps_numbers)
          return std::nullopt;
        next.is_softmax = true;
        return next;
      }
      case Part::Cast: {
        // Scores of a narrow dtype are widened, weights become what the query is.
        const DType from = scores.result.tensor.dtype(), query = scores.query.tensor.dtype();
        const DType to = dtype_of_cast(stack);
        const bool keeps_numbers =
            to == from || (to == DType::Float && is_narrow(from)) ||
            (scores.is_softmax && to == query && from == DType::Float && is_narrow(query));
        if (!keeps_numbers) return std::nullopt;
        return next;
      }
      default: return std::nullopt;
    }
  }

  // The dtype that a tensor is brought into, on the CPU: to(dtype), to(device, dtype), to(other).
  static DType dtype_of_cast(const Stack& stack) {
    const Value& to = stack.at(1);
    if (to.is<Tensor>()) return to.get<Tensor>().dtype();
    if (to.is<DType>()) return to.get<DType>();
    return stack.at(2).is<DType>() ? stack.at(2).get<DType>() : stack.at(0).get<Tensor>().dtype();
  }

  // A number that depends on sizes, or one number per head: the query is multiplied with it.
  static std::optional<Scores> scaled_by_tensor(const Scores& scores, Part part, const Value& by) {
    if (!by.is<Tensor>() || !by.get<Tensor>().defined()) return std::nullopt;
    const Tensor& number = by.get<Tensor>();
    const Tensor& query = scores.query.tensor;
    if (number.dim() > query.dim() || !is_one_per_matrix(number)) return std::nullopt;
    const Tensor made = part == Part::Multiply ? query.mul(number) : query.div(number);
    if (made.dtype() != query.dtype() || !have_same_sizes(made, query, query.dim()))
      return std::nullopt;
    Scores next = scores;
    next.query = Operand(made);
    return next;
  }

  // The mask as numbers that are added.
  static Tensor added_mask(const Scores& scores) {
    const Tensor& mask = scores.mask.tensor;
    if (!scores.is_fill) return mask;
    return mask.to(scores.query.tensor.dtype()).masked_fill(mask, Scalar(scores.fill));
  }

  static std::optional<Scores> filled(const Scores& scores, const Tensor& where, double number) {
    const std::optional<double> fill = fill_for(number, scores.query.tensor.dtype());
    if (!fill) return std::nullopt;
    Scores next = scores;
    if (!scores.mask.tensor.defined()) {
      next.mask = Operand(where);
      next.is_fill = true;
      next.fill = *fill;
      return next;
    }
    const Tensor added = added_mask(scores);
    if (added.dtype() != scores.query.tensor.dtype()) return std::nullopt;
    next.mask = Operand(added.masked_fill(where, Scalar(*fill)));
    next.is_fill = false;
    return next;
  }

  bool take_product(Operator& op, Stack& stack) {
    const Tensor first = stack.at(0).get<Tensor>(), second = stack.at(1).get<Tensor>();
    if (const Scores* scores = find(stack[0]); scores && scores->is_softmax)
      if (const Tensor made = attention(*scores, second); made.defined()) return give(made, stack);
    return run_product(op, stack, first, second);
  }
  static bool give(const Tensor& made, Stack& stack) {
    stack.clear();
    stack.emplace_back(made);
    return true;
  }

  // "bhqd,bhkd->bhqk" and "bhqk,bhkd->bhqd", whatever the letters and their order are.
  bool take_einsum(Operator& op, Stack& stack) {
    const std::optional<ProductLetters> letters = read_letters(stack.at(0).get<std::string>());
    if (!letters || !stack.at(1).is<std::vector<Tensor>>()) return false;
    const std::vector<Tensor> operands = stack.at(1).get<std::vector<Tensor>>();
    const auto [first, second, out, batch, row, inner, column] = *letters;
    if (operands.size() != 2 || operands[0].dim() != static_cast<int64_t>(first.size()) ||
        operands[1].dim() != static_cast<int64_t>(second.size()))
      return false;
    const Scores* scores = find(Value(operands[0]));
    if (scores && scores->is_softmax && first == batch + row + inner) {
      const Tensor made =
          attention(*scores, reordered(operands[1], second, batch + inner + column));
      if (made.defined()) return give(reordered(made, batch + row + column, out), stack);
    }
    if (out != batch + row + column) return false;
    return run_product(op, stack, reordered(operands[0], first, batch + row + inner),
                       reordered(operands[1], second, batch + inner + column));
  }

  // A scaled product, behind what it is added to where that counts.
  bool take_added_product(Operator& op, Stack& stack) {
    const std::optional<double> beta = number_in(stack.at(3)), alpha = number_in(stack.at(4));
    if (!beta || !alpha || (*beta != 0 && *beta != 1) || *alpha == 0) return false;
    Scores scores;
    scores.scale = *alpha;
    if (*beta == 1) scores.mask = Operand(stack.at(0).get<Tensor>());
    const Tensor first = stack.at(1).get<Tensor>(), second = stack.at(2).get<Tensor>();
    return run_product(op, stack, first, second, std::move(scores));
  }

  // The call, whose result may be scores of these operands.
  bool run_product(Operator& op, Stack& stack, const Tensor& first, const Tensor& second,
                   Scores scores = {}) {
    const bool may_be_scores =
        first.dim() == second.dim() && (first.dim() == 3 || first.dim() == 4) &&
        first.dtype() == second.dtype() && have_same_sizes(first, second, first.dim() - 2);
    if (!may_be_scores) return false;
    scores.query = Operand(first);
    scores.transposed_key = Operand(second);
    dispatch::call_boxed(op, stack);
    const Tensor& result = stack.at(0).get<Tensor>();
    scores.result = Operand(result);
    known_[result.impl()] = std::move(scores);
    return true;
  }

  // Undefined where attention in one pass does not take the operands.
  static Tensor attention(const Scores& scores, const Tensor& given) {
    const int64_t dim = scores.query.tensor.dim();
    if (given.dim() != dim || !have_same_sizes(scores.query.tensor, given, dim - 2)) return {};
    const bool is_recorded =
        autograd::grad_enabled() && (scores.result.tensor.requires_grad() || given.requires_grad());
    if (is_recorded && likely(given.sym_size(-2)) < kLongRow) return {};
    if (scores.result.tensor.dtype() != scores.query.tensor.dtype()) return {};
    // Heads are the second of four dimensions.
    const auto with_heads = [dim](const Tensor& t) { return dim == 4 ? t : t.unsqueeze(1); };
    const Tensor query = with_heads(scores.query.tensor), value = with_heads(given),
                 key = with_heads(scores.transposed_key.tensor.transpose(-2, -1));
    Tensor mask;
    if (scores.mask.tensor.defined()) {
      mask = added_mask(scores);
      if (mask.dtype() != query.dtype()) return {};
      if (dim == 3 && mask.dim() == 3) mask = mask.unsqueeze(1);
      while (mask.dim() < 4) mask = mask.unsqueeze(0);
    }
    constexpr int64_t kOnePass = 1;
    if (_fused_sdp_choice(query, key, value, mask, 0, false, scores.scale) != kOnePass) return {};
    const auto [sums, logsumexp] = _scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0, false, mask, scores.scale);
    // Where all scores are -inf these are zeros and a negative zero; a softmax gives NaN.
    const Tensor without_weight = logsumexp.eq(Scalar(0.0)).logical_and(logsumexp.signbit());
    const Tensor made = sums.masked_fill(without_weight.unsqueeze(-1),
                                         Scalar(std::numeric_limits<double>::quiet_NaN()));
    return dim == 4 ? made : made.squeeze(1);
  }

  std::unordered_map<const TensorImpl*, Scores> known_;
};

}  // namespace

IntrusivePtr<dispatch::Mode> make_attention_finder() { return make_intrusive<AttentionFinder>(); }

}  // namespace taeda::inductor
