// Tracer: a mode that writes down every operator that reaches it, below transforms and, unless it
// is a mode before autograd, below autograd and composite operators.
#pragma once

#include <functional>
#include <unordered_set>

#include "taeda/dispatch/modes.h"
#include "taeda/fx/fake.h"
#include "taeda/fx/graph.h"

namespace taeda::fx {

// Metadata of calls that draw random numbers: their place in the random stream of the program.
inline constexpr const char kDrawMeta[] = "draw";
// Of calls that a program makes once more for its gradients: what they do beside computing their
// results is done (Note [Gradients as a program]).
inline constexpr const char kReplayedMeta[] = "replayed";

class RegionValue;
struct CallArgs;
struct ControlFlow;

// While it is active, operators run as they would without it (on the arguments as the modes below
// see them) and become nodes. Tensors it has not seen become constants: attributes of the graph's
// owner. An in-place operator's node stands for its argument from then on; programs that look at a
// written tensor through another view are traced under functionalize.
class TAEDA_API Tracer final : public dispatch::Mode {
 public:
  explicit Tracer(IntrusivePtr<Graph> graph) : graph_(std::move(graph)) {}

  Graph& graph() const { return *graph_; }
  const IntrusivePtr<Graph>& graph_ptr() const { return graph_; }

  // A placeholder, or another node without arguments, for a value that the program gets from
  // outside.
  Node& add_input(std::string_view name, const Value& value);
  Node& add_attribute(std::string_view name, const Tensor& value);

  // From now on the tensor stands for the node's result; symbols that are its sizes can be read
  // from it.
  void track(const Tensor& t, Node& node);
  // From now on the symbolic number stands for the node's result.
  void track(const SymNode& number, Node& node);
  // Results of a node, one or several: tensors in lists get a getitem node each.
  void track_results(Node& node, const Value& results);
  // A call of a built-in function, whose results these are.
  Node& record(const Builtin& function, std::vector<Arg> args, const Value& results);
  // Null for tensors that are no result of the graph.
  Node* node_of(const Tensor& t) const;
  // Nodes of operators whose tensors somebody still holds, in the order of the graph.
  std::vector<Node*> live_nodes() const;
  // Whether the number can be written as arithmetic on values in the graph.
  bool knows(const SymNode& number) const;
  // The argument that stands for a value: a node, a constant attribute or the number itself.
  Arg arg_of(const Value& v);

  // Tensors that the program took from elsewhere, by the name of their attribute.
  const std::vector<std::pair<std::string, Tensor>>& constants() const { return constants_; }

  // Runs instead of recording where it gives true, with the tracer active.
  std::function<bool(dispatch::Operator&, dispatch::Stack&)> decompose;
  // Tells parameters from other constants, for their names.
  std::function<bool(const Tensor&)> is_parameter;
  // The argument that stands for a region, the one of this number among those of a call; the graph
  // itself where it is null.
  std::function<Arg(const dispatch::Operator&, size_t number, const RegionValue&)> name_region;
  // Called on every node of an operator, with its metadata set.
  std::function<void(Node&)> on_node;

  // Conditions taken as true in this environment become assertions of the graph, each as soon as
  // its numbers can be read, before the operator that needed it. Null: of no environment.
  void write_asserts_of(IntrusivePtr<ShapeEnv> env);
  // The same from assertion number `first` of the environment on.
  void write_asserts_of(IntrusivePtr<ShapeEnv> env, size_t first);
  const IntrusivePtr<ShapeEnv>& asserted() const { return asserted_; }
  // Writes those that are left; called at the end of a trace.
  void write_asserts();

  // Of a tracer before autograd: a call of mode_calls.h; null where modes are not part of the
  // graph.
  Node* record_mode(const Builtin& function, std::vector<Arg> args);
  // Works as the tracer of the program around, on a function that this program gives to an
  // operator: casts are part of its graph, modes are not.
  void take_settings(const Tracer& outer);
  // Those of a tracer of regions inside of a program that C++ traces: it stands before autograd,
  // which makes the gradients of regions of what they do there, and before decompositions.
  void take_settings_of_program(const Tracer& program);

  // Whether a number that the program reads from a traced tensor is an error, as it has no place in
  // the graph. Otherwise the number is that of the example.
  bool refuses_values = true;

  // The place in the random stream of the next call that draws: each has the next one. A program
  // that sets back its generator sets it back too, and then draws what it drew.
  int64_t draw_place = 0;

  // Whether assertions that follow from how numbers are made are left out.
  bool skips_given_asserts = false;

  // Takes settings of a program, or is a tracer inside of such a one.
  bool is_of_program = false;
  // Of a tracer before autograd: modes that the program sets are part of the graph.
  bool records_modes = true;
  // Of a tracer before autograd: inside autocast regions it sees what their casts leave, as other
  // tracers do.
  bool is_below_autocast = false;
  // Of a tracer before autograd: operators that are not written down whole; their parts are.
  std::unordered_set<const dispatch::Operator*> opened;

  void run(dispatch::Operator& op, dispatch::Stack& stack) override;
  // Declines composites without tensors among their results, whose parts it then sees, and calls on
  // which autocast acts first.
  bool offer_early(dispatch::Operator& op, dispatch::Stack& stack) override;

 private:
  struct Tracked {
    WeakPtr<TensorImpl> key;
    IntrusivePtr<Node> node;  // which may be erased meanwhile
  };

  // Where a symbol can be read: a node that is it, or a size, stride or offset of a tensor's node.
  struct SymbolSource {
    enum class Part : uint8_t { Itself, Size, Stride, Offset };
    SymbolSource() = default;
    SymbolSource(Node* node, Part part, int64_t dim)
        : node(IntrusivePtr<Node>::share(node)), part(part), dim(dim) {}
    bool is_erased() const { return !node || node->is_erased(); }
    IntrusivePtr<Node> node;
    Part part = Part::Itself;
    int64_t dim = 0;
  };
  void note_symbols(const Tensor& t, Node& node);
  void note_symbol(const SymInt& v, SymbolSource source);
  bool is_readable(const Expr* e) const;
  // Whether every symbol of the expression is readable, or a part of one that is.
  bool can_write(const Expr* e, ShapeEnv& env) const;
  Arg symbol_arg(const SymNode& number);
  Arg expression_arg(const Expr* e, ShapeEnv& env);
  // A sum or product, a part at a time.
  Arg folded_arg(const Expr* e, ShapeEnv& env);
  Arg read_symbol(const SymbolSource& source);
  // The tracked number that is a multiple of the symbol, and perhaps a constant more; null if none.
  const Expr* multiple_of(const Expr* symbol, ShapeEnv& env) const;
  Arg divided_arg(const Expr* symbol, const Expr* multiple, ShapeEnv& env);

  // Note [Known values]: a number that the program made itself, and what it computed from such
  // numbers alone, is the same at every run of the graph. It may be read while tracing.
  bool are_known(const dispatch::Stack& stack) const;
  void note_known(const dispatch::Stack& results);
  void forget_known(const dispatch::Operator& op, const dispatch::Stack& arguments);

  // Writes that a tensor has the dtype, device and layout that it has now.
  void assert_metadata(const Tensor& t);
  bool run_decomposition(dispatch::Operator& op, dispatch::Stack& stack);
  Arg tensor_arg(const Tensor& t);
  // The arguments of control flow; its regions come first in the graph.
  CallArgs flow_args(const dispatch::Operator& op, const ControlFlow& flow,
                     const dispatch::Stack& stack);
  Node& constant_node(const Tensor& t);
  Value example(const Value& result);
  // Sets the facts about the node's value without computing it.
  void describe(Node& node, const Value& result);

  IntrusivePtr<Graph> graph_;
  std::unordered_map<const TensorImpl*, Tracked> tracked_;
  std::vector<std::pair<std::string, Tensor>> constants_;
  std::unordered_map<const TensorImpl*, WeakPtr<TensorImpl>> known_;
  std::unordered_map<const Expr*, SymbolSource> symbols_;
  IntrusivePtr<ShapeEnv> asserted_;
  size_t num_seen_asserts_ = 0;
  std::vector<RuntimeAssert> unwritten_asserts_;
  IntrusivePtr<FakeMode> examples_;  // of real results, for the nodes' metadata
};

// The innermost tracer of this thread; null when there is none.
TAEDA_API Tracer* active_tracer();

}  // namespace taeda::fx
