// Ordering, running and restricting the backward graph.
#include "taeda/autograd/engine.h"

#include <algorithm>
#include <atomic>

#include "taeda/autograd/accumulate.h"
#include "taeda/autograd/anomaly.h"
#include "taeda/autograd/custom_function.h"
#include "taeda/autograd/fresh_stack.h"
#include "taeda/autograd/node_table.h"
#include "taeda/autograd/roots.h"
#include "taeda/autograd/run_hooks.h"
#include "taeda/autograd/saved_hooks.h"
#include "taeda/autograd/validate.h"
#include "taeda/autograd/variable.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {
namespace {

// ---- one run ----

struct Capture {
  uint32_t state;
  uint32_t input;
  size_t result;
};

class Run;
// The innermost run on this thread; a hook or a node may start another.
thread_local constinit Run* current_run = nullptr;
std::atomic<int64_t> next_run_id{0};

class Run final : public ExecFilter {
 public:
  Run(bool keep_graph, bool create_graph)
      : keep_graph_(keep_graph),
        mode_(create_graph && !is_inference_mode()),
        outer_(std::exchange(current_run, this)),
        depth_(outer_ ? outer_->depth_ + 1 : 1) {}
  ~Run() { current_run = outer_; }

  Node* node() const { return node_; }
  Grads* grads() const { return grads_; }
  int depth() const { return depth_; }
  int64_t id() {
    if (id_ < 0) id_ = next_run_id++;
    return id_;
  }
  bool keeps_graph() const { return keep_graph_; }
  bool is_restricted() const { return is_restricted_; }
  void call_at_end(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }
  // A callback may queue further callbacks.
  void call_callbacks() {
    for (size_t i = 0; i < callbacks_.size(); ++i) std::exchange(callbacks_[i], nullptr)();
  }
  bool will_run(const Node& node) const {
    const uint32_t i = table_.find(&node);
    return i != NodeTable::kNone && is_wanted(table_[i]);
  }

  std::vector<IntrusivePtr<Node>> remaining_order() const;

  void add_root(Edge edge, Tensor grad) {
    const uint32_t i = table_.insert(edge.function.get()).first;
    receive(table_[i], edge.input_nr, std::move(grad));
    roots_.push_back(std::move(edge.function));
  }
  void count_dependencies();
  // Both restrict the run to the nodes that lead to `edge`: its gradient becomes a result, or its
  // node runs.
  void capture(const Edge& edge, size_t result);
  void require(const Edge& edge);
  void mark_needed();
  void execute(std::vector<Tensor>& results, std::vector<size_t>* arrivals);

  bool allows(const Node& node) const override {
    const uint32_t i = table_.find(&node);
    return i != NodeTable::kNone && (table_[i].is_needed || table_[i].has_capture);
  }

 private:
  struct Ready {
    uint64_t sequence_nr;
    uint32_t state;
    uint32_t rank;  // see Node::edge_ranks
    bool operator<(const Ready& o) const {
      return sequence_nr != o.sequence_nr ? sequence_nr < o.sequence_nr : rank > o.rank;
    }
  };

  static void receive(NodeState& state, uint32_t input, Tensor grad) {
    if (state.buffer.empty())
      state.buffer.resize(std::max<size_t>(state.node->num_inputs(), input + 1));
    accumulate_into(state.buffer[input], std::move(grad));
  }
  bool is_wanted(const NodeState& s) const {
    return !is_restricted_ || s.is_needed || s.has_capture;
  }
  static uint32_t rank_of(Span<uint32_t> ranks, size_t edge) {
    return edge < ranks.size() ? ranks[edge] : 0;
  }
  void enqueue(uint32_t i, uint32_t rank = 0) {
    NodeState& s = table_[i];
    if (s.is_queued || s.dependencies > 0 || !is_wanted(s)) return;
    s.is_queued = true;
    ready_.push_back({s.node->sequence_nr(), i, rank});
    std::push_heap(ready_.begin(), ready_.end());
  }
  uint32_t pop() {
    std::pop_heap(ready_.begin(), ready_.end());
    const uint32_t i = ready_.back().state;
    ready_.pop_back();
    return i;
  }
  void execute_node(uint32_t i, std::vector<Tensor>& results);
  void run_node(uint32_t i, std::vector<Tensor>& results);
  using Inputs = SmallVector<uint32_t, 2>;
  Inputs asked_inner(const CustomNode& node, uint32_t i) const;
  void give(const Capture& to, const Tensor& grad, std::vector<Tensor>& results);
  void apply_and_show(CustomNode& node, uint32_t i, const Inputs& asked, Grads& grads,
                      std::vector<Tensor>& results);
  template <class Apply>
  void apply(Node& node, Grads& grads, bool frees, Apply&& call);
  void send(const Node& node);

  NodeTable table_;
  SmallVector<Ready, 16> ready_;
  SmallVector<IntrusivePtr<Node>, 2> roots_;
  SmallVector<Capture, 4> captures_;
  std::vector<size_t>* arrivals_ = nullptr;
  std::vector<Tensor> grad_inputs_;  // of the node that runs; one allocation for all nodes
  std::vector<std::function<void()>> callbacks_;
  bool keep_graph_;
  bool is_restricted_ = false;
  GradMode mode_;
  Run* outer_;
  int depth_;               // of runs on this thread
  Node* node_ = nullptr;    // the one that runs
  Grads* grads_ = nullptr;  // what it was given, while it is applied
  int64_t id_ = -1;
};

void Run::count_dependencies() {
  SmallVector<uint32_t, 32> stack;
  for (uint32_t i = 0; i < table_.size(); ++i) stack.push_back(i);
  while (!stack.empty()) {
    const Node* node = table_[stack.back()].node;
    stack.pop_back();
    for (const Edge& edge : node->next_edges()) {
      if (!edge) continue;
      const auto [next, is_new] = table_.insert(edge.function.get());
      ++table_[next].dependencies;
      if (is_new) stack.push_back(next);
    }
  }
}

void Run::capture(const Edge& edge, size_t result) {
  is_restricted_ = true;
  const uint32_t i = edge ? table_.find(edge.function.get()) : NodeTable::kNone;
  if (i == NodeTable::kNone) return;
  table_[i].has_capture = true;
  captures_.push_back({i, edge.input_nr, result});
}

void Run::require(const Edge& edge) {
  is_restricted_ = true;
  const uint32_t i = edge ? table_.find(edge.function.get()) : NodeTable::kNone;
  if (i != NodeTable::kNone) table_[i].is_needed = true;
}

// A node is needed if a wanted node is behind it: depth first, children before parents.
void Run::mark_needed() {
  struct Frame {
    uint32_t state;
    uint32_t edge;
  };
  std::vector<Frame> stack;
  std::vector<bool> is_seen(table_.size());
  for (const IntrusivePtr<Node>& root : roots_) {
    const uint32_t start = table_.find(root.get());
    if (is_seen[start]) continue;
    is_seen[start] = true;
    stack.push_back({start, 0});
    while (!stack.empty()) {
      Frame& top = stack.back();
      const Span<Edge> edges = table_[top.state].node->next_edges();
      if (top.edge == edges.size()) {
        stack.pop_back();
        continue;
      }
      const Node* next_node = edges[top.edge].function.get();
      const uint32_t next = next_node ? table_.find(next_node) : NodeTable::kNone;
      if (next != NodeTable::kNone && !is_seen[next]) {
        is_seen[next] = true;
        stack.push_back({next, 0});
        continue;  // comes back to this edge with the child done
      }
      if (next != NodeTable::kNone && (table_[next].is_needed || table_[next].has_capture))
        table_[top.state].is_needed = true;
      ++top.edge;
    }
  }
}

// The run without gradients: dependencies fall and nodes get ready as in execute.
std::vector<IntrusivePtr<Node>> Run::remaining_order() const {
  std::vector<Ready> ready(ready_.begin(), ready_.end());
  std::vector<int32_t> dependencies;
  for (uint32_t i = 0; i < table_.size(); ++i) dependencies.push_back(table_[i].dependencies);
  std::vector<IntrusivePtr<Node>> order;
  uint32_t next = table_.find(node_);
  while (true) {
    Node* node = table_[next].node;
    order.push_back(IntrusivePtr<Node>::share(node));
    const bool goes_on = !is_restricted_ || table_[next].is_needed;
    const Span<Edge> edges = goes_on ? node->next_edges() : Span<Edge>();
    const Span<uint32_t> ranks = node->edge_ranks();
    for (size_t e = 0; e < edges.size(); ++e) {
      const uint32_t i = edges[e] ? table_.find(edges[e].function.get()) : NodeTable::kNone;
      if (i == NodeTable::kNone || !is_wanted(table_[i]) || --dependencies[i] != 0) continue;
      ready.push_back({edges[e].function->sequence_nr(), i, rank_of(ranks, e)});
      std::push_heap(ready.begin(), ready.end());
    }
    if (ready.empty()) return order;
    std::pop_heap(ready.begin(), ready.end());
    next = ready.back().state;
    ready.pop_back();
  }
}

void Run::execute(std::vector<Tensor>& results, std::vector<size_t>* arrivals) {
  arrivals_ = arrivals;
  const ExecFilterScope scope(is_restricted_ ? this : nullptr);
  for (const IntrusivePtr<Node>& root : roots_) enqueue(table_.find(root.get()));
  while (!ready_.empty()) execute_node(pop(), results);
  node_ = nullptr;
}

void Run::execute_node(uint32_t i, std::vector<Tensor>& results) {
  if (__builtin_expect(!is_anomaly_enabled(), 1)) return run_node(i, results);
  try {
    run_node(i, results);
  } catch (...) {
    if (is_anomaly_enabled()) report_anomaly(*table_[i].node);
    throw;
  }
}

void Run::run_node(uint32_t i, std::vector<Tensor>& results) {
  Node& node = *table_[i].node;
  node_ = &node;
  Grads grads = std::move(table_[i].buffer);
  grads.resize(std::max(grads.size(), node.num_inputs()));
  // Gradients that the node itself shows. It is applied for their sake alone, too.
  Inputs asked;
  if (__builtin_expect(node.hooks() || table_[i].has_capture, 0))
    if (auto* const custom = dynamic_cast<CustomNode*>(&node)) asked = asked_inner(*custom, i);
  // As in PyTorch, if a node's gradient is captured and the node runs too, the capture comes before
  // its tensor hooks.
  const bool goes_on = !is_restricted_ || table_[i].is_needed;
  if (!goes_on && node.hooks()) run_tensor_hooks(*node.hooks(), grads, asked);
  if (table_[i].has_capture)
    for (const Capture& c : captures_)
      if (c.state == i && std::find(asked.begin(), asked.end(), c.input) == asked.end())
        give(c, grads[c.input], results);
  if (!goes_on && asked.empty()) return;
  if (goes_on && node.hooks()) run_tensor_hooks(*node.hooks(), grads, asked);
  apply(node, grads, !keep_graph_ && goes_on, [&] {
    if (__builtin_expect(asked.empty(), 1))
      node.apply({grads.data(), grads.size()}, grad_inputs_);
    else
      apply_and_show(static_cast<CustomNode&>(node), i, asked, grads, results);
  });
  grads.clear();  // so that sums below may reuse memory that only the results hold
  if (goes_on) send(node);
}

void Run::give(const Capture& to, const Tensor& grad, std::vector<Tensor>& results) {
  results[to.result] = grad;
  if (arrivals_ != nullptr) arrivals_->push_back(to.result);
}

// Of the gradients that are complete inside of the node alone those that hooks or results want.
Run::Inputs Run::asked_inner(const CustomNode& node, uint32_t i) const {
  Inputs asked;
  const auto ask = [&](uint32_t input) {
    if (node.is_inner(input) && std::find(asked.begin(), asked.end(), input) == asked.end())
      asked.push_back(input);
  };
  for (const Capture& c : captures_)
    if (c.state == i) ask(c.input);
  if (!node.hooks()) return asked;
  for (const auto& hook : node.hooks()->copy_of(node.hooks()->tensor)) ask(hook.input);
  for (const auto& retain : node.hooks()->copy_of(node.hooks()->retain)) ask(retain.input);
  return asked;
}

// With each gradient that the node shows happens what happens with others before it is applied.
void Run::apply_and_show(CustomNode& node, uint32_t i, const Inputs& asked, Grads& grads,
                         std::vector<Tensor>& results) {
  const bool goes_on = !is_restricted_ || table_[i].is_needed;
  const auto behind_hooks = [&](uint32_t input, const Tensor& grad) {
    return node.hooks() ? run_hooks_of_tensor(*node.hooks(), input, grad) : grad;
  };
  const auto show = [&](uint32_t input, const Tensor& grad) {
    Tensor shown = goes_on ? grad : behind_hooks(input, grad);
    for (const Capture& c : captures_)
      if (c.state == i && c.input == input) give(c, shown, results);
    return goes_on ? behind_hooks(input, grad) : shown;
  };
  node.apply_and_show({grads.data(), grads.size()}, grad_inputs_, asked, show);
}

template <class Apply>
void Run::apply(Node& node, Grads& grads, bool frees, Apply&& call) {
  if (node.hooks()) run_pre_hooks(*node.hooks(), grads);
  const bool has_any =
      std::any_of(grads.begin(), grads.end(), [](const Tensor& t) { return t.defined(); });
  grad_inputs_.clear();
  grad_inputs_.resize(node.num_edges());
  grads_ = &grads;
  if (has_any || node.wants_undefined()) call();
  grads_ = nullptr;
  if (frees) node.release_saved();
  const Span<Edge> edges = node.next_edges();
  TAEDA_CHECK(grad_inputs_.size() == edges.size(), "Function ", node.name(),
              " returned an invalid number of gradients - expected ", edges.size(), ", but got ",
              grad_inputs_.size());
  for (size_t i = 0; i < edges.size(); ++i) {
    if (!edges[i]) continue;
    validate_gradient(edges[i].function->input_metadata(edges[i].input_nr), grad_inputs_[i],
                      node.name(), i);
  }
  if (__builtin_expect(is_anomaly_enabled() && does_anomaly_check_nan(), 0))
    check_for_nan(node, grad_inputs_);
  if (node.hooks()) run_post_hooks(*node.hooks(), grad_inputs_, grads);
}

void Run::send(const Node& node) {
  const Span<Edge> edges = node.next_edges();
  const Span<uint32_t> ranks = node.edge_ranks();
  for (size_t i = 0; i < edges.size(); ++i) {
    if (!edges[i]) continue;
    const uint32_t next = table_.find(edges[i].function.get());
    NodeState& state = table_[next];
    if (!is_wanted(state)) continue;
    if (grad_inputs_[i].defined()) receive(state, edges[i].input_nr, std::move(grad_inputs_[i]));
    --state.dependencies;
    enqueue(next, rank_of(ranks, i));
  }
}

}  // namespace

namespace {

std::vector<Tensor> run_here(SmallVector<Root, 2> roots, Span<Edge> inputs,
                             const RunOptions& options) {
  const SavedTensorHooksScope hooks;
  Run run(options.keep_graph, options.create_graph);
  for (Root& root : roots) run.add_root(std::move(root.edge), std::move(root.grad));
  run.count_dependencies();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (options.accumulate)
      run.require(inputs[i]);
    else
      run.capture(inputs[i], i);
  }
  if (!inputs.empty()) run.mark_needed();

  std::vector<Tensor> results(options.accumulate ? 0 : inputs.size());
  run.execute(results, options.arrivals);
  run.call_callbacks();
  if (!options.allow_unused)
    for (size_t i = 0; i < results.size(); ++i)
      TAEDA_CHECK(results[i].defined(), "The differentiated Tensor at index ", i,
                  " appears to not have been used in the graph. Set allow_unused=True if this is "
                  "the desired behavior.");
  return results;
}

// Runs may nest, when a node starts one; this many fit on one stack.
constexpr int kRunsPerStack = 60;

}  // namespace

std::vector<Tensor> run_backward(SmallVector<Root, 2> roots, Span<Edge> inputs,
                                 const RunOptions& options) {
  if (!current_run || current_run->depth() < kRunsPerStack)
    return run_here(std::move(roots), inputs, options);
  std::vector<Tensor> results;
  call_on_fresh_stack([&] { results = run_here(std::move(roots), inputs, options); });
  return results;
}

std::vector<Tensor> run_backward(Span<Tensor> roots, Span<Tensor> grads, bool keep_graph,
                                 bool create_graph, Span<Tensor> inputs, bool allow_unused,
                                 bool accumulate, std::vector<size_t>* arrivals) {
  TAEDA_CHECK(grads.empty() || grads.size() == roots.size(), "got ", roots.size(), " tensors and ",
              grads.size(), " gradients");
  SmallVector<Tensor, 2> seeds(roots.size());
  for (size_t i = 0; i < roots.size(); ++i)
    seeds[i] = make_seed(roots[i], grads.empty() ? Tensor() : grads[i], i);
  SmallVector<Root, 2> starts;
  for (size_t i = 0; i < roots.size(); ++i)
    starts.push_back(make_root(roots[i], std::move(seeds[i]), i));
  std::vector<Edge> edges;
  for (const Tensor& input : inputs) edges.push_back(input_edge(input, accumulate));
  return run_backward(std::move(starts), edges,
                      {keep_graph, create_graph, allow_unused, accumulate, arrivals});
}

// ---- what a running node may ask ----

namespace {

Run& running(const char* what) {
  TAEDA_CHECK(current_run && current_run->node(), what);
  return *current_run;
}

}  // namespace

Node* current_node() { return current_run ? current_run->node() : nullptr; }
int64_t current_run_id() { return current_run ? current_run->id() : -1; }
bool does_current_run_keep_graph() { return current_run && current_run->keeps_graph(); }

bool is_current_run_complete() { return !current_run || !current_run->is_restricted(); }

bool will_run(const Node& node) {
  return running("_will_engine_execute_node should only be called during the backward pass")
      .will_run(node);
}

std::vector<IntrusivePtr<Node>> remaining_order() {
  return running(
             "_current_graph_task_execution_order should only be called during the backward "
             "pass")
      .remaining_order();
}

void drop_gradients_of(const Node& node) {
  if (current_node() != &node || !current_run->grads()) return;
  for (Tensor& grad : *current_run->grads()) grad = Tensor();
}

void queue_callback(std::function<void()> callback) {
  TAEDA_CHECK(current_run, "Final callbacks can only be installed during backward pass.");
  current_run->call_at_end(std::move(callback));
}

}  // namespace taeda::autograd
