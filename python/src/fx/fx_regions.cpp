// Regions between Python and C++, and calls of control flow with them.
#include "python/src/fx/fx_regions.h"

#include <optional>
#include <vector>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/text.h"
#include "python/src/fx/fx_types.h"
#include "taeda/autograd/saved_hooks.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/control_flow/operators.h"
#include "taeda/fx/functional_mode.h"
#include "taeda/fx/regions.h"

namespace taeda::python {
namespace {

using dispatch::Stack;
using fx::Value;
using fx::Values;

// taeda.fx.control_flow._regions, borrowed.
PyObject* regions_module() {
  static PyObject* const module = checked(PyImport_ImportModule("taeda.fx.control_flow._regions"));
  return module;
}

Values read_values(PyObject* o) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return {read_any(o)};
  Values values;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    values.push_back(read_any(PySequence_Fast_GET_ITEM(o, i)));
  return values;
}

fx::RegionValue::Function function_of(PyObject* callable) {
  return [kept = keep_object(callable)](Values operands) {
    const GilHold gil;
    const Ref args(checked(PyTuple_New(static_cast<Py_ssize_t>(operands.size()))));
    for (size_t i = 0; i < operands.size(); ++i)
      PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), wrap_any(operands[i]));
    return read_values(Ref(checked(PyObject_Call(kept.get(), args.get(), nullptr))).get());
  };
}

// A ClosedGraph, or a function that returns a flat tuple.
Value read_region(PyObject* o) {
  static PyObject* const closed_graph =
      checked(PyObject_GetAttrString(regions_module(), "ClosedGraph"));
  IntrusivePtr<fx::Graph> graph;
  if (Py_IS_TYPE(o, reinterpret_cast<PyTypeObject*>(closed_graph))) {
    const Ref found(checked(PyObject_GetAttrString(o, "graph")));
    graph = reinterpret_cast<GraphObject*>(found.get())->value;
  }
  auto region = make_intrusive<fx::RegionValue>(std::move(graph), function_of(o),
                                                make_intrusive<PythonObject>(o));
  const Ref takes_batches(PyObject_GetAttrString(o, "takes_batches"));
  if (!takes_batches) PyErr_Clear();  // functions of the user have no such attribute
  region->takes_batches = takes_batches.get() == Py_True;
  return Value(IntrusivePtr<dispatch::Opaque>(std::move(region)));
}

Value read_operand(PyObject* o) {
  if (PyTuple_Check(o) || PyList_Check(o)) return fx::list(read_values(o));
  return PyCallable_Check(o) && !is_tensor(o) ? read_region(o) : read_any(o);
}

bool is_open(const Value& v) {
  const fx::RegionValue* region = fx::find_region(v);
  return region && !region->graph();
}

// call_control_flow(name, args): regions are ClosedGraphs, or all of them functions, which are
// called here and now.
PyObject* call_control_flow(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2 && PyUnicode_Check(argv[0]) && PyTuple_Check(argv[1]),
                     "call_control_flow takes a name and a tuple of arguments");
    dispatch::Operator* op = dispatch::find_operator("higher_order::" + text_of(argv[0]), "");
    const fx::ControlFlow* flow = op ? fx::find_control_flow(*op) : nullptr;
    TAEDA_CHECK_VALUE(flow, "no control flow has the name ", text_of(argv[0]));
    Stack stack;
    bool is_inside = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(argv[1]); ++i) {
      stack.push_back(read_operand(PyTuple_GET_ITEM(argv[1], i)));
      is_inside |= is_open(stack.back());
    }
    if (is_inside) return wrap_tuple(fx::run_inside(*flow, stack));
    dispatch::call_boxed(*op, stack);
    return wrap_tuple(fx::items(stack.at(0)));
  });
}

// ---- programs traced by C++ ----

// A functional mode over a tracer, perhaps below modes that look on: see Note [Layers of a trace]
// in fx/retrace.h. Where the two begin; nothing where there are none.
std::optional<size_t> program_modes() {
  const dispatch::ModeStack& modes = dispatch::modes();
  size_t i = modes.size();
  while (i > 0 && modes[i - 1]->is_before_autograd &&
         !dynamic_cast<fx::FunctionalMode*>(modes[i - 1].get()))
    --i;
  const bool is_traced = i >= 2 && dynamic_cast<fx::FunctionalMode*>(modes[i - 1].get()) &&
                         dynamic_cast<fx::Tracer*>(modes[i - 2].get());
  return is_traced ? std::optional(i - 2) : std::nullopt;
}

fx::Tracer* program_tracer() {
  const std::optional<size_t> first = program_modes();
  return first ? dynamic_cast<fx::Tracer*>(dispatch::modes()[*first].get()) : nullptr;
}

// Without these modes, until the end of the scope.
class BelowProgram {
 public:
  explicit BelowProgram(size_t first) {
    while (dispatch::modes().size() > first) taken_.push_back(dispatch::pop_mode());
  }
  ~BelowProgram() {
    for (; !taken_.empty(); taken_.pop_back()) dispatch::push_mode(std::move(taken_.back()));
  }
  BelowProgram(const BelowProgram&) = delete;

 private:
  std::vector<IntrusivePtr<dispatch::Mode>> taken_;
};

// traces_program(): whether the innermost modes write down the values of a program
PyObject* traces_program(PyObject*, PyObject*) {
  return guarded([&] { return Py_NewRef(program_tracer() ? Py_True : Py_False); });
}

// call_below_program(tracer, function, args): calls it without these modes; the tracer gets the
// settings of the one that is off
PyObject* call_below_program(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 3 && find_tracer(argv[0]) && PyTuple_Check(argv[2]),
                     "call_below_program takes a tracer, a function and a tuple of arguments");
    const fx::Tracer* program = program_tracer();
    TAEDA_CHECK(program, "no program is being traced");
    find_tracer(argv[0])->take_settings_of_program(*program);
    const BelowProgram below(*program_modes());
    const autograd::WithoutSavedTensorHooks unseen;  // they get what the program saves
    return checked(PyObject_Call(argv[1], argv[2], nullptr));
  });
}

// check_mergeable(result of one branch, result of the other)
PyObject* check_mergeable(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "check_mergeable takes two values");
    fx::check_mergeable(read_any(argv[0]), read_any(argv[1]));
    return Py_NewRef(Py_None);
  });
}

PyMethodDef functions[] = {
    {"traces_program", traces_program, METH_NOARGS, nullptr},
    {"call_below_program", as_function(call_below_program), METH_FASTCALL, nullptr},
    {"check_mergeable", as_function(check_mergeable), METH_FASTCALL, nullptr},
    {"call_control_flow", as_function(call_control_flow), METH_FASTCALL,
     "call_control_flow(name, args): the results of control flow, see "
     "taeda/fx/control_flow/operators.h."},
    {},
};

}  // namespace

PyObject* wrap_tuple(const Values& values) {
  Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(values.size()))));
  for (size_t i = 0; i < values.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_any(values[i]));
  return tuple.release();
}

PyObject* wrap_list(const Values& values) {
  Ref list(checked(PyList_New(static_cast<Py_ssize_t>(values.size()))));
  for (size_t i = 0; i < values.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), checked(wrap_any(values[i])));
  return list.release();
}

Values read_values(PyObject* o, const char* message) {
  const Ref items(checked(PySequence_Fast(o, message)));
  Values values;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    values.push_back(read_any(PySequence_Fast_GET_ITEM(items.get(), i)));
  return values;
}

PyObject* wrap_region(const fx::RegionValue& region) {
  if (const auto* host = dynamic_cast<const PythonObject*>(region.host().get()))
    return Py_NewRef(host->object());
  const Ref graph(wrap_graph(region.graph()));
  return checked(PyObject_CallMethod(regions_module(), "closed_graph_of", "O", graph.get()));
}

bool init_regions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace taeda::python
