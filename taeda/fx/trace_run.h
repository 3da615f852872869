// One run of a program under the layers of a trace.
#pragma once

#include <exception>

#include "taeda/autograd/node.h"
#include "taeda/dispatch/levels.h"
#include "taeda/fx/epilogue.h"
#include "taeda/fx/functional_mode.h"
#include "taeda/fx/mode_order.h"
#include "taeda/fx/regions.h"
#include "taeda/fx/retrace.h"
#include "taeda/fx/shared_inputs.h"
#include "taeda/fx/tracer.h"

namespace taeda::fx {

// Which node of the retraced graph made which part of the backward graph, by sequence numbers.
class Origins {
 public:
  void enter(const Node& node);
  void leave_forward() { now_ = nullptr; }
  const Node* now() const;

 private:
  const Node* now_ = nullptr;
  std::vector<std::pair<uint64_t, const Node*>> starts_;
};

// The program that this thread traces runs this node of a graph of its own now: what is recorded
// has its place in the program. Does nothing where no program is being traced.
TAEDA_API void note_origin(const Node& node);

// What a run of the program found that the next one must know.
struct EarlierRun {
  std::vector<SharedMemory> memories;  // of inputs, which are one value while the program runs
  size_t first_assert = 0;             // of the trace, in its environment
  // Values that the program overwrites or frees what their gradients need, with the error.
  std::vector<std::pair<size_t, std::string>> overwritten;
  // A backward raised this. The run finds out of which values; what it traces is of no use.
  std::exception_ptr error;
};

class TraceRun {
 public:
  // `earlier`: what the run before found; null for the first one.
  TraceRun(const std::vector<Value>& inputs, const RetraceOptions& options,
           const EarlierRun* earlier);

  Origins& origins() { return origins_; }

  // Nothing where `found` is what the next run needs: the program writes to inputs that share
  // memory with others, or overwrites what only a run of the backward tells that it needs.
  std::optional<Retraced> run(Program program);
  const EarlierRun& found() const { return next_; }

  // A tensor that the program reads by its name.
  Tensor attribute(const std::string& name, const Tensor& real);
  // The results of a scope of grad mode as a call; nothing where it must run: where it writes to
  // its operands, or its results look at their memory or at each other's.
  std::optional<Values> keep_scope(bool is_enabled, const RegionValue& scope,
                                   const Values& operands);

 private:
  // The modes of a trace.
  struct Active {
    explicit Active(TraceRun& t) {
      if (t.fake_mode_) fake.emplace(*t.fake_mode_);
      tracer.emplace(*t.tracer_);
      if (t.functional_) functional.emplace(*t.functional_);
    }
    std::optional<EnteredMode> fake, tracer, functional;
  };
  // As the functional mode runs: what it calls goes to the tracer.
  class InsideMode {
   public:
    explicit InsideMode(TraceRun& trace)
        : mode_(dispatch::pop_mode()), below_(dispatch::kAboveHandlers) {
      if (mode_.get() == trace.functional_.get()) return;
      dispatch::push_mode(std::move(mode_));
      throw_error(ErrorKind::NotImplemented,
                  "a program cannot be traced while a dispatch mode of its caller is active");
    }
    ~InsideMode() { dispatch::push_mode(std::move(mode_)); }
    InsideMode(const InsideMode&) = delete;

   private:
    IntrusivePtr<dispatch::Mode> mode_;
    ExcludeKeys below_;
  };
  // A leaf that stands for what the gradients of these inputs come from.
  struct Source {
    Tensor leaf;
    std::vector<size_t> inputs;
    const SharedMemory* memory = nullptr;  // null: that of one input alone
  };

  struct Seen {
    std::vector<Value> values;  // of the inputs, as the tracer knows them
    std::vector<Value> inputs;  // as the program sees them
    // Of those, before the program runs.
    std::vector<IntrusivePtr<autograd::Node>> histories;
    std::vector<const Aliased*> memories;
    std::vector<Look> looks;
    std::vector<bool> had_gradients;
    std::vector<uint32_t> versions;
  };

  void make_layers();
  RetraceOptions inner_options() const;
  Values fake_results(const Graph& graph, const Values& operands);
  void retrace_regions(dispatch::Operator& op, dispatch::Stack& stack);
  std::function<bool(dispatch::Operator&, dispatch::Stack&)> without_functions();
  void note(Node& made);
  void note_start(Seen& seen, const Value& input) const;

  // ---- inputs ----
  Tensor fake_like(const Tensor& t);
  // What the program sees of a value.
  Tensor shown(const Tensor& value);
  void add_inputs();
  void add_input(size_t index, const Value& given);
  Tensor with_history(const Tensor& seen, const Tensor& value, const Tensor& given, size_t index);
  void add_shared(const SharedMemory& memory);
  Tensor value_of_memory(const SharedMemory& memory);
  Tensor base_of_family(const Tensor& root, const SharedMemory& memory, const SharedFamily& family);
  const Tensor& given(size_t index) const { return given_[index].get<Tensor>(); }

  // ---- results ----
  Value value_of(const Value& v);
  void give(const Value& v) { returned_.push_back(tracer_->arg_of(value_of(v))); }
  // False: the next run needs what this one found.
  bool finish(const std::vector<Value>& results);
  bool note_written();
  bool looks_otherwise(size_t i) const;
  // What the graph gives, with the tensors of the program whose gradients belong to it.
  std::vector<Tensor> give_values(const std::vector<Value>& results);
  std::vector<Tensor> give_with_epilogue(const std::vector<Value>& results);
  Epilogue epilogue_of(const Seen& seen, const std::vector<Value>& results);
  void check_attributes();
  void check_grads() const;
  Tensor tangent_of(const Tensor& root);
  bool differentiate(const std::vector<Tensor>& given);
  // Of each value by itself, whether its backward raises that something was overwritten.
  void find_overwritten(const std::vector<Tensor>& roots, const std::vector<Tensor>& tangents,
                        const std::vector<Tensor>& wanted);
  std::optional<std::string> overwritten_error(size_t i, const Tensor& root,
                                               const std::vector<Tensor>& wanted) const;
  // The node that is the gradient of this value, where its tangent is not.
  void mark_gradient(const Tensor& root, size_t value);
  void note_parts(const std::vector<Tensor>& roots, const std::vector<Tensor>& wanted);
  // The leaves of the program's results.
  std::vector<Value> results_of(Program program, const std::vector<Value>& inputs) const;
  // Note [Gradients as a program]
  std::vector<Value> gradients_of(Program program);
  std::vector<Value> gradients_of(const Epilogue& values, const GradientOrder& order,
                                  size_t first_tangent);
  Seen copies_of_inputs(size_t count);
  void split(const Source& source, const Tensor& grad, std::vector<Tensor>& by_input);

  const RetraceOptions& options_;
  const std::vector<Value>& given_;
  const EarlierRun* told_;
  EarlierRun next_;
  IntrusivePtr<FakeMode> fake_mode_;  // null where operators run on real tensors
  IntrusivePtr<Tracer> tracer_;
  IntrusivePtr<FunctionalMode> functional_;  // null where nothing is functionalized
  Origins origins_;
  bool is_replayed_ = false;  // the program runs for its gradients
  Seen seen_;
  std::vector<Source> sources_;
  std::vector<std::pair<std::string, Tensor>> attributes_;
  std::vector<Arg> returned_;
  Retraced made_;
};

// A thread as it is when it starts, until the end of the scope.
class TAEDA_API FreshThread {
 public:
  FreshThread();
  ~FreshThread();
  FreshThread(const FreshThread&) = delete;

 private:
  TakeGradScopes own_scopes_{nullptr};
  dispatch::BelowAllLevels levels_;
  LocalKeys keys_;
  dispatch::ModeStack modes_;
  bool is_inference_;
};

// The values in lists, and in lists of them.
void append_leaves(const Value& v, std::vector<Value>& leaves);

// Facts that a node takes over from the one it comes from.
void copy_facts(Node& made, const Node& from);

}  // namespace taeda::fx
