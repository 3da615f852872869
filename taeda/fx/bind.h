// Arguments of a call in the order and types of an operator's schema.
#pragma once

#include "taeda/dispatch/call_form.h"
#include "taeda/fx/node.h"

namespace taeda::fx {

inline const dispatch::Schema& schema_of(const dispatch::Operator& op) { return call_form(op); }
// Whether an operator takes a tensor, writes nothing and gives nothing: graphs keep it as it is.
TAEDA_API bool only_checks_tensor(const dispatch::Schema& schema);

// One argument for each argument of the schema, defaults as constants; throws TypeError naming the
// node when one is missing, unknown or given twice.
TAEDA_API std::vector<Arg> bind_to_schema(const Node& node);

// The value in the form the schema's type has on a stack: lists become typed lists, integers floats
// where floats are asked for. Any value is an "Any". Throws TypeError if that is impossible.
TAEDA_API Value coerce(Value v, const dispatch::TypeRef& type);

// The arguments of a call as a node has them: without trailing positional arguments and keywords
// that equal their defaults. `arg` turns one boxed argument into a graph's.
struct CallArgs {
  std::vector<Arg> args;
  Kwargs kwargs;
};
TAEDA_API CallArgs call_args(const dispatch::Operator& op, const dispatch::Stack& stack,
                             FunctionRef<Arg(const Value&)> arg);

}  // namespace taeda::fx
