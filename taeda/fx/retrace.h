// Retrace: runs a program on fake tensors and writes down what it does, as a new closed graph.
//
//   graph(x) {                             graph(x) {
//     y = aten::mul.Tensor(x, 2)             y = aten::mul.Tensor(x, 2)
//     d = aten::detach(y)             ->     e = aten::exp(y)
//     e = aten::exp_(d)                      return (e,)
//     return y                             }
//   }
//
// Note [Layers of a trace]: autograd lies above functionalization, which lies above the tracer,
// which lies above fake tensors. Histories are eager's: a write under no_grad, through detach() or
// through .data changes values alone. Operators are decomposed where they reach functionalization,
// below autograd. A trace before autograd has no autograd layer; composites stay whole there.
#pragma once

#include <functional>
#include <optional>
#include <unordered_set>

#include "taeda/fx/fake.h"
#include "taeda/fx/graph.h"
#include "taeda/fx/interpreter.h"
#include "taeda/fx/tracer.h"

namespace taeda::fx {

// One order of gradients of a program: those of `wanted` inputs and of `inner` values, as a
// function of the inputs before and of tangents of these `values`, which are inputs behind them.
struct GradientOrder {
  std::vector<size_t> values;  // of the traced program
  std::vector<size_t> wanted;
  std::vector<uint32_t> inner = {};  // of its values
};

struct RetraceOptions {
  // Runs instead of an operator where it gives true; null: operators stay as they are.
  std::function<bool(dispatch::Operator&, dispatch::Stack&)> decompose;
  bool functionalizes = true;
  // The joint graph: gradients of the results are part of the graph.
  bool differentiates = false;
  // The program runs under no_grad and may switch gradients on. If none of its results has one, the
  // graph is no joint graph and `gradients` is empty.
  bool begins_without_grad = false;
  // Not the program is traced but its gradients, or those of its gradients, as eager has them with
  // `create_graph`: what it detaches, its hooks and its own functions act as they do there. Inputs
  // that it writes to are copies.
  std::vector<GradientOrder> orders;
  // The graph gives values alone; an epilogue makes them what the program gives (epilogue.h).
  // Otherwise results that share memory with inputs or each other are values like others.
  bool keeps_aliases = false;
  // Made before gradients are traced and held until they are: modes of the backward alone. Null: it
  // has those of the forward.
  std::function<std::shared_ptr<void>()> backward_scope;
  // The trace stands before autograd, autocast and the bodies of composites but those `opened`.
  bool is_before_autograd = false;
  std::unordered_set<const dispatch::Operator*> opened;
  // Of a trace before autograd: a scope of grad mode that writes to nothing stays a call with a
  // region of its own. Otherwise what is inside is part of the graph, and has gradients.
  bool keeps_grad_scopes = true;
  // The program gets fake tensors like the inputs, which are left alone. Otherwise it gets the
  // inputs themselves, real or fake; a trace of that kind is neither functional nor has gradients.
  bool fakes_inputs = true;
  // Modes, transform levels and the grad mode of this thread act on the program. Otherwise none of
  // them sees the trace.
  bool stays_on_thread = false;
  // Makes a mode before autograd that sees the program's calls first; null: none does.
  std::function<IntrusivePtr<dispatch::Mode>()> make_watcher;
  // Null: that of the fake inputs, or a new one, if inputs are made fake. Conditions that it takes
  // as true while the program runs become assertions of the graph where `writes_asserts`.
  IntrusivePtr<FakeMode> fake_mode;
  bool writes_asserts = false;
  bool writes_given_asserts = true;  // those that follow from how numbers are made, too
  // Fake tensors that inputs become, by number; undefined or missing ones are made. Inputs that
  // share memory which the program writes to have constant sizes.
  std::vector<Tensor> fakes;
  // Names of the inputs; "arg0_1", ... where there are none.
  std::vector<std::string> names;
  // Called on every node of an operator, with the node of the retraced graph that it comes from;
  // null where there is none.
  std::function<void(Node& made, const Node* from)> on_node;
  // Records, with an empty graph and the settings that it has; null: a new one, with those above.
  IntrusivePtr<Tracer> tracer;
  // The tracer of the program that gives this one to an operator: its settings hold here.
  Tracer* outer = nullptr;
};

// Meta of a node of a joint graph: it is the gradient of the value with this number, complete, and
// no tangent alone.
inline constexpr const char kGradientMeta[] = "gradient_of_value";

struct Retraced {
  // Takes the inputs, then the tangents, in the layouts of the placeholders. Returns a tuple: new
  // values of the written inputs, the results of the program in the order of their leaves,
  // gradients of inputs.
  IntrusivePtr<Graph> graph;
  // Tensors that the program took from elsewhere, by the name of their attribute.
  std::vector<std::pair<std::string, Tensor>> constants;
  std::vector<size_t> written;  // inputs
  size_t num_results = 0;       // of the program
  size_t num_values = 0;        // elements of the tuple before the gradients
  // Of a trace that keeps aliases: takes the inputs and these values, writes to the inputs and
  // gives the results; null where the values are the results.
  IntrusivePtr<Graph> epilogue;
  std::vector<size_t> tangents;  // elements of the tuple whose tangents are inputs
  // Elements that have a history through which no gradient can be computed, since the program
  // overwrote or freed what it needs, with the error of a backward that reaches them.
  std::vector<std::pair<size_t, std::string>> overwritten;
  std::vector<size_t> gradients;  // inputs that a gradient is returned for; None where it is zero
  // The same inputs as their gradients are complete, one after the other; without those of zero.
  std::vector<size_t> arrivals;
  // Inputs that the history of no value leads to; none are told where values are overwritten.
  std::vector<size_t> unreached;
  // By gradient: whether the tangent of each value in `tangents` has a part in it. One is None
  // where none of those that have arrived. Empty: each has a part in each.
  std::vector<std::vector<bool>> parts_of;
  // Inputs that the backward writes to; their new values are behind the gradients.
  std::vector<size_t> written_back;
};

using Program = FunctionRef<Value(std::vector<Value> inputs)>;

// Traces a program on inputs like these: tensors, real or fake, which are left alone, and numbers.
// With `differentiates` inputs that require gradients have them; one that is no leaf may be written
// to. Throws what the program throws on such inputs. A program that writes to inputs which share
// memory runs twice; the graph is for inputs that share it in the same way (Note [Shared inputs]).
TAEDA_API Retraced trace(Program program, const std::vector<Value>& inputs,
                         const RetraceOptions& options);

// The same for a closed graph. Names of inputs, lines of the program and what the nodes of modules
// know survive. Autocast scopes act as they do in a run, and grad mode scopes too
// where there is autograd. Calls that set modes (mode_calls.h) are taken as the scopes they mean.
TAEDA_API Retraced retrace(const Graph& graph, const std::vector<Value>& inputs,
                           const RetraceOptions& options, AttributeReader attributes);
TAEDA_API Retraced retrace(const Graph& graph, const std::vector<Value>& inputs,
                           const RetraceOptions& options = {});

// The strides in which the graph takes the gradient of a value: its own, or those of contiguous
// memory where elements share a place or have gaps.
TAEDA_API SymIntVec tangent_strides(const Tensor& t);

// A `decompose` of options: takes operators apart down to the core ones.
TAEDA_API bool decompose_to_core(dispatch::Operator& op, dispatch::Stack& stack);

}  // namespace taeda::fx
