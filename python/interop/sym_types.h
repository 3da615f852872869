// taeda.SymInt, SymFloat and SymBool: Python objects of symbolic numbers, and the types around
// them.
#pragma once

#include "python/interop/python.h"

#include "taeda/fx/shapes/sym_expr_node.h"

namespace taeda::python {

extern PyTypeObject* symint_type;
extern PyTypeObject* symfloat_type;
extern PyTypeObject* symbool_type;

inline bool is_symint(PyObject* o) { return Py_IS_TYPE(o, symint_type); }
inline bool is_symfloat(PyObject* o) { return Py_IS_TYPE(o, symfloat_type); }
inline bool is_symbool(PyObject* o) { return Py_IS_TYPE(o, symbool_type); }
inline bool is_symbolic(PyObject* o) { return is_symint(o) || is_symfloat(o) || is_symbool(o); }
// The node of an object for which is_symbolic holds.
const IntrusivePtr<SymNode>& sym_node_of(PyObject* o);
// An integer parameter's value, kept symbolic.
SymInt to_symint(PyObject* o);

// A plain number where the expression is a constant.
PyObject* wrap_node(const IntrusivePtr<SymNode>& node);
PyObject* wrap_number(const IntrusivePtr<fx::ShapeEnv>& env, const fx::Expr* e);
// The Python object of an expression itself, and of the environment.
PyObject* wrap_expr(const IntrusivePtr<fx::ShapeEnv>& env, const fx::Expr* e);
PyObject* wrap_env(const IntrusivePtr<fx::ShapeEnv>& env);
// The attribute `.node` of a symbolic number.
PyObject* wrap_sym_node(const IntrusivePtr<SymNode>& node);
const IntrusivePtr<SymNode>* as_sym_node(PyObject* o);  // null for other objects

// The environment of an object of ShapeEnv; a TypeError for others.
const IntrusivePtr<fx::ShapeEnv>& to_env(PyObject* o);
// An expression, a symbolic number or a plain one as an expression of `env`; null for others.
const fx::Expr* to_expr(fx::ShapeEnv& env, PyObject* o);

// Symbolic arithmetic by name ("max", "sqrt", "where"), for functions written in Python.
PyObject* sym_operation(PyObject*, PyObject* args);

bool init_sym_number_types(PyObject* module);
bool init_sym_node_types(PyObject* fx_module);
bool init_shape_env_type(PyObject* fx_module);
// Adds all of them, the numbers to `module` and the rest to `fx_module`, taeda._C._fx.
bool init_sym_types(PyObject* module, PyObject* fx_module);

}  // namespace taeda::python
