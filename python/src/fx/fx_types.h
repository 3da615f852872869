// taeda._C._fx: graphs and nodes in Python.
//
// Note [Node objects]: a node of a graph owns its Python object, which refers to the graph's; the
// collector sees that circle through the graph. A node that leaves its graph hands itself over to
// its object, which owns it from then on.
#pragma once

#include "python/interop/python.h"

#include "taeda/fx/graph.h"

namespace taeda::fx {
class Tracer;
}

namespace taeda::python {

// A Python object inside a graph.
class PythonObject final : public dispatch::Opaque {
 public:
  explicit PythonObject(PyObject* o) : object_(Py_NewRef(o)) {}
  ~PythonObject() override;
  PyObject* object() const { return object_; }
  bool equals(const Opaque& other) const override;
  size_t hash() const override;
  std::string text() const override;

 private:
  PyObject* object_;
};

struct NodeObject {
  PyObject_HEAD fx::Node* node;
  bool owns_node;
  PyObject* graph;  // null once it is gone
};
struct GraphObject {
  PyObject_HEAD IntrusivePtr<fx::Graph> value;
};

extern PyTypeObject* fx_node_type;
extern PyTypeObject* fx_graph_type;
// The classes that Python derives from them, and those of the lists and dicts in arguments; set by
// taeda.fx when it is imported.
struct FxClasses {
  PyObject *node = nullptr, *graph = nullptr, *list = nullptr, *dict = nullptr;
};
extern FxClasses fx_classes;

inline bool is_fx_node(PyObject* o) { return PyObject_TypeCheck(o, fx_node_type); }
inline bool is_fx_graph(PyObject* o) { return PyObject_TypeCheck(o, fx_graph_type); }
fx::Node& fx_node_of(PyObject* o);
inline fx::Graph& fx_graph_of(PyObject* o) { return *reinterpret_cast<GraphObject*>(o)->value; }
fx::Node& expect_node(PyObject* o, const char* what);

// New references; throw the pending Python error.
PyObject* wrap_node(fx::Node& node);
PyObject* wrap_graph(IntrusivePtr<fx::Graph> graph);
// An object of the class without Python's part, for functions of C++ alone; `full_graph` gives the
// graph's own object.
PyObject* wrap_graph_bare(IntrusivePtr<fx::Graph> graph);
PyObject* wrap_nodes(const std::vector<fx::Node*>& nodes);  // a list
PyObject* wrap_arg(const fx::Arg& arg);
PyObject* wrap_args(const std::vector<fx::Arg>& args);  // a tuple
PyObject* wrap_kwargs(const fx::Kwargs& kwargs);
PyObject* wrap_target(const fx::Target& target);

fx::Arg read_arg(PyObject* o);
std::vector<fx::Arg> read_args(PyObject* sequence_or_none);
fx::Kwargs read_kwargs(PyObject* dict_or_none);
fx::Target read_target(fx::OpCode op, PyObject* o);
// The name of a node that calls the target, before it is made unique.
std::string name_for_target(const fx::Target& target);

// Tells the innermost tracer, if it is one before autograd, that the grad mode was set.
void note_grad_mode(bool is_enabled);
// Null for other objects.
fx::Tracer* find_tracer(PyObject* o);

// The dict of a node's metadata, made when first asked for; borrowed.
PyObject* meta_dict(fx::Node& node);
void set_meta_dict(fx::Node& node, PyObject* dict);
int visit_meta(fx::Node& node, visitproc visit, void* arg);

bool init_fx_types(PyObject* module);
extern PyMethodDef fx_node_methods[];
extern PyGetSetDef fx_node_properties[];
extern PyMethodDef fx_graph_methods[];
extern PyGetSetDef fx_graph_properties[];

}  // namespace taeda::python
