// Note [Order of modes].
#include "taeda/fx/mode_order.h"

#include "taeda/fx/fake.h"
#include "taeda/fx/functional_mode.h"
#include "taeda/fx/tracer.h"

namespace taeda::fx {
namespace {

int rank_of(const dispatch::Mode& mode) {
  if (dynamic_cast<const FakeMode*>(&mode)) return 0;
  if (dynamic_cast<const Tracer*>(&mode)) return 1;
  return dynamic_cast<const FunctionalMode*>(&mode) ? 2 : 3;
}

}  // namespace

void enter_mode(IntrusivePtr<dispatch::Mode> mode) {
  dispatch::ModeStack modes = dispatch::modes();
  const int rank = rank_of(*mode);
  auto at = modes.end();
  while (at != modes.begin() && rank_of(**(at - 1)) > rank) --at;
  modes.insert(at, std::move(mode));
  dispatch::set_modes(std::move(modes));
}

bool leave_mode(const dispatch::Mode& mode) {
  dispatch::ModeStack modes = dispatch::modes();
  for (size_t i = modes.size(); i-- > 0;) {
    if (modes[i].get() != &mode) continue;
    modes.erase(modes.begin() + static_cast<std::ptrdiff_t>(i));
    dispatch::set_modes(std::move(modes));
    return true;
  }
  return false;
}

}  // namespace taeda::fx
