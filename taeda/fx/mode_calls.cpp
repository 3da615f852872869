// The calls that set modes; other languages run them, closed graphs have scopes in their place.
#include "taeda/fx/mode_calls.h"

namespace taeda::fx {
namespace {

Value refuse(Span<Value>) {
  fail(ErrorKind::Runtime, "a closed graph sets no modes; wrap_mode_scopes makes scopes of them");
}

constexpr Builtin kModeCalls[] = {
    {"_set_grad_enabled", refuse, true, true},
    {"_enter_autocast", refuse, true, true},
    {"_exit_autocast", refuse, true, true},
};

}  // namespace

Span<Builtin> mode_builtins() { return kModeCalls; }
bool sets_grad_mode(const Builtin* function) { return function == &kModeCalls[0]; }
bool enters_autocast(const Builtin* function) { return function == &kModeCalls[1]; }
bool exits_autocast(const Builtin* function) { return function == &kModeCalls[2]; }

}  // namespace taeda::fx
