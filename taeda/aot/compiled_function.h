// A program that was traced, differentiated and compiled, with a place in autograd's graph.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "taeda/aot/inner_gradients.h"
#include "taeda/aot/layout_checks.h"
#include "taeda/aot/partition.h"
#include "taeda/aot/size_checks.h"
#include "taeda/aot/small_sizes.h"
#include "taeda/core/generator.h"
#include "taeda/fx/compiler.h"
#include "taeda/fx/shared_inputs.h"

namespace taeda::aot {

class CompiledNode;

using fx::Value;

struct AotOptions {
  fx::CompilerFn forward, backward;
  fx::CompilerFn inference;  // of programs without gradients; null: `forward`
  std::function<bool(dispatch::Operator&, dispatch::Stack&)> decompose;
  // Of traces: see fx::RetraceOptions.
  std::function<IntrusivePtr<dispatch::Mode>()> make_watcher;
  std::function<std::shared_ptr<void>()> backward_scope;
  // Changes the joint graph before it is cut, and a graph without gradients as it is.
  std::function<void(fx::Graph& joint)> on_joint;
  // Told at each run of values of which sizes are symbols, by dimension, and of such saved tensors
  // where hooks see them.
  std::function<void(const Tensor& t, const std::vector<int64_t>& dims)> on_changing_sizes;
  PartitionOptions partition;
  // Cuts joint graphs instead of `partition`.
  std::function<Partition(const fx::Retraced& joint, size_t num_inputs)> cut;
  bool returns_saved = false;  // inputs that are saved are results of the forward graph, too
  bool compiles_backward_late = false;  // when it runs first, not with the forward
  bool keeps_writes = false;            // the forward graph writes to inputs (kept_writes.h)
  // Of those, writes to inputs whose elements lie dense, of sizes that are constants, in programs
  // whose inputs share no memory; others stay in the epilogue.
  bool keeps_plain_writes = false;
  // Later inputs are compared with what the trace found out: sizes, and that none needs a gradient.
  // Callers that compare inputs themselves do without.
  bool checks_inputs = false;
  // Modes of this thread act on the program while it is traced.
  bool stays_on_thread = false;
  IntrusivePtr<fx::FakeMode> fake_mode;  // null: that of the inputs, or a new one
  std::vector<Tensor> fakes;             // as fx::RetraceOptions has them
  int64_t number = 0;                    // of the program, for messages
  std::shared_ptr<void> kept;            // lives as long as what is compiled may run
  // Of a program that is no graph: the same one, for gradients of gradients, which are traced when
  // they are asked for. Null: they are refused.
  std::function<Value(std::vector<Value> inputs)> again;
};

// Traces the same program once more, on inputs like these.
using TraceAgain =
    std::function<fx::Retraced(const std::vector<Value>&, const fx::RetraceOptions&)>;
// Random generators and their states.
using RandomStates = std::vector<std::pair<Generator, GeneratorImpl::State>>;

class TAEDA_API CompiledFunction : public std::enable_shared_from_this<CompiledFunction> {
 public:
  // Takes values like the traced inputs. Writes to them and gives results as the program does,
  // histories included.
  std::vector<Value> operator()(const std::vector<Value>& inputs);

  const fx::Retraced& traced() const { return traced_; }
  // Nothing where no input needs a gradient.
  const std::optional<Partition>& parts() const { return parts_; }
  size_t num_inputs() const { return num_inputs_; }
  // Of the tensors among the inputs: the order in which eager has their gradients.
  Span<uint32_t> edge_ranks() const { return edge_ranks_; }
  // What the backward does with gradients of values: one per input, undefined where there is none.
  // `zeros_for_missing`: the same gradients, all defined. `written`: inputs that the backward
  // writes to.
  std::vector<Tensor> run_backward(const std::vector<Value>& saved, Span<Tensor> grads,
                                   const std::vector<Tensor>& zeros_for_missing,
                                   const std::vector<Tensor>& written) const;
  // The same, with gradients of `asked` values shown as they are complete: Note [Inner gradients].
  std::vector<Tensor> run_and_show(const std::vector<Value>& saved, Span<Tensor> grads,
                                   const std::vector<Tensor>& zeros_for_missing,
                                   const std::vector<Tensor>& written, Span<uint32_t> asked,
                                   autograd::ShowInner show) const;
  bool is_inner(uint32_t value) const { return std::ranges::count(inner_, value) != 0; }
  // The same from the inputs, as a function that is differentiable itself; it is compiled at the
  // first call with such gradients, of which some may be undefined. `random`: the states before the
  // forward. `inner`: values whose gradients are added to `found`.
  std::vector<Tensor> run_twice(const std::vector<Value>& inputs, const std::vector<Tensor>& grads,
                                const RandomStates& random, Span<uint32_t> inner,
                                std::vector<Tensor>& found);
  // Whether the backward reads a saved value for one of these gradients of values.
  bool reads_saved(size_t number, Span<Tensor> grads) const;
  // Whether the trace serves inputs of these sizes.
  bool has_sizes_of_trace(const std::vector<Value>& inputs) const {
    return check_sizes_.hold(inputs);
  }
  // Of these gradients, one per input, drops those that no given gradient of a value has a part in.
  void drop_unreached(Span<Tensor> grads, std::vector<Tensor>& found) const;

 private:
  friend class Compiler;
  // `node`: null where nothing is recorded.
  std::vector<Value> record(const std::vector<Value>& inputs, std::vector<Value> values,
                            RandomStates random, IntrusivePtr<CompiledNode>& node);
  std::vector<Tensor> by_input(const std::vector<Value>& results) const;
  void check_sharing(const std::vector<Value>& inputs) const;
  void check_duplicates(const std::vector<Value>& inputs) const;
  void check_gradients(const std::vector<Value>& inputs) const;
  void check_writes(const std::vector<Value>& inputs) const;
  const fx::CompiledFn& backward(const std::vector<bool>& given) const;
  void tell_sizes(const Value& value, const std::vector<int64_t>& dims) const;
  RandomStates random_states() const;
  std::shared_ptr<CompiledFunction> compile_twice(std::vector<size_t> given,
                                                  const std::vector<bool>& needs,
                                                  Span<uint32_t> inner) const;

  fx::Retraced traced_;
  std::optional<Partition> parts_;
  std::optional<fx::Plan> epilogue_;
  bool gives_nothing_ = false;  // and there is no epilogue
  fx::CompiledFn forward_;
  // By which tangents are given; compiled when they run first.
  mutable std::map<std::vector<bool>, fx::CompiledFn> backwards_;
  size_t num_inputs_ = 0;
  std::vector<uint32_t> edge_ranks_;
  std::vector<size_t> unreached_edges_;
  std::vector<std::vector<bool>> saved_reads_;
  std::vector<size_t> inner_;  // values: Note [Inner gradients]
  // By which tangents are given, and which of those values are asked for.
  mutable std::map<std::pair<std::vector<bool>, std::vector<uint32_t>>,
                   std::shared_ptr<const SteppedBackward>>
      stepped_;
  // Dimensions whose sizes are symbols, of inputs and of what the forward gives.
  std::vector<std::vector<int64_t>> changing_inputs_, changing_values_;
  // Inputs that were the same tensor as one before, with that one, if the program does something to
  // its inputs or gives views of them.
  std::vector<std::pair<size_t, size_t>> duplicates_;
  fx::Sharing sharing_;  // of memory that the program writes to
  // Writes of the epilogue that autograd records: to an input, with a value if it is no change of
  // sizes alone.
  std::vector<std::pair<size_t, std::optional<size_t>>> recorded_writes_;
  bool writes_behind_ = false;        // the epilogue does
  bool begins_without_grad_ = false;  // and switches gradients on
  SizeChecks check_sizes_;
  std::unique_ptr<SmallSizes> small_sizes_;  // of graphs alone: Note [Small sizes]
  LayoutChecks check_layouts_;
  bool checks_gradients_ = false;          // that nothing is recorded around the program
  DType default_dtype_ = default_dtype();  // of the trace, and of whatever is traced later
  // For gradients of gradients.
  AotOptions options_;
  TraceAgain trace_again_;
  std::vector<fx::GradientOrder> orders_;  // that this program is of another
  std::vector<Generator> drawn_from_;      // by the program
  std::map<std::string, Value> attributes_;
  mutable std::mutex mutex_;
  // By which values are given gradients, what needs gradients, and which are asked for.
  std::map<std::tuple<std::vector<size_t>, std::vector<bool>, std::vector<uint32_t>>,
           std::shared_ptr<CompiledFunction>>
      twice_;
};

// A program between its trace and its compilation. The graph may be changed meanwhile, as long as
// it takes and gives the same.
struct TracedProgram {
  fx::Retraced traced;
  std::vector<Value> inputs;  // that it was traced on
  bool differentiates;        // the graph is a joint one
  bool begins_without_grad;   // it is that of a program that switches gradients on
  TraceAgain again;
};
TAEDA_API TracedProgram trace(fx::Program program, const std::vector<Value>& inputs,
                              const AotOptions& options);
TAEDA_API std::shared_ptr<CompiledFunction> compile(TracedProgram program,
                                                    const AotOptions& options);

// Traces a closed graph, or a program, on inputs like these; the joint graph is made where one of
// them requires a gradient and the program records something: it runs in the grad mode of this
// thread, which it may switch. Tensors that the graph reads by name are constants
// of the program.
TAEDA_API std::shared_ptr<CompiledFunction> compile(const fx::Graph& graph,
                                                    const std::vector<Value>& inputs,
                                                    const AotOptions& options,
                                                    fx::AttributeReader attributes);
TAEDA_API std::shared_ptr<CompiledFunction> compile(const fx::Graph& graph,
                                                    const std::vector<Value>& inputs,
                                                    const AotOptions& options);
TAEDA_API std::shared_ptr<CompiledFunction> compile(fx::Program program,
                                                    const std::vector<Value>& inputs,
                                                    const AotOptions& options);

}  // namespace taeda::aot
