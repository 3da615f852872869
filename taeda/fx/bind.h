// Arguments of a call in the order and types of an operator's schema.
#pragma once

#include "taeda/dispatch/schema.h"
#include "taeda/fx/node.h"

namespace taeda::fx {

// Parsed once an operator and kept.
TAEDA_API const dispatch::Schema& schema_of(const dispatch::Operator& op);

// One argument a schema's argument, defaults as constants; throws TypeError naming the node when
// one is missing, unknown or given twice.
TAEDA_API std::vector<Arg> bind_to_schema(const Node& node);

// The value in the form the schema's type has on a stack: lists become typed lists, integers
// floats where floats are asked for. Throws TypeError for what cannot be.
TAEDA_API Value coerce(Value v, const dispatch::TypeRef& type);

// A boxed argument of an operator as a graph's argument, by its type: tensors are looked up.
TAEDA_API Arg to_arg(const Value& v, FunctionRef<Arg(const Tensor&)> tensor);

}  // namespace taeda::fx
