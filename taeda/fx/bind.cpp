// Fits a node's arguments to its operator's schema.
#include "taeda/fx/bind.h"

#include <algorithm>

namespace taeda::fx {
namespace {

using dispatch::CallForm;
using dispatch::Schema;
using dispatch::TypeRef;

size_t position_of(const Schema& schema, std::string_view name) {
  for (size_t i = 0; i < schema.arguments.size(); ++i)
    if (schema.arguments[i].name == name) return i;
  return schema.arguments.size();
}

template <class T, class F>
Value typed_list(const Value::List& items, F&& convert) {
  std::vector<T> out;
  out.reserve(items.size());
  for (const Value& v : items) out.push_back(convert(v));
  return Value(std::move(out));
}

Tensor tensor_of(const Value& v) { return v.is_none() ? Tensor() : v.get<Tensor>(); }

bool any_symbolic(const Value::List& items) {
  for (const Value& v : items)
    if (v.is<SymInt>()) return true;
  return false;
}

Value coerce_list(const Value::List& items, const TypeRef& type) {
  const bool are_tensors = type.base == "Tensor" || type.base == "Tensor?";
  for (const Value& v : items)
    TAEDA_CHECK_TYPE(!are_tensors || v.is_none() || v.is<Tensor>(), "expected ", type.text(),
                     ", got a list with a ", v.kind_name());
  if (are_tensors) return typed_list<Tensor>(items, tensor_of);
  if (type.base == "float")
    return typed_list<double>(items, [](const Value& v) { return v.to_double(); });
  if (type.base == "bool")
    return typed_list<bool>(items, [](const Value& v) { return v.to_scalar().to_bool(); });
  if (type.base == "int" || type.base == "SymInt") {
    if (any_symbolic(items))
      return typed_list<SymInt>(items, [](const Value& v) {
        return v.is<SymInt>() ? v.get<SymInt>() : SymInt(v.to_int());
      });
    return typed_list<int64_t>(items, [](const Value& v) { return v.to_int(); });
  }
  auto out = std::make_shared<Value::List>(items);
  if (type.base.ends_with("[]"))  // Tensor[][]
    for (Value& v : *out) v = coerce(v, {type.base.substr(0, type.base.size() - 2), true});
  return out;
}

Value repeated(const Value& v, const TypeRef& type) {
  const size_t n = type.list_size > 0 ? static_cast<size_t>(type.list_size) : 1;
  return coerce_list(Value::List(n, v), type);
}

}  // namespace

bool only_checks_tensor(const dispatch::Schema& schema) {
  const auto writes = [](const dispatch::Argument& a) { return a.is_written; };
  return schema.returns.empty() && !schema.arguments.empty() &&
         schema.arguments[0].type.base == "Tensor" &&
         std::ranges::none_of(schema.arguments, writes);
}

std::vector<Arg> bind_to_schema(const Node& node) {
  const dispatch::Operator& op = *node.target().op();
  const CallForm& form = call_form(op);
  const size_t n = form.arguments.size();
  TAEDA_CHECK_TYPE(node.args().size() <= n, "node ", node.name(), ": ", op.full_name(), " takes ",
                   n, " arguments, got ", node.args().size());
  std::vector<Arg> out(n);
  std::vector<bool> is_given(n, false);
  for (size_t i = 0; i < node.args().size(); ++i) {
    out[i] = node.args()[i];
    is_given[i] = true;
  }
  for (const auto& [name, a] : node.kwargs()) {
    const size_t i = position_of(form, name);
    TAEDA_CHECK_TYPE(i < n, "node ", node.name(), ": ", op.full_name(), " has no argument ", name);
    TAEDA_CHECK_TYPE(!is_given[i], "node ", node.name(), ": argument ", name, " given twice");
    out[i] = a;
    is_given[i] = true;
  }
  for (size_t i = 0; i < n; ++i) {
    if (is_given[i]) continue;
    TAEDA_CHECK_TYPE(form.arguments[i].has_default, "node ", node.name(), ": ", op.full_name(),
                     " misses argument ", form.arguments[i].name);
    out[i] = Arg(form.defaults[i]);
  }
  return out;
}

Value coerce(Value v, const TypeRef& type) {
  if (v.is_none() || type.base == "Any") return v;
  if (type.is_list) {
    if (v.is<std::shared_ptr<Value::List>>())
      return coerce_list(*v.get<std::shared_ptr<Value::List>>(), type);
    if (v.is_scalar() || v.is<Tensor>()) return repeated(v, type);
    return v;
  }
  if (type.base == "float" && v.is<int64_t>()) return v.to_double();
  if ((type.base == "int" || type.base == "SymInt") && v.is<bool>()) return v.to_int();
  const bool wants_tensor = type.base == "Tensor";
  TAEDA_CHECK_TYPE(wants_tensor == v.is<Tensor>() || (type.base == "Scalar" && v.is<Tensor>()) ||
                       (wants_tensor && v.is_scalar()),
                   "expected ", type.text(), ", got ", v.kind_name());
  if (wants_tensor && v.is_scalar()) return wrapped_scalar(v.to_scalar());
  return v;
}

CallArgs call_args(const dispatch::Operator& op, const dispatch::Stack& stack,
                   FunctionRef<Arg(const Value&)> arg) {
  const CallForm& form = call_form(op);
  auto is_default = [&](size_t i) {
    return form.arguments[i].has_default && same_value(stack[i], form.defaults[i]);
  };
  size_t count = form.num_positional;
  while (count > 0 && is_default(count - 1)) --count;
  CallArgs out;
  out.args.reserve(count);
  for (size_t i = 0; i < count; ++i) out.args.push_back(arg(stack[i]));
  for (size_t i = form.num_positional; i < stack.size(); ++i)
    if (!is_default(i)) out.kwargs.emplace_back(form.arguments[i].name, arg(stack[i]));
  return out;
}

}  // namespace taeda::fx
