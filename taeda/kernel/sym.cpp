// The thread's stack of symbolic builders.
#include "taeda/kernel/sym.h"

#include <limits>

#include "taeda/base/error.h"

namespace taeda::kernel {

namespace {
thread_local BuilderScope* current_scope = nullptr;
}

BuilderScope::BuilderScope(ExprGraph& graph, Type type)
    : graph_(graph), type_(type), outer_(current_scope) {
  current_scope = this;
}

BuilderScope::~BuilderScope() { current_scope = outer_; }

BuilderScope& BuilderScope::current() {
  TAEDA_CHECK(current_scope, "[kernel] a symbolic value was used outside of a BuilderScope");
  return *current_scope;
}

NodeId sym_extreme(Type type, bool is_highest) {
  ExprGraph& graph = BuilderScope::current().graph();
  switch (type) {
    case Type::I32:
      using I32 = std::numeric_limits<int32_t>;
      return graph.constant_int(is_highest ? I32::max() : I32::min(), type);
    case Type::I64:
      using I64 = std::numeric_limits<int64_t>;
      return graph.constant_int(is_highest ? I64::max() : I64::min(), type);
    case Type::U64: return graph.constant_int(is_highest ? -1 : 0, type);
    default:
      const double infinity = std::numeric_limits<double>::infinity();
      return graph.constant(is_highest ? infinity : -infinity, type);
  }
}

}  // namespace taeda::kernel
