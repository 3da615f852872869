// The types around symbolic numbers: their nodes, expressions and the shape environment.
#pragma once

#include "python/interop/sym_numbers.h"

namespace taeda::python {

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
