// The thread's stack of symbolic builders.
#include "taeda/kernel/sym.h"

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

}  // namespace taeda::kernel
