// The graph of a captured region: fake tensors for the program's, and a node per call on them.
#pragma once

#include "python/interop/python.h"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "taeda/autograd/grad_mode.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dynamo/capture/entry.h"
#include "taeda/dynamo/capture/recorder.h"
#include "taeda/fx/fake.h"
#include "taeda/fx/tracer.h"

namespace taeda::python {

// Sizes and numbers of inputs at earlier captures of a region: what differs from one to the next
// becomes a symbol.
struct History {
  std::map<std::string, std::vector<int64_t>> sizes, strides;  // -1: known to change
  std::map<std::string, int64_t> ints;
  std::map<std::string, double> floats;
  std::map<std::string, bool> changing;
};

// Sizes of inputs as symbols: those that changed, all, none.
enum class Dynamic : uint8_t { WhereChanged, Always, Never };

class GraphRecorder final : public dynamo::Recorder {
 public:
  // A scope in which Python code of others runs as it does without a capture.
  class Natively;
  // Whether a function mode is that of a recorder.
  static bool records(PyObject* function_mode);
  // `compile(graph, inputs, bodies)` gives a callable and whether a backend of the program made it;
  // borrowed.
  GraphRecorder(dynamo::Sources& sources, dynamo::GuardProgram& guards, History& history,
                Dynamic dynamic, PyObject* compile, bool is_whole);
  ~GraphRecorder() override;
  // The code of the outermost frame that is captured.
  void begin_at(PyCodeObject* code) { first_code_ = code; }

  PyObject* import_tensor(PyObject* real, int source, const std::string& name) override;
  PyObject* import_number(PyObject* real, int source, const std::string& name) override;
  bool may_change(PyObject* real, int source, const std::string& name) const override;
  PyObject* import_drawn(bool is_float, int source, const std::string& name) override;
  bool is_value(PyObject* object) const override;
  bool is_tensor_value(PyObject* object) const override;
  bool is_unbacked(PyObject* value) const override;
  int replays_writes(const std::vector<int>& sources) const override;
  bool takes_numbers() const override { return takes_numbers_; }
  bool requires_grad(PyObject* tensor) const override;
  bool is_leaf(PyObject* tensor) override;
  bool set_requires_grad(PyObject* tensor, bool wanted) override;
  bool has_symbolic_sizes(PyObject* tensor) const override;
  bool is_parameter(PyObject* tensor) const override;
  PyTypeObject* class_of(PyObject* value) const override;
  bool is_subclass(PyObject* value) const override;
  bool gets_class(PyObject* value) const override;
  void ask_handlers_of(dynamo::Handlers* handlers) override { handlers_ = handlers; }
  bool is_wrapper(PyObject* value) const override;
  PyObject* make_wrapper(PyObject* function, PyObject* args, PyObject* kwargs) override;
  void note_part(PyObject* wrapper, PyObject* name, PyObject* part) override;
  void set_part(PyObject* wrapper, PyObject* name, PyObject* value, bool is_object) override;
  void note_attribute(PyObject* tensor) override { written_.insert(tensor_of(tensor).impl()); }
  PyObject* make_subclass(PyObject* tensor, PyObject* type) override;
  PyTypeObject* plain_class() const override;
  dynamo::Overrides overrides() const override;
  void restore(const dynamo::Overrides& overrides) override;
  PyObject* real_of(PyObject* value, int* source) const override;
  bool is_unchanged(PyObject* tensor) const override;
  PyObject* call(PyObject* function, PyObject* args, PyObject* kwargs) override;
  PyObject* set_data(PyObject* tensor, PyObject* value) override;
  bool check_grad(PyObject* tensor, PyObject* grad) override;
  void record_call(PyObject* function, PyObject* args, PyObject* result) override;
  void note(PyObject* function, PyObject* args, PyObject* result) override;
  PyObject* call_natively(PyObject* callable, PyObject* args, PyObject* kwargs) override;
  PyObject* call_natively(PyObject* callable, PyObject* args, PyObject* kwargs,
                          bool& draws) override;
  bool check_signals() override;
  bool is_data_dependent(PyObject* exception) const override;
  bool is_error_of_call(PyObject* exception) const override { return exception == error_.get(); }
  const std::string& break_reason() const override { return break_reason_; }
  dynamo::CallKind kind_of(PyObject* function) const override;
  bool has_named_logs() const override;
  dynamo::CallKind named_log_kind_of(PyObject* function) const override;
  PyObject* substitute_of(PyObject* callable) const override;
  PyObject* function_of(PyObject* callable) const override;
  bool is_compiled_as_whole(PyObject* callable) const override;
  PyObject* real_at(int source) const override;
  // Which inputs share memory, and where they lie in it.
  void note_memory(dynamo::Entry& entry) const;
  size_t mark() const override {
    return graph_->size() - inputs_.size() - given_.size() - num_turns_;
  }
  void rewind(size_t mark) override;
  void begin_rehearsal(PyObject* args) override;
  PyObject* begin_plain_rehearsal(PyObject* function, PyObject* args) override;
  bool end_rehearsal() override;
  bool is_in_rehearsal() const override { return !rehearsals_.empty(); }
  bool run_backward(PyObject* results) override;
  void begin_body() override;
  void end_body() override;
  bool records() const override {
    return num_handlers_ == 0 && (rehearsals_.empty() || rehearsals_.back().num_bodies > 0);
  }
  PyObject* cut(size_t mark, PyObject* result) override;
  bool is_in_transform(PyObject* args) const override;
  size_t num_levels() const override;
  uint64_t innermost_level() const override;
  uint64_t first_level_of(PyObject* value) const override;
  int output(PyObject* value) override;
  Compiled compile(dynamo::GuardProgram& guards) override;

  // A call that C made while the recorder's mode is set aside.
  PyObject* take(PyObject* function, PyObject* args, PyObject* kwargs);
  // A call that C made breaks: its error says so.
  void note_break(std::string reason) { break_reason_ = std::move(reason); }
  bool writes_inputs() const override { return !written_inputs().empty(); }
  // Their sources.
  std::vector<int> written_inputs() const;
  // Whether the program said of tensors of its own that they require gradients or do not.
  bool tells_inputs() const;

 private:
  struct Input {
    Tensor fake;  // undefined for numbers
    Ref object;   // the stand-in
    Ref example;  // the same before anything was done to it
    Ref real;
    int source;
    uint32_t version = 0;
    bool is_needed = true;  // by the graph
    bool is_part = false;   // of a wrapper that the backend takes apart
    // What the program set before the graph used it; of an input that it set later, no more uses
    // are known.
    std::optional<bool> requires_grad = std::nullopt;
    bool is_used_up = false;
    bool is_told = false;  // either of them
    size_t guard = 0;      // among those of tensors
    // Of a conjugate or negative tensor: the path to its values as they lie in memory, which the
    // graph takes, and the nodes that turn them.
    int given = -1;
    std::vector<fx::Node*> turns = {};
  };
  // What of an input's geometry is a symbol.
  struct Changes {
    std::vector<fx::DimDynamic> dims;
    std::vector<fx::DimConstraint> constraints;  // what the program said of them
    bool strides = false;                        // those that follow from no sizes
  };
  bool is_used_up(const Tensor& t) const;
  bool has_view_among_inputs(const Tensor& real) const;
  bool has_number(PyObject* value, FunctionRef<bool(const fx::Expr*)> is_one) const;
  // Whether a number, or a size of a tensor, is none that inputs have.
  bool is_from_data(PyObject* value) const;
  // Whether inputs got a history by writes of the program; throw Break where others share it.
  void add_guard(int path, dynamo::TensorGuard guard);
  void note_offset(const Tensor& t);
  void check_turned(const Tensor& t, PyObject* real) const;
  Tensor turn(Tensor fake, const Tensor& real, std::vector<fx::Node*>& turns);
  void note_histories();
  void check_histories(const Tensor& given) const;
  Changes changes_of(const Tensor& t, PyObject* object, int source, const std::string& name);
  void change_with_owner(Changes& changes, const Tensor& t, int path) const;
  fx::ShapeEnv::Geometry geometry_of(const Tensor& t, const std::string& name,
                                     const Changes& changes);
  template <class Number>
  void note_change(std::map<std::string, Number>& seen, const std::string& name, Number value,
                   int source);
  bool is_argument(int source) const;
  PyObject* import_float(PyObject* real, int source, const std::string& name);
  PyObject* add_number(PyObject* real, int source, const std::string& name, dispatch::Value value,
                       Ref object);
  // Nodes since a mark that are no inputs, the last first.
  std::vector<fx::Node*> since(size_t mark) const;
  // Which of the values that a function takes its calls since the mark wrote to: their places.
  void note_sizes();
  PyObject* written_since(size_t mark, PyObject* taken);
  const fx::Node* node_of_number(PyObject* number) const;
  fx::Arg arg_of(PyObject* value);
  std::vector<fx::Arg> args_of(PyObject* sequence);
  std::vector<fx::Arg> args_of_natively(PyObject* sequence);
  fx::Node* node_of_fields(PyObject* value);
  void add_body(PyObject* callable, const std::string& name);
  fx::Node& node_of_body(PyObject* callable);
  fx::Node* node_of_tensor(PyObject* tensor);
  void erase_since(size_t mark);
  std::string unique_name(const std::string& source);
  std::string user_lines();
  bool is_hidden(PyObject* function, PyObject* args) const;
  void record(PyObject* function, std::vector<fx::Arg> args, PyObject* kwargs, PyObject* result,
              bool by_class = false);
  fx::Node& create(PyObject* function, std::vector<fx::Arg> args, PyObject* kwargs,
                   bool by_class = false);
  void learn(PyObject* function) const;

  dynamo::Sources& sources_;
  dynamo::GuardProgram& guards_;
  History& history_;
  const Dynamic dynamic_;
  PyObject* compile_;
  Ref mode_object_;
  IntrusivePtr<fx::FakeMode> mode_;
  IntrusivePtr<fx::ShapeEnv> env_;
  IntrusivePtr<fx::Graph> graph_;
  IntrusivePtr<fx::Tracer> tracer_;
  std::vector<Input> inputs_;
  size_t num_turns_ = 0;  // nodes at the beginning that make conjugate and negative tensors
  std::unordered_map<const TensorImpl*, size_t> input_of_;  // by fake
  std::unordered_set<const TensorImpl*> gets_data_;         // tensors whose data the program set
  // Inputs with gradients whose data the program set: the node that they were, and that of the
  // data.
  struct NewData {
    fx::Node* input;
    fx::Node* data;
  };
  std::unordered_map<const TensorImpl*, NewData> new_data_;
  void use_new_data(const Tensor& t);
  // Throws Break where detach_ is called on an input.
  void check_detached(PyObject* function, PyObject* args) const;
  // What an input is a view of the stand-in does not know. Throws Break where autograd refuses the
  // write for it, or where views of the input follow it from now on.
  void check_write(const Tensor& written) const;
  void check_grown(const Tensor& grown) const;
  // Throws Break where a result follows the tensor that an input is a view of, which does not
  // require gradients as the input does by itself.
  void check_own_flags(PyObject* result);
  std::unordered_set<const TensorImpl*> seen_own_flags_;  // such inputs of which there are views
  // Memory that calls of the graph wrote to, and the mark before each.
  std::vector<std::pair<size_t, Storage>> writes_;
  std::vector<Ref> kept_;
  std::vector<PyObject*> outputs_;  // kept by `kept_`
  std::unordered_map<PyObject*, int> output_of_;
  // Levels of function transforms and handles of hooks; kept by `kept_`.
  std::unordered_map<PyObject*, fx::Node*> named_;
  Ref function_mode_;
  PyCodeObject* first_code_ = nullptr;
  PyFrameObject* outermost_ = nullptr;          // of that code; alive as long as its frame
  bool is_aside_ = false;                       // the mode, while it answers
  bool has_new_histories_ = false;              // inputs got one by writes
  bool has_subclasses_ = false;                 // among the inputs
  std::unordered_set<const TensorImpl*> made_;  // objects that make_subclass made
  // ---- handlers of operators (recorded_handlers.cpp) ----
  dynamo::Handlers* handlers_ = nullptr;
  int num_handlers_ = 0;  // that are evaluated now
  // Objects of classes with __torch_dispatch__ that handlers and the program made; kept by `kept_`.
  std::unordered_set<const TensorImpl*> wrappers_;
  std::unordered_set<const TensorImpl*> written_;  // whose attributes the program wrote
  bool has_handlers_ = false;                      // that answer calls of the graph
  // Whether calls of the graph are there for objects of such classes alone, not for plain tensors.
  bool needs_objects_ = false;
  class Asking;
  Asking* asking_ = nullptr;  // the innermost
  static bool asks_handlers(PyObject* args, PyObject* kwargs);
  void check_attributes(PyObject* args, PyObject* kwargs) const;
  PyObject* call_with_handlers(PyObject* function, PyObject* args, PyObject* kwargs);
  PyObject* call_plainly(PyObject* function, PyObject* args, PyObject* kwargs);
  std::vector<int> undone_inputs();
  std::vector<Ref> take_inputs_apart();
  Ref parts_by_place(const std::vector<Ref>& parts) const;
  Ref placed_parts(PyObject* tree) const;
  void note_made_wrapper(PyObject* made);
  void note_wrappers(PyObject* result);
  class ModeInPlace;
  bool ask_overrides(PyObject* function, PyObject* args, PyObject* kwargs, Ref& answer);
  std::string break_reason_;
  Ref error_;  // of the last call that raised
  const bool starts_with_grad_ = autograd::grad_enabled();
  const bool starts_in_inference_ = is_inference_mode();
  bool switches_grad_on_ = false;  // where there were none
  void begin_without_grad();
  PyObject* kinds_of_outputs() const;
  bool takes_numbers_ = false;  // that only data tells, as values of the graph
  Ref changing_sources_;        // what a setting says of sizes of inputs, by name; None: nothing
  bool has_constant_ints_ = false, has_constant_floats_ = false;  // also where they changed
  Ref named_logs_;  // a dict of kinds, by function or method
  Ref told_changes(const std::string& name) const;
  struct Rehearsal {
    Ref args;
    std::unordered_set<const fx::Node*> known;
    std::unordered_set<int> wrappers;             // among the arguments: their sources
    std::unordered_set<const fx::Expr*> foreign;  // symbols
    bool is_closed = true;
    size_t mark = 0;     // of its beginning
    int num_bodies = 0;  // in which it is now
    // Of one outside of the transforms that run.
    std::optional<dispatch::BelowAllLevels> outside;
    std::optional<autograd::GradMode> recording;
  };
  std::deque<Rehearsal> rehearsals_;  // that run now, outermost first
  Rehearsal& rehearsal() { return rehearsals_.back(); }
  void rehearse(PyObject* args);
  bool is_in_argument(const Tensor& t) const;
  // Nodes for what bodies take of a rehearsal, which has no nodes for it.
  std::vector<fx::Node*> given_;
  std::set<std::string> names_;
  // What calls of the graph take and its code has no name for, by the name of the attribute: graphs
  // of their own, and callables that are neither functions nor classes.
  Ref bodies_;
  std::unordered_map<PyObject*, std::string> name_of_body_;
};

// The recorder that function modes tell of calls while a capture runs.
bool init_recorder_mode(PyObject* module);

}  // namespace taeda::python
