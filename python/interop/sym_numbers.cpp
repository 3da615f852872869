// Makes and reads the objects of symbolic numbers.
#include "python/interop/sym_numbers.h"

#include <new>

#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/tensor_values.h"
#include "python/interop/wrap.h"

namespace taeda::python {

PyTypeObject* symint_type = nullptr;
PyTypeObject* symfloat_type = nullptr;
PyTypeObject* symbool_type = nullptr;

using fx::Expr;
using fx::SymExprNode;

SymInt to_symint(PyObject* o) {
  if (is_symint(o)) return SymInt(sym_node_of(o));
  if (is_tensor(o) && tensor_of(o).keys().has(Key::Fake)) {
    // What a fake tensor holds may be a symbol.
    const Scalar number = read_item(tensor_of(o));
    if (number.is_symbolic()) return SymInt(IntrusivePtr<SymNode>::share(number.node()));
  }
  return SymInt(to_int64(o));
}

PyObject* new_sym_object(PyTypeObject* type, IntrusivePtr<SymNode> node) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) new (&reinterpret_cast<SymObject*>(o)->node) IntrusivePtr<SymNode>(std::move(node));
  return o;
}

PyObject* wrap_node(const IntrusivePtr<SymNode>& node) {
  if (const SymExprNode* own = SymExprNode::from(node.get()); own && own->expr()->is_constant())
    return wrap_number(own->env_ptr(), own->expr());
  switch (node->kind()) {
    case SymKind::Int: return new_sym_object(symint_type, node);
    case SymKind::Float: return new_sym_object(symfloat_type, node);
    default: return new_sym_object(symbool_type, node);
  }
}

PyObject* wrap_number(const IntrusivePtr<fx::ShapeEnv>& env, const Expr* e) {
  if (!e->is_constant()) return wrap_node(make_intrusive<SymExprNode>(env, e));
  switch (e->kind) {
    case SymKind::Int: return wrap(e->value.integer);
    case SymKind::Float: return wrap(e->value.number);
    default: return wrap(e->value.integer != 0);
  }
}

}  // namespace taeda::python
