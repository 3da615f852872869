// Reading kernels as chains of post-ops.
#include "taeda/inductor/post_ops.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "taeda/inductor/product_blocks.h"
#include "taeda/kernel/sym.h"
#include "taeda/ops/activation/bodies.h"
#include "taeda/ops/math/bodies.h"

namespace taeda::inductor {
namespace {

using cpu::PostOp;
using kernel::NodeId;
using kernel::Op;
using kernel::Sym;
using Kind = PostOp::Kind;

// More of them are not worth a primitive of their own.
constexpr size_t kMostPostOps = 8;

bool has_library_type(DType dtype) {
  return dtype == DType::Float || dtype == DType::BFloat16 || dtype == DType::Half;
}

bool is_normal(double number) { return std::isnormal(static_cast<float>(number)); }

double rounded(double number, DType dtype) {
  const auto single = static_cast<float>(number);
  if (dtype == DType::BFloat16) return static_cast<float>(BFloat16(single));
  return dtype == DType::Half ? static_cast<float>(Half(single)) : number;
}

class ChainReader {
 public:
  ChainReader(const Program& program, const Group& group, const GroupKernel& whole)
      : program_(program), group_(group), whole_(whole), graph_(whole.kernel.values) {}

  // Whether the kernel is a chain; then chain() has it.
  bool read() {
    if (!has_one_store()) return false;
    const NodeId start = product_load();
    if (start < 0) return false;
    for (NodeId at = start; at != root_;) {
      at = next(at);
      if (at < 0 || chain_.size() > kMostPostOps) return false;
    }
    return !chain_.empty();
  }
  std::vector<PlannedPostOp> chain() { return std::move(chain_); }

 private:
  int product_memory() const {
    const Call& call = *program_.units[group_.product].call;
    return program_.values[call.results[0]].geometry.memory;
  }

  bool has_one_store() {
    const auto* loop = std::get_if<kernel::Loop>(&whole_.kernel.steps.at(0));
    if (!loop || whole_.kernel.steps.size() != 1 || loop->steps.size() != 1) return false;
    const auto* store = std::get_if<kernel::Store>(&loop->steps[0]);
    if (!store || store->mask >= 0 || store->mode != kernel::StoreMode::Write) return false;
    if (whole_.memories[store->buffer] != product_memory() || store->at != group_.element)
      return false;
    root_ = store->value;
    for (const NodeId id : graph_.reachable({root_})) reachable_.insert(id);
    return true;
  }

  // The one element of the product that the kernel reads.
  NodeId product_load() const {
    NodeId found = -1;
    for (const NodeId id : reachable_) {
      const kernel::Node& node = graph_.node(id);
      if (node.op != Op::Load || whole_.memories[node.index] != product_memory()) continue;
      if (found >= 0 || node.args[0] >= 0 || node.at != group_.element) return -1;
      found = id;
    }
    return found;
  }

  // Whether everything that the result takes from `at` goes through `later`.
  bool goes_through(NodeId at, NodeId later) const {
    if (!reachable_.count(later)) return false;
    std::vector<NodeId> open = {root_};
    std::unordered_set<NodeId> seen;
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (id == at) return false;
      if (id == later || !seen.insert(id).second) continue;
      for (const NodeId input : graph_.dependencies(id)) open.push_back(input);
    }
    return true;
  }

  // The value behind the next operation; -1 where it is none of those that are known.
  NodeId next(NodeId at) {
    for (const auto& [kind, body] : kActivations) {
      const NodeId later = applied(body, at);
      if (!goes_through(at, later)) continue;
      chain_.push_back({PostOp{kind}});
      return later;
    }
    for (const NodeId id : reachable_) {
      const kernel::Node& node = graph_.node(id);
      const bool is_user = std::find(node.args, node.args + 3, at) != node.args + 3;
      if (is_user && goes_through(at, id)) return take(node, at) ? id : -1;
    }
    return -1;
  }

  using Body = Sym (*)(Sym);
  static constexpr std::pair<Kind, Body> kActivations[] = {
      {Kind::Relu, &bodies::Relu::apply<Sym>},
      {Kind::Tanh, &bodies::Tanh::apply<Sym>},
      {Kind::Sigmoid, &bodies::Sigmoid::apply<Sym>},
      {Kind::Silu, &bodies::Silu::apply<Sym>},
      {Kind::Gelu, &bodies::Gelu::apply<Sym>},
      {Kind::GeluTanh, &bodies::GeluTanh::apply<Sym>},
  };
  // Equal values are one node, so a body that the kernel has is found by writing it again.
  NodeId applied(Body body, NodeId at) {
    const kernel::BuilderScope scope(graph_, kernel::Type::F32);
    return body(Sym::from_id(at)).id;
  }

  bool take(const kernel::Node& node, NodeId at) {
    const NodeId a = node.args[0], b = node.args[1], c = node.args[2];
    if (std::count(node.args, node.args + 3, at) != 1) return false;
    const NodeId other = a == at ? b : a;
    switch (node.op) {
      case Op::Neg: return add_linear(-1, 0);
      case Op::Add: return add(Kind::Add, other);
      case Op::Mul: return add(Kind::Mul, other);
      case Op::Sub: return a == at ? add(Kind::Sub, b) : add_linear(-1, 0) && add(Kind::Add, a);
      case Op::Div: return a == at && add(Kind::Div, b);
      case Op::Fma: return c != at && add(Kind::Mul, other) && add(Kind::Add, c);
      default: return false;
    }
  }

  // A factor, a sum behind it and signs are one operation; two factors are not, since the first may
  // overflow.
  bool add_linear(double alpha, double beta) {
    const bool is_joined = !chain_.empty() && chain_.back().op.kind == Kind::Linear &&
                           std::abs(alpha) == 1 && (beta == 0 || chain_.back().op.beta == 0);
    if (!is_joined) chain_.push_back({PostOp{Kind::Linear}});
    PostOp& op = chain_.back().op;
    op.beta = static_cast<float>(alpha * op.beta + beta);
    op.alpha = static_cast<float>(alpha * op.alpha);
    if (op.alpha == 1 && op.beta == 0) chain_.pop_back();
    return true;
  }

  // The number that a value is: a constant, or one times another, as sums with a factor have it.
  std::optional<double> number(NodeId id) const {
    const kernel::Node& node = graph_.node(id);
    if (node.op == Op::Constant) return graph_.constant_value(id);
    if (node.op == Op::Cast) return number(node.args[0]);
    if (node.op == Op::Round) {
      const std::optional<double> whole = number(node.args[0]);
      return whole ? std::optional(rounded(*whole, static_cast<DType>(node.index))) : whole;
    }
    if (node.op != Op::Mul) return std::nullopt;
    const std::optional<double> a = number(node.args[0]), b = number(node.args[1]);
    return a && b ? std::optional(*a * *b) : std::nullopt;
  }
  // The element of memory that a value is, as float32; null for other values.
  const kernel::Node* element(NodeId id) const {
    const kernel::Node* node = &graph_.node(id);
    if (node->op == Op::Mul && number(node->args[0]) == 1) node = &graph_.node(node->args[1]);
    if (node->op == Op::Mul && number(node->args[1]) == 1) node = &graph_.node(node->args[0]);
    if (node->op == Op::Cast && node->type == kernel::Type::F32) node = &graph_.node(node->args[0]);
    return node->op == Op::Load && node->args[0] < 0 ? node : nullptr;
  }

  bool add(Kind kind, NodeId with) {
    if (const std::optional<double> known = number(with)) {
      switch (kind) {
        case Kind::Add: return add_linear(1, *known);
        case Kind::Sub: return add_linear(1, -*known);
        case Kind::Mul: return add_linear(*known, 0);
        default: return is_normal(1 / *known) && add_linear(1 / *known, 0);
      }
    }
    const kernel::Node* from = element(with);
    if (!from) return false;
    PlannedPostOp planned{PostOp{kind}};
    planned.op.dtype = whole_.kernel.buffers[from->index].dtype;
    planned.memory = whole_.memories[from->index];
    if (!find_strides(from->at, planned)) return false;
    const bool is_vector = planned.num_moving == 1 && planned.op.dtype == DType::Double;
    if (!has_library_type(planned.op.dtype) && !is_vector) return false;
    chain_.push_back(std::move(planned));
    return true;
  }

  // The operand as an array over the dimensions of the product.
  bool find_strides(const Expr* at, PlannedPostOp& planned) const {
    symbolic::ExprPool& pool = *program_.pool;
    symbolic::Replacements to_start;
    for (const DomainAxis& axis : group_.axes) to_start[axis.var] = pool.integer(0);
    for (const Expr* place : group_.product_at) {
      const Expr* stride = stride_along(place, at);
      if (!stride || !is_of_sizes(stride)) return false;
      planned.num_moving += !stride->is_constant(0);
      planned.strides.push_back(program_of(stride, program_.symbols));
    }
    const Expr* start = symbolic::substitute(pool, at, to_start);
    if (!is_of_sizes(start)) return false;
    planned.offset = program_of(start, program_.symbols);
    return true;
  }
  // Neither of axes nor of indices that are read from memory.
  bool is_of_sizes(const Expr* e) const {
    const auto& known = program_.symbols;
    for (const Expr* symbol : symbolic::symbols_of(e))
      if (std::find(known.begin(), known.end(), symbol) == known.end()) return false;
    return true;
  }
  // By how much an index moves with a dimension, which is one axis of the group or several that
  // follow each other; null where it moves unevenly.
  const Expr* stride_along(const Expr* place, const Expr* at) const {
    symbolic::ExprPool& pool = *program_.pool;
    const auto symbols = symbolic::symbols_of(place);
    const Expr *stride = nullptr, *outer = nullptr;
    for (size_t i = group_.axes.size(); i-- > 0;) {
      const DomainAxis& axis = group_.axes[i];
      if (std::find(symbols.begin(), symbols.end(), axis.var) == symbols.end()) continue;
      const Expr* own = kernel::stride_of(pool, at, axis.var);
      if (!own || (outer && own != outer)) return nullptr;
      if (!stride) stride = own;
      outer = pool.mul(own, axis.extent);
    }
    return stride ? stride : pool.integer(0);
  }

  const Program& program_;
  const Group& group_;
  const GroupKernel& whole_;
  kernel::ExprGraph graph_;  // a copy: bodies are written to it
  NodeId root_ = -1;
  std::unordered_set<NodeId> reachable_;
  std::vector<PlannedPostOp> chain_;
};

}  // namespace

std::vector<PlannedPostOp> find_post_ops(const Program& program, const Group& group,
                                         const GroupKernel& whole) {
  const Call& call = *program.units[group.product].call;
  const TensorValue& result = program.values[call.results[0]];
  // Halves are rounded after each step of a program, and by the library once.
  if (result.fake.dtype() != DType::Float || !group.is_in_place) return {};
  // Strides of operands follow the dimensions of the result, and a batch has one more.
  if (!product_of(program, call)->has_channels && result.geometry.sizes.size() != 2) return {};
  ChainReader reader(program, group, whole);
  return reader.read() ? reader.chain() : std::vector<PlannedPostOp>();
}

PostOpsOfRun::PostOpsOfRun(const std::vector<PlannedPostOp>& planned, char* const* memories,
                           const int64_t* symbols, IntList sizes) {
  for (const PlannedPostOp& one : planned) {
    PostOp op = one.op;
    for (const IndexProgram& stride : one.strides) op.strides.push_back(stride(symbols));
    if (one.memory >= 0) {
      op.data = memories[one.memory] + one.offset(symbols) * item_size(op.dtype);
      if (op.dtype == DType::Double) narrow(op, sizes);
    }
    ops_.push_back(std::move(op));
  }
}

void PostOpsOfRun::narrow(PostOp& op, IntList sizes) {
  std::vector<float>& made = narrowed_.emplace_back();
  const auto* from = static_cast<const double*>(op.data);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (op.strides[d] == 0) continue;
    for (int64_t i = 0; i < sizes[d]; ++i)
      made.push_back(static_cast<float>(from[i * op.strides[d]]));
    op.strides[d] = 1;
  }
  op.data = made.data();
  op.dtype = DType::Float;
}

}  // namespace taeda::inductor
