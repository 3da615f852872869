// taeda.SymInt, SymFloat and SymBool: the Python objects of symbolic numbers.
#pragma once

#include "python/interop/python.h"

#include "taeda/fx/shapes/sym_expr_node.h"

namespace taeda::python {

struct SymObject {
  PyObject_HEAD IntrusivePtr<SymNode> node;
  PyObject* weakrefs;
};

// Set when the types are made.
extern PyTypeObject* symint_type;
extern PyTypeObject* symfloat_type;
extern PyTypeObject* symbool_type;

inline bool is_symint(PyObject* o) { return Py_IS_TYPE(o, symint_type); }
inline bool is_symfloat(PyObject* o) { return Py_IS_TYPE(o, symfloat_type); }
inline bool is_symbool(PyObject* o) { return Py_IS_TYPE(o, symbool_type); }
inline bool is_symbolic(PyObject* o) { return is_symint(o) || is_symfloat(o) || is_symbool(o); }
// The node of an object for which is_symbolic holds.
inline const IntrusivePtr<SymNode>& sym_node_of(PyObject* o) {
  return reinterpret_cast<SymObject*>(o)->node;
}
// An integer parameter's value, kept symbolic.
SymInt to_symint(PyObject* o);

// A new object of one of the three types.
PyObject* new_sym_object(PyTypeObject* type, IntrusivePtr<SymNode> node);
// A plain number where the expression is a constant.
PyObject* wrap_node(const IntrusivePtr<SymNode>& node);
PyObject* wrap_number(const IntrusivePtr<fx::ShapeEnv>& env, const fx::Expr* e);

}  // namespace taeda::python
