// Where modes stand among those of a thread.
//
// Note [Order of modes]: the library's modes stand below those of its user, whatever was entered
// first: the user's see the program as it is, then the tracer records it, then fake tensors run it.
#pragma once

#include "taeda/dispatch/modes.h"

namespace taeda::fx {

// Adds the mode at its place.
TAEDA_API void enter_mode(IntrusivePtr<dispatch::Mode> mode);
// Takes the innermost entry of this mode off; false where it is not active.
TAEDA_API bool leave_mode(const dispatch::Mode& mode);

// The mode is active, at its place, until the end of the scope.
class EnteredMode {
 public:
  explicit EnteredMode(dispatch::Mode& mode) : mode_(IntrusivePtr<dispatch::Mode>::share(&mode)) {
    enter_mode(mode_);
  }
  ~EnteredMode() { leave_mode(*mode_); }
  EnteredMode(const EnteredMode&) = delete;

 private:
  IntrusivePtr<dispatch::Mode> mode_;
};

}  // namespace taeda::fx
