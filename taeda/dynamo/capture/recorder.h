// What capture asks of whoever knows tensors: stand-ins, the graph that calls on them make, and its
// compilation.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "taeda/dynamo/capture/guards.h"

namespace taeda::dynamo {

// What calls of functions that are not entered do.
enum class CallKind : uint8_t {
  Unknown,      // anything: the call is a break
  Pure,         // gives a result and does nothing else; runs Python code only through its arguments
  Mutates,      // changes its first argument and nothing else
  Operator,     // of tensors: a node of the graph
  Entered,      // a Python function like those of programs
  SetsMode,     // of the thread: grad mode, autocast, levels of function transforms
  Constant,     // its result is taken for the same at every call
  InTransform,  // an operator, inside of function transforms alone
  Function,     // `apply` of an autograd Function
  Body,         // capture_body(function, args, kwargs): Recorder::cut of that call
  AsOperator,   // as_operator(function, args, kwargs): an operator whatever the function is
  Lock,         // __enter__ and __exit__ of locks
  Warns,        // warnings.warn: told at the region's end
  Namespace,    // a class whose instances hold operators by name
  Operators,    // a class whose instances are operators
  FunctionMode,  // puts a mode of the program on the thread's stack, or takes it off
  Subclass,      // Tensor.as_subclass(tensor, class): the same value
  RequiresGrad,  // Tensor.requires_grad_
  Hook,          // Tensor.register_hook
  SetsOwnMode,   // of captures: no node of the graph
  Afterwards,   // of a tensor: its result, which nothing but a run knows, is asked behind the graph
  Reordered,    // by a setting, or by itself: called behind the graph for its effect
  Ignored,      // by a setting: not called at all
  BoundTo,      // bound_to(function, args): called with the program's own objects, once
  Undivided,    // set_undivided(on): regions do not end until it is off
  Initializes,  // a lazy module: called as it is, before the region is captured again
  Number,       // an operator whose number, which data tells, is a value of every graph
  Reads,        // as Pure, and what it does goes by the classes of what its arguments hold
  RemovesHook,  // remove_hook(handle), of a hook that the captured program registered
  Adds,         // as Mutates, and takes nothing away from its first argument
  MakesWrapper,  // Tensor._make_wrapper_subclass
  OfHandlers,    // asked of operators and wrappers, by handlers alone: called as it is
  Told,          // for its effect alone, which a handler has when the graph runs; else Unknown
};

// What a thread asks before it calls an operator.
struct Overrides {
  std::vector<PyObject*> modes;  // of the program, the outermost first; borrowed
  int state = 0;                 // whether classes and modes are asked at all
  bool operator==(const Overrides&) const = default;
};

// Evaluates the handlers of operators (Note [Handlers of operators]).
class Handlers {
 public:
  virtual ~Handlers() = default;
  // type.__torch_dispatch__(*args), or rule(*args) for the operators that have one for the class. A
  // new reference, or null with an error.
  virtual PyObject* ask(PyTypeObject* type, PyObject* rule, PyObject* args) = 0;
  // Why a handler was not evaluated to its end since the last question; empty: it was.
  virtual std::string take_break() = 0;
  // Whether handlers wrote to objects of the program, memory of tensors apart.
  virtual bool have_written() = 0;
  // function(*args) as handlers are evaluated, of what they wrote; function is one of Python. In
  // containers of its own, with tensors as stand-ins and the program's own objects. A new
  // reference, or null with an error.
  virtual PyObject* evaluate(PyObject* function, PyObject* args) = 0;
};

class Recorder {
 public:
  virtual ~Recorder() = default;

  // The stand-in of a tensor of the program; its guards are added. A new reference.
  virtual PyObject* import_tensor(PyObject* real, int source, const std::string& name) = 0;
  // The same for a number; null where it is a constant of the graph.
  virtual PyObject* import_number(PyObject* real, int source, const std::string& name) = 0;
  // Whether that may be another object than the number.
  virtual bool may_change(PyObject* real, int source, const std::string& name) const = 0;
  // A number that is drawn before the graph runs: an input of which nothing is known.
  virtual PyObject* import_drawn(bool is_float, int source, const std::string& name) = 0;
  // A tensor or a symbolic number of the graph.
  virtual bool is_value(PyObject* object) const = 0;
  virtual bool is_tensor_value(PyObject* object) const = 0;
  // A number that only data tells, or a tensor of such a size.
  virtual bool is_unbacked(PyObject* value) const = 0;
  // Whether such numbers may be values of the graph.
  virtual bool takes_numbers() const = 0;
  virtual bool requires_grad(PyObject* tensor) const = 0;
  // Guarded for tensors of the program.
  virtual bool is_leaf(PyObject* tensor) = 0;
  // From here on a tensor of the program requires a gradient or does not; false for one that cannot
  // be told so in the middle of a graph.
  virtual bool set_requires_grad(PyObject* tensor, bool wanted) = 0;
  virtual bool has_symbolic_sizes(PyObject* tensor) const = 0;
  virtual bool is_parameter(PyObject* tensor) const = 0;
  // The class that the program sees.
  virtual PyTypeObject* class_of(PyObject* value) const = 0;
  // Who evaluates handlers; null until the end of whoever did.
  virtual void ask_handlers_of(Handlers* handlers) = 0;
  // An object of a class with __torch_dispatch__ that a handler or the captured program made: the
  // graph has an object with attributes, as the run's handlers see it.
  virtual bool is_wrapper(PyObject* value) const = 0;
  // Tensor._make_wrapper_subclass(...). A new reference.
  virtual PyObject* make_wrapper(PyObject* function, PyObject* args, PyObject* kwargs) = 0;
  // A tensor that such an object, or what it holds, has by a name becomes a value of the graph.
  virtual void note_part(PyObject* wrapper, PyObject* name, PyObject* part) = 0;
  // The program writes to an attribute of such an object; null: deletes it. `is_object`: it gets
  // this very object at every run.
  virtual void set_part(PyObject* wrapper, PyObject* name, PyObject* value, bool is_object) = 0;
  // The program wrote to an attribute of another tensor, which the run's objects get behind the
  // graph.
  virtual void note_attribute(PyObject* tensor) = 0;
  // Whether that is a class of the program with a __torch_function__, which calls go to.
  virtual bool is_subclass(PyObject* value) const = 0;
  // Whether a result gets its class behind the graph: one of such a class, or a plain tensor that
  // was made of one.
  virtual bool gets_class(PyObject* value) const = 0;
  // The same value as an object of such a class. A new reference.
  virtual PyObject* make_subclass(PyObject* tensor, PyObject* type) = 0;
  virtual PyTypeObject* plain_class() const = 0;  // of tensors
  virtual Overrides overrides() const = 0;
  virtual void restore(const Overrides& overrides) = 0;
  // The tensor of the program that a stand-in is for, and its source; null for results.
  virtual PyObject* real_of(PyObject* value, int* source) const = 0;
  // Whether a tensor of the program has the values and sizes that it had at the region's beginning.
  virtual bool is_unchanged(PyObject* tensor) const = 0;
  // The tensor or number of the program that is the input from there; null where there is none.
  virtual PyObject* real_at(int source) const = 0;
  // Whether writes to these sources are done when the compiled region runs; -1 with an error where
  // the program must not have them.
  virtual int replays_writes(const std::vector<int>& sources) const = 0;
  // Calls a function of tensors on stand-ins as one node. A new reference, or null with an error.
  virtual PyObject* call(PyObject* function, PyObject* args, PyObject* kwargs) = 0;
  // From here on a tensor has the memory of another, as `tensor.data = value` says: the data
  // without history, a new reference, or null with an error.
  virtual PyObject* set_data(PyObject* tensor, PyObject* value) = 0;
  // Whether `tensor.grad = grad` is one that tensors take; false with an error.
  virtual bool check_grad(PyObject* tensor, PyObject* grad) = 0;
  // Whether calls so far wrote to tensors of the program.
  virtual bool writes_inputs() const = 0;
  // A call that was made already, as one node.
  virtual void record_call(PyObject* function, PyObject* args, PyObject* result) = 0;
  // A call that sets a mode, in the graph's order, and its result, by which later calls may name
  // it.
  virtual void note(PyObject* function, PyObject* args, PyObject* result) = 0;
  // Calls something as the program does without a capture. A new reference, or null with an error.
  virtual PyObject* call_natively(PyObject* callable, PyObject* args, PyObject* kwargs) = 0;
  // The same, telling whether the call drew random numbers; they are put back.
  virtual PyObject* call_natively(PyObject* callable, PyObject* args, PyObject* kwargs,
                                  bool& draws) = 0;
  // Runs the program's handlers of signals as it does without a capture; false with an error.
  virtual bool check_signals() = 0;
  // Whether an exception says that data decides.
  virtual bool is_data_dependent(PyObject* exception) const = 0;
  // Whether an exception came out of a call on stand-ins.
  virtual bool is_error_of_call(PyObject* exception) const = 0;
  // Why a call that C made broke; empty where none did.
  virtual const std::string& break_reason() const = 0;
  virtual CallKind kind_of(PyObject* function) const = 0;
  // What settings say of a function or method that logs; Unknown: nothing. None of them is named
  // in most programs.
  virtual bool has_named_logs() const = 0;
  virtual CallKind named_log_kind_of(PyObject* function) const = 0;
  // The function of Python that is captured in place of one; null for others. Borrowed.
  virtual PyObject* substitute_of(PyObject* callable) const = 0;
  // The function that a callable compiles; null for others. Borrowed.
  virtual PyObject* function_of(PyObject* callable) const = 0;
  // Whether a break inside of that function is an error.
  virtual bool is_compiled_as_whole(PyObject* callable) const = 0;

  // Nodes so far; those made since are forgotten.
  virtual size_t mark() const = 0;
  virtual void rewind(size_t mark) = 0;

  // From here on calls make no nodes; the end tells whether they took tensors and numbers of the
  // graph from these arguments alone.
  virtual void begin_rehearsal(PyObject* args) = 0;
  // The same for a Function inside of function transforms, which rest until the end: gives the
  // arguments of the rehearsal, with tensors that look like these and are the graph's no more.
  virtual PyObject* begin_plain_rehearsal(PyObject* function, PyObject* args) = 0;
  virtual bool end_rehearsal() = 0;
  virtual bool is_in_rehearsal() const = 0;
  // Between them calls make nodes in a rehearsal, too, which `cut` takes out.
  virtual void begin_body() = 0;
  virtual void end_body() = 0;
  // Whether calls make nodes.
  virtual bool records() const = 0;
  // Runs the derivative of results by the arguments of the rehearsal, as calls of the program;
  // false with an error.
  virtual bool run_backward(PyObject* results) = 0;
  // Takes the nodes since the mark, which gave this result, out of the graph: (a function of the
  // values that they take, these values, the result, the places of those values that it writes
  // to), a new reference.
  virtual PyObject* cut(size_t mark, PyObject* result) = 0;
  // Whether a function transform runs, or made one of the arguments.
  virtual bool is_in_transform(PyObject* args) const = 0;
  virtual size_t num_levels() const = 0;         // of function transforms
  virtual uint64_t innermost_level() const = 0;  // its number, which no later one has
  // Of the levels that made wrappers around a value the first; 0 for a value without.
  virtual uint64_t first_level_of(PyObject* value) const = 0;

  // The number of a value among the graph's results.
  virtual int output(PyObject* value) = 0;
  // Compiles the graph: a callable, null without one; with an error set on failure, which is the
  // program's to see.
  struct Compiled {
    PyObject* callable = nullptr;  // a new reference; null for an empty graph
    std::vector<int> inputs;       // sources
    std::vector<int> written;      // and those of inputs that a call has written to where it fails
    bool is_raised = false;
    bool is_foreign = false;  // a backend of the program made the callable
    // The region begins without gradients and switches them on; the callable is called with them.
    bool runs_with_grad = false;
  };
  virtual Compiled compile(GuardProgram& guards) = 0;
};

}  // namespace taeda::dynamo
