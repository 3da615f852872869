// Cutting joint graphs.
#include "taeda/aot/partition.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "taeda/aot/min_cut.h"
#include "taeda/base/str.h"
#include "taeda/dispatch/call_form.h"
#include "taeda/fx/bind.h"
#include "taeda/fx/builtins.h"
#include "taeda/fx/control_flow/operators.h"
#include "taeda/fx/effects.h"
#include "taeda/fx/shapes/sym_expr_node.h"
#include "taeda/fx/tracer.h"
#include "taeda/ops/dropout/operators.h"
#include "taeda/ops/operators.h"

namespace taeda::aot {

using fx::Arg;
using fx::Node;
using fx::Value;

namespace {

using NodeSet = std::unordered_set<const Node*>;

// The value of a size in the run that was traced.
int64_t likely(const SymInt& size) {
  if (!size.is_symbolic()) return size.expect_int();
  const fx::SymExprNode* node = fx::SymExprNode::from(size.node());
  if (!node) return fx::ShapeEnv::kLikelySize;
  const fx::Expr* e = node->expr();
  return e->has_hint ? e->value.integer : fx::ShapeEnv::kLikelySize;
}

int64_t bytes_of(const Value& val) {
  if (!val.is<Tensor>()) return 8;
  int64_t bytes = item_size(val.get<Tensor>().dtype());
  for (const SymInt& size : val.get<Tensor>().sym_sizes()) bytes *= likely(size);
  return std::max<int64_t>(bytes, 8);
}

bool is_tensor(const Node& node) { return node.val().is<Tensor>(); }

// A copy of a tensor, with a fake tensor of its own: what shares one shares memory.
Node& clone_in(fx::Graph& graph, const Arg& of, const Node& node) {
  Node& made = graph.call(ops::clone, {of});
  made.set_val(Value(node.val().get<Tensor>().clone()));
  return made;
}

// Sizes, and numbers of the program that change from call to call.
bool is_number(const Node& node) { return node.val().is_scalar(); }

// The expression of a number; null for one that is the same in every call.
const fx::Expr* expr_of(const SymInt& size) {
  const fx::SymExprNode* number = size.is_symbolic() ? fx::SymExprNode::from(size.node()) : nullptr;
  return number ? number->expr() : nullptr;
}
const fx::Expr* expr_of(const Value& val) {
  if (val.is<SymInt>()) return expr_of(val.get<SymInt>());
  if (!val.is<IntrusivePtr<SymNode>>()) return nullptr;
  const fx::SymExprNode* number = fx::SymExprNode::from(val.get<IntrusivePtr<SymNode>>().get());
  return number ? number->expr() : nullptr;
}

// Whether a number is an expression of several.
bool is_compound(const Node& node) {
  const fx::Expr* number = expr_of(node.val());
  return number && !number->is_symbol();
}

bool is_view(const Node& node) {
  const dispatch::Operator* op = node.target().op();
  if (!op) return false;
  const dispatch::Schema& schema = fx::schema_of(*op);
  return !schema.returns.empty() && !schema.returns[0].alias.empty();
}

// The tensor that a view looks at, through views of views; itself where it is none.
const Node& base_of(const Node& node) {
  const Node* base = &node;
  // Parts of a split are items of its result.
  while (is_view(*base) || base->target().builtin()) {
    const Node* viewed = base->args().empty() ? nullptr : base->args()[0].node();
    if (!viewed) break;  // arithmetic on numbers
    base = viewed;
  }
  return *base;
}

// Whether a value is computed again as easily as it is read: pointwise operators, views, copies,
// constants and arithmetic on sizes.
bool is_cheap(const Node& node) {
  if (node.op() == fx::OpCode::GetAttr) return true;
  if (is_number(node) || node.target().builtin()) return true;
  const dispatch::Operator* op = node.target().op();
  if (!op || fx::draws(node)) return false;
  if (fx::find_control_flow(*op)) return false;  // as dear as its regions, which may draw numbers
  if (op->has(dispatch::Tag::Pointwise) || is_view(node)) return true;
  const dispatch::Schema& schema = fx::schema_of(*op);
  return std::none_of(schema.arguments.begin(), schema.arguments.end(),
                      [](const dispatch::Argument& a) { return a.type.base == "Tensor"; });
}

// Everything that the roots are computed from, themselves included; the walk ends at `given`.
template <class Given>
NodeSet reach(const std::vector<Arg>& roots, const Given& given) {
  NodeSet seen;
  std::vector<const Node*> open;
  const auto add = [&](Node& node) {
    if (!given.count(&node) && seen.insert(&node).second) open.push_back(&node);
  };
  for (const Arg& root : roots) fx::for_each_node(root, add);
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (Node* input : node->inputs().list()) add(*input);
  }
  return seen;
}

int64_t elements_of(const Value& val) {
  return val.is<Tensor>() ? bytes_of(val) / item_size(val.get<Tensor>().dtype()) : 0;
}

// What computing a value costs, in bytes that memory could move meanwhile. What is not cheap
// multiplies its two largest operands: for matrices of [m, k], [k, n] and [m, n] elements the root
// below is m * k * n.
double cost_of(const Node& node) {
  constexpr double kProductsPerByte = 8;
  double bytes = static_cast<double>(bytes_of(node.val())), first = 0, second = 0;
  for (const Node* input : node.inputs().list()) {
    bytes += static_cast<double>(bytes_of(input->val()));
    const double count = static_cast<double>(elements_of(input->val()));
    second = std::max(second, std::min(first, count));
    first = std::max(first, count);
  }
  if (is_cheap(node)) return bytes;
  const double results = static_cast<double>(elements_of(node.val()));
  return bytes + std::sqrt(first * second * results) / kProductsPerByte;
}

class Partitioner {
 public:
  Partitioner(const fx::Retraced& joint, size_t num_inputs, const PartitionOptions& options)
      : joint_(joint), num_inputs_(num_inputs), options_(options) {
    reuse_draws();
    const fx::Compound* all = joint.graph->output_node()->args().at(0).compound();
    TAEDA_INTERNAL_CHECK(all, "a joint graph returns a tuple");
    const auto values_end = all->items.begin() + static_cast<long>(joint.num_values);
    results_.assign(all->items.begin(), values_end);
    gradients_.assign(values_end, all->items.end());
    for (Node* node : joint.graph->placeholders()) placeholders_.push_back(node);
    for (const size_t i : joint.written) written_.insert(placeholders_[i]);
    find_sides();
    find_changing();
  }

  Partition run() {
    choose();
    Partition made;
    made.num_values = results_.size();
    made.primal_inputs = primal_inputs();
    write_forward(made);
    made.backward = write_backward();
    made.report = report();
    return made;
  }

  // The part of a partition that no cut decides.
  Partition run_uncut() {
    Partition made;
    made.num_values = results_.size();
    made.primal_inputs = primal_inputs();
    return made;
  }

 private:
  // Which nodes the tangents reach, and which the results and the gradients need.
  void find_sides() {
    for (size_t i = num_inputs_; i < placeholders_.size(); ++i) behind_.insert(placeholders_[i]);
    for (const Node& node : *joint_.graph) {
      for (const Node* input : node.inputs().list())
        if (behind_.count(input)) behind_.insert(&node);
      order_.push_back(&node);
    }
    find_effects();
    std::vector<Arg> roots = results_;
    for (const Node* node : effects_) roots.emplace_back(const_cast<Node*>(node));
    needed_front_ = reach(roots, NodeSet());
    needed_back_ = reach(back_roots_, NodeSet());
    // Elements of a tuple that the forward computes are there with it.
    for (const Node* node : order_)
      if (node->target().builtin() && is_before(*node)) {
        const auto& inputs = node->inputs().list();
        if (std::all_of(inputs.begin(), inputs.end(),
                        [&](const Node* input) { return needed_front_.count(input) != 0; }))
          needed_front_.insert(node);
      }
    for (const Arg& gradient : gradients_)
      if (const Node* node = gradient.node()) is_gradient_.insert(node);
  }

  // Inputs that may be written to behind the forward, where eager does not keep them: the program's
  // own gradients read none of them, and no view of one, but results that are made of them.
  void find_changing() {
    changing_ = written_;
    if (!options_.recomputes || options_.memory_budget < 1) return;
    NodeSet read;
    for (const Node* node : order_)
      if (!needed_front_.count(node) && needed_back_.count(node))
        for (const Node* input : node->inputs().list()) read.insert(&base_of(*input));
    for (const Node* node : is_gradient_) read.insert(&base_of(*node));
    for (size_t i = 0; i < num_inputs_; ++i)
      if (is_tensor(*placeholders_[i]) && !read.count(placeholders_[i]) &&
          !options_.lasting.count(i))
        changing_.insert(placeholders_[i]);
  }

  // Operators that give nothing, or are there for their effect: draws of random numbers too, since
  // later ones stand behind them in the stream. What the backward does begins with the first node
  // that a tangent reaches; of it, those are kept that tangents reach.
  void find_effects() {
    back_roots_ = gradients_;
    bool is_front = true;
    for (const Node* node : order_) {
      if (is_input(*node)) continue;
      is_front &= is_before(*node);
      const dispatch::Operator* op = node->target().op();
      if (!op || is_assertion(*node)) continue;
      const bool has_effect = dispatch::call_form(*op).returns.empty() || fx::is_effectful(*op);
      const bool is_done = !node->meta_value(fx::kReplayedMeta).is_none();
      const bool is_draw = fx::draws(*node) && !drawn_again_.count(node);
      if (!is_draw && (!has_effect || is_done)) continue;
      if (is_front)
        effects_.push_back(node);
      else if (!is_before(*node))
        back_roots_.emplace_back(const_cast<Node*>(node));
    }
  }

  // A checkpointed region that is computed again draws the numbers that it drew before: its draws,
  // which have the places of the first ones in the random stream, become those.
  void reuse_draws() {
    std::unordered_map<int64_t, Node*> firsts;
    for (Node& node : *joint_.graph) {
      const Value place = fx::draws(node) ? node.meta_value(fx::kDrawMeta) : Value();
      if (!place.is<int64_t>()) continue;
      const auto [first, is_new] = firsts.try_emplace(place.get<int64_t>(), &node);
      if (is_new) continue;
      Node& drawn = *first->second;
      TAEDA_CHECK(drawn.target() == node.target(), "a checkpointed region draws by ", drawn.name(),
                  " in its first pass and by ", node.name(), " when it is computed again");
      if (node.target().op() == &ops::native_dropout) reuse_masks(node, drawn);
      node.replace_uses(Arg(drawn));
      drawn_again_.insert(&node);
    }
  }
  // What a mask leaves of the input is computed again from the mask, which is smaller.
  void reuse_masks(Node& again, Node& drawn) {
    const auto part = [](const Node& node, int64_t place) -> Node* {
      for (Node* user : node.users().list())
        if (user->target().builtin() && user->args().size() == 2 && user->args()[1] == Arg(place))
          return user;
      return nullptr;
    };
    Node *left = part(again, 0), *mask = part(drawn, 1);
    if (Node* same = part(again, 1); same && mask) same->replace_uses(Arg(*mask));
    const Arg &p = again.args().at(1), &train = again.args().at(2);
    const bool draws = train.is_none() || (train.is_constant() && train.constant().is<bool>() &&
                                           train.constant().get<bool>());
    if (!left || !mask || !draws || !p.is_constant() || !p.constant().is<double>()) return;
    const double rate = p.constant().get<double>();
    fx::InsertBefore here(*joint_.graph, *left);
    Node& made =
        joint_.graph->call(ops::native_dropout_backward,
                           {again.args()[0], Arg(*mask), Arg(rate == 1 ? 0.0 : 1 / (1 - rate))});
    made.copy_meta(*left);
    left->replace_uses(Arg(made));
  }
  // Inputs that the gradients need.
  std::vector<size_t> primal_inputs() const {
    std::vector<size_t> found;
    for (size_t i = 0; i < num_inputs_; ++i)
      if (needed_back_.count(placeholders_[i])) found.push_back(i);
    return found;
  }

  bool is_before(const Node& node) const { return !behind_.count(&node); }
  bool is_input(const Node& node) const { return node.op() == fx::OpCode::Placeholder; }

  static constexpr int64_t kInputCost = 16;
  bool is_kept_input(const Node& node) const { return is_input(node) && !changing_.count(&node); }
  bool is_assertion(const Node& node) const { return node.target().op() == &ops::_assert_scalar; }

  // Whether the forward writes the value to memory anyway: the result of a call or a reduction, or
  // an operand of one. Of equal bytes it is better saved than one that would be written for it.
  bool lies_in_memory(const Node& node) const {
    if (!is_cheap(node)) return true;
    const auto& users = node.users().list();
    return std::any_of(users.begin(), users.end(), [&](const Node* user) {
      if (user->op() == fx::OpCode::Output) return true;
      if (!needed_front_.count(user)) return false;
      return is_view(*user) ? lies_in_memory(*user) : !is_cheap(*user);
    });
  }

  // Random numbers are not drawn again, whoever asks for it.
  bool is_asked_for(const std::unordered_set<std::string>& names, const Node& node) const {
    return !names.empty() && !fx::draws(node) && names.count(node.name()) != 0;
  }

  // Values of the forward side that the backward takes.
  void choose() {
    saved_ = cut([this](const Node& node) {
      // Sizes are computed from those that they are made of, which say more: s0*s1 does not tell
      // s0.
      if (is_number(node) || is_asked_for(options_.computed_again, node)) return false;
      if (is_asked_for(options_.computed_once, node)) return true;
      return !options_.recomputes || !is_cheap(node);
    });
    if (options_.recomputes && options_.memory_budget < 1) {
      const NodeSet kept = worth_keeping();
      saved_ = cut([&](const Node& node) {
        return fx::draws(node) || is_asked_for(options_.computed_once, node) || kept.count(&node);
      });
    }
    save_untold_sizes();
    const NodeSet saved(saved_.begin(), saved_.end());
    for (const Node* node : reach(back_roots_, saved))
      if (is_before(*node) && !is_input(*node) && needed_front_.count(node)) again_.insert(node);
  }

  // What the backward takes tells its sizes, though a tensor of s0*s1 elements tells neither s0 nor
  // s1: such sizes are saved too.
  void save_untold_sizes() {
    std::vector<const Node*> taken = saved_;
    taken.insert(taken.end(), placeholders_.begin() + static_cast<long>(num_inputs_),
                 placeholders_.end());
    std::unordered_set<const fx::Expr*> told;
    std::vector<const fx::Expr*> asked;
    const auto look = [&](const fx::Expr* number) {
      if (!number) return;
      if (number->is_symbol()) told.insert(number);
      for (const fx::Expr* symbol : symbolic::symbols_of(number)) asked.push_back(symbol);
    };
    for (const Node* node : taken) {
      if (!is_tensor(*node)) {
        look(expr_of(node->val()));
        continue;
      }
      const Tensor t = node->val().get<Tensor>();
      for (const SymInt& size : t.sym_sizes()) look(expr_of(size));
      for (const SymInt& stride : t.sym_strides())
        if (const fx::Expr* number = expr_of(stride); number && !number->is_symbol()) look(number);
    }
    std::erase_if(asked, [&](const fx::Expr* symbol) { return !told.insert(symbol).second; });
    if (!asked.empty()) save_sizes(asked);
  }
  // As nodes of the forward that give them. Those that no input has are left out.
  void save_sizes(const std::vector<const fx::Expr*>& symbols) {
    std::unordered_map<const fx::Expr*, const Node*> numbers;
    for (const Node* node : order_)
      if (is_before(*node) && is_number(*node)) numbers.emplace(expr_of(node->val()), node);
    std::unordered_map<const fx::Expr*, std::pair<Node*, size_t>> dims;
    for (size_t i = 0; i < num_inputs_; ++i) {
      if (!is_tensor(*placeholders_[i])) continue;
      const Tensor t = placeholders_[i]->val().get<Tensor>();
      const SymIntList sizes = t.sym_sizes();
      for (size_t d = 0; d < sizes.size(); ++d)
        if (const fx::Expr* size = expr_of(sizes[d])) dims.try_emplace(size, placeholders_[i], d);
    }
    for (const fx::Expr* symbol : symbols) {
      if (const auto number = numbers.find(symbol); number != numbers.end())
        saved_.push_back(number->second);
      else if (const auto dim = dims.find(symbol); dim != dims.end())
        saved_.push_back(&read_size(*dim->second.first, dim->second.second));
    }
  }
  const Node& read_size(Node& input, size_t dim) {
    const auto first = std::find_if(order_.begin(), order_.end(),
                                    [this](const Node* node) { return !is_input(*node); });
    fx::InsertBefore here(*joint_.graph, *const_cast<Node*>(*first));
    Node& made = joint_.graph->call(ops::sym_size_int, {Arg(input), Arg(int64_t(dim))});
    made.set_val(Value(input.val().get<Tensor>().sym_sizes()[dim]));
    order_.insert(first, &made);
    return made;
  }

  // Of the values that are saved now, those that fit into the budget and cost most to compute again
  // for their bytes.
  NodeSet worth_keeping() const {
    std::vector<const Node*> costly;
    double budget = 0;
    for (const Node* node : saved_)
      if (!is_kept_input(*node) && !fx::draws(*node)) {
        costly.push_back(node);
        budget += options_.memory_budget * static_cast<double>(bytes_of(node->val()));
      }
    const auto gain = [](const Node* node) {
      return cost_of(*node) / static_cast<double>(bytes_of(node->val()));
    };
    std::stable_sort(costly.begin(), costly.end(),
                     [&](const Node* a, const Node* b) { return gain(a) > gain(b); });
    NodeSet kept;
    for (const Node* node : costly) {
      const double bytes = static_cast<double>(bytes_of(node->val()));
      if (bytes > budget) continue;
      budget -= bytes;
      kept.insert(node);
    }
    return kept;
  }

  // A minimum cut between forward and backward. `is_fixed`: nodes that are not computed twice. What
  // the results do not need is computed once wherever it stands, so it is never fixed: a program
  // that checkpoints asks for it in the backward.
  template <class IsFixed>
  std::vector<const Node*> cut(IsFixed&& is_fixed) const {
    std::unordered_map<const Node*, int> number;
    for (const Node* node : order_)
      if (is_before(*node) && needed_back_.count(node))
        number.emplace(node, static_cast<int>(number.size()));
    // Vertex 2k is the value of node k before it is saved, 2k + 1 behind.
    const int source = 2 * static_cast<int>(number.size()), sink = source + 1;
    MinCut cut(sink + 1);
    for (const Node* node : order_) {
      const auto own = number.find(node);
      if (own == number.end()) continue;
      const int k = own->second;
      // What is drawn without a tangent is drawn by the forward, also for the backward alone.
      const bool is_front = is_input(*node) || needed_front_.count(node) || fx::draws(*node);
      const bool can_save =
          is_number(*node) || (is_tensor(*node) && (is_front || options_.recomputes) &&
                               !is_asked_for(options_.computed_again, *node));
      // A size is better saved than the tensor that has it, and s0 than s0 + s1, which does not
      // tell what s1 is.
      const int64_t cost = is_number(*node)       ? (is_compound(*node) ? kInputCost - 1 : 1)
                           : is_kept_input(*node) ? kInputCost
                                                  : kInputCost * bytes_of(node->val()) +
                                                        (lies_in_memory(*node) ? 0 : 1);
      cut.add_edge(2 * k, 2 * k + 1, can_save ? cost : MinCut::kUncut);
      if (is_input(*node) || ((is_front || fx::draws(*node)) && is_fixed(*node)))
        cut.add_edge(source, 2 * k, MinCut::kUncut);
      bool is_read = is_gradient_.count(node);
      for (const Node* user : node->users().list()) {
        const auto found = number.find(user);
        if (found != number.end())
          cut.add_edge(2 * k + 1, 2 * found->second, MinCut::kUncut);
        else
          is_read |= !is_before(*user) && needed_back_.count(user);
      }
      if (is_read) cut.add_edge(2 * k + 1, sink, MinCut::kUncut);
    }
    const std::vector<bool> side = cut.run(source, sink);
    TAEDA_INTERNAL_CHECK(cut.is_cut(), "the backward needs a value that cannot be saved");
    std::vector<const Node*> saved;
    for (const Node* node : order_) {
      const auto found = number.find(node);
      if (found == number.end()) continue;
      const int k = found->second;
      if (!side[2 * k] || side[2 * k + 1]) continue;
      TAEDA_INTERNAL_CHECK(is_tensor(*node) || is_number(*node), node->name(), " cannot be saved");
      saved.push_back(node);
    }
    return saved;
  }

  // Copies what `roots` need; nodes of `given` are there already.
  static void copy_needed(const std::vector<const Node*>& order, const std::vector<Arg>& roots,
                          fx::Graph& to, std::unordered_map<const Node*, Arg>& given) {
    const NodeSet needed = reach(roots, given);
    for (const Node* node : order)
      if (needed.count(node)) {
        Node& copy = fx::copy_node(*node, to, [&](Node& n) { return given.at(&n); });
        given[node] = Arg(copy);
      }
  }

  static Arg moved(const Arg& arg, const std::unordered_map<const Node*, Arg>& given) {
    return fx::map_nodes(arg, [&](Node& node) { return given.at(&node); });
  }

  static Node& placeholder_like(const Node& node, fx::Graph& to) {
    Node& made = to.placeholder(node.name());
    made.copy_meta(node);
    return made;
  }

  // Where saved values are, and what the forward returns for their sake.
  class Returned {
   public:
    Returned(const Partitioner& all, std::vector<Arg> results)
        : roots(std::move(results)), num_results_(roots.size()) {
      for (size_t i = 0; i < all.num_inputs_; ++i)
        if (!all.changing_.count(all.placeholders_[i]))
          places_[all.placeholders_[i]] = {Saved::Kind::Input, i};
      for (size_t i = 0; i < roots.size(); ++i)
        if (const Node* node = roots[i].node(); node && !all.shows_changing(*node))
          places_.try_emplace(node, Saved::Kind::Value, i);
    }
    // Returns the value unless it is there already.
    Saved place_of(const Node& node) {
      const auto [at, is_new] = places_.try_emplace(&node, Saved::Kind::Own, roots.size());
      if (is_new) roots.emplace_back(const_cast<Node*>(&node));
      return at->second;
    }
    bool is_result(size_t i) const { return i < num_results_; }

    std::vector<Arg> roots;

   private:
    size_t num_results_;
    std::unordered_map<const Node*, Saved> places_;
  };

  void write_forward(Partition& made) {
    made.forward = make_intrusive<fx::Graph>();
    fx::Graph& graph = *made.forward;
    std::unordered_map<const Node*, Arg> given;
    for (size_t i = 0; i < num_inputs_; ++i)
      given[placeholders_[i]] = Arg(placeholder_like(*placeholders_[i], graph));
    Returned all(*this, results_);
    for (const Node* node : saved_) made.saved.push_back(all.place_of(*node));
    for (const size_t i : made.primal_inputs)
      made.primals.push_back(written_.count(placeholders_[i]) ? all.place_of(*placeholders_[i])
                                                              : Saved{Saved::Kind::Input, i});
    std::vector<Arg> needed = all.roots;
    for (const Node* node : effects_) needed.emplace_back(const_cast<Node*>(node));
    for (const Node* node : order_)
      if (is_assertion(*node) && is_before(*node)) needed.emplace_back(const_cast<Node*>(node));
    copy_needed(order_, needed, graph, given);
    std::vector<Arg> out;
    for (size_t i = 0; i < all.roots.size(); ++i) {
      const Node* node = all.roots[i].node();
      const bool is_changing =
          !all.is_result(i) && node && is_tensor(*node) && shows_changing(*node);
      out.push_back(is_changing ? copied(*node, graph, given) : moved(all.roots[i], given));
    }
    graph.output(Arg::tuple(std::move(out)));
  }

  // Whether a tensor is an input that is written to, or may be, or a view of one.
  bool shows_changing(const Node& node) const { return changing_.count(&base_of(node)) != 0; }
  // An input, or a view of one, as it is before anybody writes to it.
  static Arg copied(const Node& input, fx::Graph& graph,
                    const std::unordered_map<const Node*, Arg>& given) {
    return Arg(clone_in(graph, given.at(&input), input));
  }

  IntrusivePtr<fx::Graph> write_backward() {
    auto graph = make_intrusive<fx::Graph>();
    std::unordered_map<const Node*, Arg> given;
    for (const Node* node : saved_) given[node] = Arg(placeholder_like(*node, *graph));
    for (size_t i = num_inputs_; i < placeholders_.size(); ++i)
      given[placeholders_[i]] = Arg(placeholder_like(*placeholders_[i], *graph));
    copy_needed(order_, back_roots_, *graph, given);
    std::vector<Arg> out;
    for (const Arg& gradient : gradients_) out.push_back(moved(gradient, given));
    graph->output(Arg::tuple(std::move(out)));
    return graph;
  }

  std::string report() const {
    std::string text;
    int64_t bytes = 0;
    for (const Node* node : saved_) {
      const char* why = written_.count(node)   ? "an input that is written to"
                        : is_kept_input(*node) ? "an input"
                        : is_input(*node)      ? "an input that may be written to"
                        : !is_cheap(*node)     ? "not computed twice"
                                               : "least bytes";
      text += str("saved ", node->name(), ": ", bytes_of(node->val()), " bytes, ", why, "\n");
      if (!is_kept_input(*node)) bytes += bytes_of(node->val());
    }
    for (const Node* node : order_)
      if (again_.count(node) && is_tensor(*node))
        text += str("computed again ", node->name(), ": ", bytes_of(node->val()), " bytes\n");
    return text + str("saved beside inputs: ", bytes, " bytes\n");
  }

  const fx::Retraced& joint_;
  size_t num_inputs_;
  PartitionOptions options_;
  std::vector<Node*> placeholders_;
  std::vector<const Node*> order_;
  std::vector<Arg> results_, gradients_;
  std::vector<Arg> back_roots_;  // gradients, and what the backward does for its effect
  std::vector<const Node*> effects_;
  NodeSet drawn_again_;  // nodes that reuse_draws() replaced
  NodeSet behind_, needed_back_, needed_front_, is_gradient_, again_, written_;
  NodeSet changing_;  // those, and inputs that others may write to
  std::vector<const Node*> saved_;
};

}  // namespace

IntrusivePtr<fx::Graph> with_all_saved(const Partition& parts, std::vector<size_t>* places) {
  IntrusivePtr<fx::Graph> graph = fx::clone(*parts.forward);
  const std::vector<Node*> inputs = graph->placeholders();
  Node& output = *graph->output_node();
  const std::vector<Arg> all = output.args().at(0).compound()->items;
  std::vector<Arg> out(all.begin(), all.begin() + static_cast<long>(parts.num_values));
  std::vector<size_t> found(all.size(), all.size() + inputs.size() + parts.saved.size());
  for (size_t i = 0; i < parts.num_values; ++i) found[i] = i;
  for (const Saved& s : parts.saved) {
    if (s.kind == Saved::Kind::Own) found[s.number] = out.size();
    out.push_back(s.kind == Saved::Kind::Input ? Arg(inputs.at(s.number)) : all.at(s.number));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (found[i] < out.size()) continue;
    found[i] = out.size();
    out.push_back(all[i]);
  }
  output.set_args({Arg::tuple(std::move(out))});
  if (places) *places = std::move(found);
  return graph;
}

Partition take_parts(const fx::Retraced& joint, size_t num_inputs, const fx::Graph& forward,
                     IntrusivePtr<fx::Graph> backward) {
  Partition made = Partitioner(joint, num_inputs, {}).run_uncut();
  made.forward = fx::clone(forward);
  made.backward = std::move(backward);
  made.report = "the graphs were cut by a function of the program\n";
  fx::Node& output = *made.forward->output_node();
  const fx::Compound* all = output.args().at(0).compound();
  TAEDA_CHECK(all && all->items.size() >= made.num_values,
              "the forward graph returns fewer values than the program has");
  const std::vector<Node*> inputs = made.forward->placeholders();
  const auto input_of = [&](const Node* node) -> std::optional<size_t> {
    const auto found = std::find(inputs.begin(), inputs.end(), node);
    if (found == inputs.end()) return std::nullopt;
    return found - inputs.begin();
  };
  const auto is_written = [&](size_t i) {
    return std::find(joint.written.begin(), joint.written.end(), i) != joint.written.end();
  };
  std::vector<Arg> returned(all->items.begin(),
                            all->items.begin() + static_cast<long>(made.num_values));
  const fx::InsertBefore before(*made.forward, output);
  const auto add = [&](const Arg& arg) -> Saved {
    const Node* node = arg.node();
    const auto input = input_of(node);
    if (input && !is_written(*input)) return {Saved::Kind::Input, *input};
    returned.push_back(arg);
    // What shows an input that is written to keeps the values from before.
    if (node && is_tensor(*node)) {
      const auto base = input_of(&base_of(*node));
      if (base && is_written(*base)) returned.back() = Arg(clone_in(*made.forward, arg, *node));
    }
    return {Saved::Kind::Own, returned.size() - 1};
  };
  for (size_t i = made.num_values; i < all->items.size(); ++i)
    made.saved.push_back(add(all->items[i]));
  for (const size_t i : made.primal_inputs) made.primals.push_back(add(Arg(inputs.at(i))));
  output.set_args({Arg::tuple(std::move(returned))});
  return made;
}

Partition partition(const fx::Retraced& joint, size_t num_inputs, const PartitionOptions& options) {
  return Partitioner(joint, num_inputs, options).run();
}

}  // namespace taeda::aot
