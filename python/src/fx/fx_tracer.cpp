// taeda._C._fx.Tracer: the C++ side of make_fx.
#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/text.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/native_mode.h"
#include "python/src/dispatch/overloads.h"
#include "python/src/fx/decomposition_table.h"
#include "python/src/fx/fx_fake.h"
#include "python/src/fx/fx_regions.h"
#include "python/src/fx/fx_types.h"
#include "python/src/shapes/sym_types.h"
#include "taeda/dynamo/capture/source.h"
#include "taeda/fx/builtins.h"
#include "taeda/fx/effects.h"
#include "taeda/fx/tracer.h"

namespace taeda::python {
namespace {

fx::Tracer& tracer(PyObject* o) { return static_cast<fx::Tracer&>(*native_mode_of(o)); }

bool is_parameter(const Tensor& t) {
  const GilHold gil;
  const Ref type(dynamo::loaded("taeda.nn.parameter", "Parameter"));
  if (!type) return false;
  const Ref object(checked(wrap(t)));
  const int yes = PyObject_IsInstance(object.get(), type.get());
  if (yes < 0) throw_python_error();
  return yes == 1;
}

// By its Python object, which holds the region as a module.
fx::Arg name_region(fx::Tracer& t, const dispatch::Operator& op, size_t number,
                    const fx::RegionValue& region) {
  const GilHold gil;
  const Ref closed(wrap_region(region));
  return read_arg(Ref(checked(PyObject_CallMethod(static_cast<PyObject*>(t.peer), "name_region",
                                                  "OnO", control_flow_object(op),
                                                  static_cast<Py_ssize_t>(number), closed.get())))
                      .get());
}

// Tracer(graph)
PyObject* tracer_create(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(PyTuple_GET_SIZE(args) >= 1 && is_fx_graph(PyTuple_GET_ITEM(args, 0)),
                     "a tracer takes a Graph");
    auto* graph = reinterpret_cast<GraphObject*>(PyTuple_GET_ITEM(args, 0));
    auto fresh = make_intrusive<fx::Tracer>(graph->value);
    fresh->is_parameter = is_parameter;
    fresh->name_region = [t = fresh.get()](const dispatch::Operator& op, size_t number,
                                           const fx::RegionValue& region) {
      return name_region(*t, op, number, region);
    };
    return new_native_mode(type, std::move(fresh));
  });
}

fx::Value tracer_value_of(PyObject* o) {
  const fx::Arg arg = read_arg(o);
  if (arg.is_constant()) return arg.constant();
  auto list = std::make_shared<fx::Value::List>();
  TAEDA_CHECK_TYPE(PyTuple_Check(o) || PyList_Check(o), "expected a tensor, a number or a list");
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    list->push_back(tracer_value_of(PySequence_Fast_GET_ITEM(o, i)));
  return list;
}

// add_input(name, value): a placeholder for a tensor or a symbolic number.
PyObject* add_input(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "add_input takes a name and a value");
    return wrap_node(tracer(self).add_input(text_of(args[0]), tracer_value_of(args[1])));
  });
}
// add_attribute(name, tensor): a node that reads it.
PyObject* add_attribute(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "add_attribute takes a name and a tensor");
    const Tensor& value = expect_tensor(args[1], "the second argument");
    return wrap_node(tracer(self).add_attribute(text_of(args[0]), value));
  });
}

// track(value or nested list, node)
PyObject* track(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "track takes a value and a node");
    tracer(self).track_results(expect_node(args[1], "the second argument"),
                               tracer_value_of(args[0]));
    return Py_NewRef(Py_None);
  });
}

PyObject* node_of(PyObject* self, PyObject* o) {
  return guarded([&] {
    fx::Node* n = tracer(self).node_of(expect_tensor(o, "the argument"));
    return n ? wrap_node(*n) : Py_NewRef(Py_None);
  });
}

PyObject* live_nodes(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref list(checked(PyList_New(0)));
    for (fx::Node* n : tracer(self).live_nodes()) {
      const Ref node(checked(wrap_node(*n)));
      if (PyList_Append(list.get(), node.get()) < 0) throw_python_error();
    }
    return list.release();
  });
}

// Whether a symbolic number can be written as arithmetic on values in the graph.
PyObject* knows(PyObject* self, PyObject* o) {
  return guarded([&] {
    const fx::Value v = tracer_value_of(o);
    if (v.is<IntrusivePtr<SymNode>>())
      return wrap(tracer(self).knows(*v.get<IntrusivePtr<SymNode>>()));
    TAEDA_CHECK_TYPE(is_symint(o), "expected a symbolic number");
    const SymInt number = to_symint(o);
    return wrap(!number.is_symbolic() || tracer(self).knows(*number.node()));
  });
}

PyObject* arg_of(PyObject* self, PyObject* o) {
  return guarded([&] { return wrap_arg(tracer(self).arg_of(tracer_value_of(o))); });
}

PyObject* set_decompositions(PyObject* self, PyObject* table) {
  return guarded([&] {
    const bool is_empty = PyDict_Check(table) && PyDict_GET_SIZE(table) == 0;
    tracer(self).decompose = nullptr;
    if (!is_empty) tracer(self).decompose = DecompositionTable(table);
    return Py_NewRef(Py_None);
  });
}

// note_call(function, args): a node for a call that sets a mode; None where the graph has no modes.
PyObject* note_call(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "note_call takes a function and its arguments");
    const fx::Builtin* function = read_target(fx::OpCode::CallFunction, args[0]).builtin();
    TAEDA_CHECK_TYPE(function, "note_call takes a function that sets a mode");
    fx::Node* node = tracer(self).record_mode(*function, read_args(args[1]));
    return node ? wrap_node(*node) : Py_NewRef(Py_None);
  });
}

// keep_regions(): nodes hold the graphs that they call.
PyObject* keep_regions(PyObject* self, PyObject*) {
  return guarded([&] {
    tracer(self).name_region = nullptr;
    return Py_NewRef(Py_None);
  });
}

// set_node_callback(function or None): called with each new node of an operator.
PyObject* set_node_callback(PyObject* self, PyObject* function) {
  return guarded([&] {
    if (function == Py_None) {
      tracer(self).on_node = nullptr;
      return Py_NewRef(Py_None);
    }
    const std::shared_ptr<PyObject> kept = keep_object(function);
    tracer(self).on_node = [kept](fx::Node& node) {
      const GilHold gil;
      const Ref object(wrap_node(node));
      const Ref done(checked(PyObject_CallOneArg(kept.get(), object.get())));
    };
    return Py_NewRef(Py_None);
  });
}

PyObject* get_constants(PyObject* self, void*) {
  return guarded([&] {
    Ref dict(checked(PyDict_New()));
    for (const auto& [name, t] : tracer(self).constants()) {
      const Ref value(checked(wrap(t)));
      if (PyDict_SetItemString(dict.get(), name.c_str(), value.get()) < 0) throw_python_error();
    }
    return dict.release();
  });
}
PyObject* get_tracer_graph(PyObject* self, void*) {
  return guarded([&] { return wrap_graph(tracer(self).graph_ptr()); });
}

PyObject* active(PyObject*, PyObject*) {
  return guarded([] {
    fx::Tracer* t = fx::active_tracer();
    return Py_NewRef(t && t->peer ? static_cast<PyObject*>(t->peer) : Py_None);
  });
}

// A truth value of the tracer as a property.
template <auto Member>
PyObject* get_flag(PyObject* self, void*) {
  return guarded([&] { return wrap(tracer(self).*Member); });
}
template <auto Member>
int set_flag(PyObject* self, PyObject* value, void*) {
  const int on = value ? PyObject_IsTrue(value) : 0;
  if (on < 0) return -1;
  tracer(self).*Member = on == 1;
  return 0;
}
template <auto Member>
constexpr PyGetSetDef flag(const char* name) {
  return {name, get_flag<Member>, set_flag<Member>, nullptr, nullptr};
}

// write_asserts_of(ShapeEnv): what is taken as true there becomes assertions of the graph.
PyObject* write_asserts_of(PyObject* self, PyObject* env) {
  return guarded([&] {
    tracer(self).write_asserts_of(to_env(env));
    return Py_NewRef(Py_None);
  });
}
PyObject* write_asserts(PyObject* self, PyObject*) {
  return guarded([&] {
    tracer(self).write_asserts();
    return Py_NewRef(Py_None);
  });
}

PyMethodDef tracer_methods[] = {
    {"add_input", as_function(add_input), METH_FASTCALL, nullptr},
    {"add_attribute", as_function(add_attribute), METH_FASTCALL, nullptr},
    {"track", as_function(track), METH_FASTCALL, nullptr},
    {"node_of", node_of, METH_O, nullptr},
    {"live_nodes", live_nodes, METH_NOARGS, nullptr},
    {"knows", knows, METH_O, nullptr},
    {"arg_of", arg_of, METH_O, nullptr},
    {"set_decompositions", set_decompositions, METH_O, nullptr},
    {"note_call", as_function(note_call), METH_FASTCALL, nullptr},
    {"keep_regions", keep_regions, METH_NOARGS, nullptr},
    {"set_node_callback", set_node_callback, METH_O, nullptr},
    {"write_asserts_of", write_asserts_of, METH_O, nullptr},
    {"write_asserts", write_asserts, METH_NOARGS, nullptr},
    {},
};
PyGetSetDef properties[] = {
    {"constants", get_constants, nullptr, nullptr, nullptr},
    {"graph", get_tracer_graph, nullptr, nullptr, nullptr},
    flag<&fx::Tracer::is_before_autograd>("pre_dispatch"),
    flag<&fx::Tracer::refuses_values>("refuses_values"),
    {},
};
PyObject* set_effectful(PyObject*, PyObject* args) {
  PyObject* overload = nullptr;
  int on = 0;
  if (!PyArg_ParseTuple(args, "Op", &overload, &on)) return nullptr;
  return guarded([&] {
    const dispatch::Operator* op = operator_of_overload(overload);
    TAEDA_CHECK_TYPE(op, "set_effectful takes an operator and a truth value");
    fx::set_effectful(*op, on != 0);
    return Py_NewRef(Py_None);
  });
}

PyObject* draw_place(PyObject*, PyObject*) {
  return guarded([] {
    const fx::Tracer* t = fx::active_tracer();
    return t ? PyLong_FromLongLong(t->draw_place) : Py_NewRef(Py_None);
  });
}
PyObject* set_draw_place(PyObject*, PyObject* place) {
  const long long value = PyLong_AsLongLong(place);
  if (value == -1 && PyErr_Occurred()) return nullptr;
  if (fx::Tracer* t = fx::active_tracer()) t->draw_place = value;
  return Py_NewRef(Py_None);
}

PyMethodDef tracer_functions[] = {
    {"draw_place", draw_place, METH_NOARGS,
     "draw_place(): where a traced program stands in its random stream; None outside of traces."},
    {"set_draw_place", set_draw_place, METH_O,
     "set_draw_place(place): what a trace draws from now on is what it drew from there on."},
    {"active_tracer", active, METH_NOARGS, nullptr},
    {"set_effectful", set_effectful, METH_VARARGS,
     "set_effectful(overload, on): whether calls stay although nobody uses their results."},
    {},
};

}  // namespace

void note_grad_mode(bool is_enabled) {
  if (fx::Tracer* t = fx::active_tracer())
    t->record_mode(fx::get_builtin("_set_grad_enabled"), {fx::Arg(is_enabled)});
}

fx::Tracer* find_tracer(PyObject* o) {
  return is_native_mode(o) ? dynamic_cast<fx::Tracer*>(native_mode_of(o).get()) : nullptr;
}

bool init_tracer_type(PyObject* module) {
  return add_native_mode_type(module, "taeda._C._fx.Tracer", tracer_create, tracer_methods,
                              properties) &&
         PyModule_AddFunctions(module, tracer_functions) == 0;
}

}  // namespace taeda::python
