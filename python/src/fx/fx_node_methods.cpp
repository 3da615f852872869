// Attributes and edits of taeda._C._fx.Node.
#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/text.h"
#include "python/interop/wrap.h"
#include "python/src/fx/fx_types.h"

namespace taeda::python {
namespace {

fx::Node& node(PyObject* self) { return fx_node_of(self); }

fx::Graph& graph_of(fx::Node& n) {
  TAEDA_CHECK(n.graph() && !n.is_erased(), "node ", n.name(), " was erased from its graph");
  return *n.graph();
}

int set_guarded(PyObject* value, const char* name, FunctionRef<void()> set) {
  if (!value) {
    PyErr_Format(PyExc_AttributeError, "cannot delete %s of a Node", name);
    return -1;
  }
  const Ref done(guarded([&] {
    set();
    return Py_NewRef(Py_None);
  }));
  return done ? 0 : -1;
}

PyObject* node_dict(const std::vector<fx::Node*>& nodes) {
  Ref dict(checked(PyDict_New()));
  for (fx::Node* n : nodes) {
    const Ref key(wrap_node(*n));
    if (PyDict_SetItem(dict.get(), key.get(), Py_None) < 0) throw_python_error();
  }
  return dict.release();
}

// ---- attributes ----
PyObject* get_name(PyObject* self, void*) { return wrap(node(self).name()); }
int set_name(PyObject* self, PyObject* value, void*) {
  return set_guarded(value, "name", [&] { node(self).set_name(text_of(value)); });
}
PyObject* get_op(PyObject* self, void*) {
  return wrap(std::string_view(fx::opcode_name(node(self).op())));
}
int set_op(PyObject* self, PyObject* value, void*) {
  return set_guarded(value, "op", [&] { node(self).set_op(fx::parse_opcode(text_of(value))); });
}
PyObject* get_target(PyObject* self, void*) {
  return guarded([&] { return wrap_target(node(self).target()); });
}
int set_target(PyObject* self, PyObject* value, void*) {
  // A pass sets op and target one after the other: the op may not fit yet.
  return set_guarded(value, "target", [&] {
    const fx::OpCode op =
        PyUnicode_Check(value) ? fx::OpCode::CallMethod : fx::OpCode::CallFunction;
    node(self).set_target(read_target(op, value));
  });
}
PyObject* get_args(PyObject* self, void*) {
  return guarded([&] { return wrap_args(node(self).args()); });
}
int set_args(PyObject* self, PyObject* value, void*) {
  return set_guarded(value, "args", [&] { node(self).set_args(read_args(value)); });
}
PyObject* get_kwargs(PyObject* self, void*) {
  return guarded([&] { return wrap_kwargs(node(self).kwargs()); });
}
int set_kwargs(PyObject* self, PyObject* value, void*) {
  return set_guarded(value, "kwargs", [&] { node(self).set_kwargs(read_kwargs(value)); });
}
PyObject* get_users(PyObject* self, void*) {
  return guarded([&] { return node_dict(node(self).users().list()); });
}
PyObject* get_input_nodes(PyObject* self, void*) {
  return guarded([&] { return node_dict(node(self).inputs().list()); });
}
PyObject* get_all_input_nodes(PyObject* self, void*) {
  return guarded([&] { return wrap_nodes(node(self).inputs().list()); });
}
PyObject* get_meta(PyObject* self, void*) {
  return guarded([&] { return Py_NewRef(meta_dict(node(self))); });
}
int set_meta(PyObject* self, PyObject* value, void*) {
  return set_guarded(value, "meta", [&] {
    TAEDA_CHECK_TYPE(PyDict_Check(value), "meta must be a dict, got ", Py_TYPE(value)->tp_name);
    set_meta_dict(node(self), value);
  });
}
PyObject* get_type(PyObject* self, void*) {
  const auto& type = node(self).type();
  return Py_NewRef(type ? dynamic_cast<const PythonObject&>(*type).object() : Py_None);
}
int set_type(PyObject* self, PyObject* value, void*) {
  return set_guarded(value, "type", [&] {
    node(self).set_type(value == Py_None ? nullptr : make_intrusive<PythonObject>(value));
  });
}
PyObject* get_node_graph(PyObject* self, void*) {
  PyObject* graph = reinterpret_cast<NodeObject*>(self)->graph;
  return Py_NewRef(graph ? graph : Py_None);
}
PyObject* get_next(PyObject* self, void*) {
  return guarded([&] { return wrap_node(*node(self).next()); });
}
PyObject* get_prev(PyObject* self, void*) {
  return guarded([&] { return wrap_node(*node(self).prev()); });
}
PyObject* get_erased(PyObject* self, void*) { return wrap(node(self).is_erased()); }

// ---- edits ----
PyObject* prepend(PyObject* self, PyObject* other) {
  return guarded([&] {
    graph_of(node(self)).move_before(expect_node(other, "prepend's argument"), node(self));
    return Py_NewRef(Py_None);
  });
}
PyObject* append(PyObject* self, PyObject* other) {
  return guarded([&] {
    graph_of(node(self)).move_after(expect_node(other, "append's argument"), node(self));
    return Py_NewRef(Py_None);
  });
}
PyObject* remove_from_list(PyObject* self, PyObject*) {
  return guarded([&] {
    graph_of(node(self)).erase(node(self));
    return Py_NewRef(Py_None);
  });
}

PyObject* replace_input_with(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "replace_input_with takes an old and a new input");
    node(self).replace_input(expect_node(args[0], "the old input"), read_arg(args[1]));
    return Py_NewRef(Py_None);
  });
}

// _replace_uses(with, filter or None): the users that changed.
PyObject* replace_uses(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "_replace_uses takes a replacement and a filter");
    PyObject* filter = args[1];
    auto is_wanted = [&](fx::Node& user) {
      if (filter == Py_None) return true;
      const Ref object(wrap_node(user));
      const Ref answer(checked(PyObject_CallOneArg(filter, object.get())));
      const int yes = PyObject_IsTrue(answer.get());
      if (yes < 0) throw_python_error();
      return yes == 1;
    };
    return wrap_nodes(node(self).replace_uses(read_arg(args[0]), is_wanted));
  });
}

PyObject* update_arg(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "update_arg takes an index and an argument");
    int64_t i = to_int64(args[0]);
    if (i < 0) i += static_cast<int64_t>(node(self).args().size());
    node(self).set_arg(static_cast<size_t>(i), read_arg(args[1]));
    return Py_NewRef(Py_None);
  });
}
PyObject* insert_arg(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "insert_arg takes an index and an argument");
    const int64_t i = to_int64(args[0]);
    std::vector<fx::Arg> all = node(self).args();
    TAEDA_CHECK_KIND(ErrorKind::Assertion, i >= 0 && i <= static_cast<int64_t>(all.size()),
                     "insert_args index must be between 0 and len(self.args)");
    all.insert(all.begin() + i, read_arg(args[1]));
    node(self).set_args(std::move(all));
    return Py_NewRef(Py_None);
  });
}
PyObject* update_kwarg(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "update_kwarg takes a name and an argument");
    node(self).set_kwarg(text_of(args[0]), read_arg(args[1]));
    return Py_NewRef(Py_None);
  });
}
PyObject* rename(PyObject* self, PyObject* candidate) {
  return guarded([&] {
    graph_of(node(self));
    node(self).rename(text_of(candidate));
    return Py_NewRef(Py_None);
  });
}
// Whether C++ knows that the node must stay; None when only Python can decide.
PyObject* known_impurity(PyObject* self, PyObject*) {
  return guarded([&] {
    const fx::Node& n = node(self);
    const bool is_known = n.op() == fx::OpCode::Placeholder || n.op() == fx::OpCode::Output ||
                          n.op() == fx::OpCode::GetAttr || n.target().op() || n.target().builtin();
    return is_known ? wrap(n.is_impure()) : Py_NewRef(Py_None);
  });
}

}  // namespace

PyGetSetDef fx_node_properties[] = {
    {"name", get_name, set_name, nullptr, nullptr},
    {"op", get_op, set_op, nullptr, nullptr},
    {"target", get_target, set_target, nullptr, nullptr},
    {"args", get_args, set_args, nullptr, nullptr},
    {"kwargs", get_kwargs, set_kwargs, nullptr, nullptr},
    {"users", get_users, nullptr, nullptr, nullptr},
    {"_input_nodes", get_input_nodes, nullptr, nullptr, nullptr},
    {"all_input_nodes", get_all_input_nodes, nullptr, nullptr, nullptr},
    {"meta", get_meta, set_meta, nullptr, nullptr},
    {"type", get_type, set_type, nullptr, nullptr},
    {"graph", get_node_graph, nullptr, nullptr, nullptr},
    {"next", get_next, nullptr, nullptr, nullptr},
    {"prev", get_prev, nullptr, nullptr, nullptr},
    {"_next", get_next, nullptr, nullptr, nullptr},
    {"_prev", get_prev, nullptr, nullptr, nullptr},
    {"_erased", get_erased, nullptr, nullptr, nullptr},
    {},
};

PyMethodDef fx_node_methods[] = {
    {"prepend", prepend, METH_O, nullptr},
    {"append", append, METH_O, nullptr},
    {"_remove_from_list", remove_from_list, METH_NOARGS, nullptr},
    {"replace_input_with", as_function(replace_input_with), METH_FASTCALL, nullptr},
    {"_replace_uses", as_function(replace_uses), METH_FASTCALL, nullptr},
    {"update_arg", as_function(update_arg), METH_FASTCALL, nullptr},
    {"insert_arg", as_function(insert_arg), METH_FASTCALL, nullptr},
    {"update_kwarg", as_function(update_kwarg), METH_FASTCALL, nullptr},
    {"_rename", rename, METH_O, nullptr},
    {"_known_impurity", known_impurity, METH_NOARGS, nullptr},
    {},
};

}  // namespace taeda::python
