// The one setting of the process.
#include "taeda/core/determinism.h"

namespace taeda {

Determinism& determinism() {
  static Determinism setting;
  return setting;
}

}  // namespace taeda
