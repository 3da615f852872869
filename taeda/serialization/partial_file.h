// Files that are being written: beside the file that they will be, under a name that tells.
//
// Note [Partial files]: "model.pt.partial-PID-N" is locked (flock) as long as its writer lives. A
// file of that name without a lock was left by a process that was killed, and the next writer of
// model.pt removes it. Whoever removes one holds its lock, and a writer that got the lock too late
// sees that its file has no name any more and makes another.
#pragma once

#include <string>

#include "taeda/base/export.h"

namespace taeda::serialization {

struct PartialFile {
  int file = -1;  // the caller closes it, which ends the lock
  std::string name;
};

// Removes what dead writers of `path` left and opens a new one for writing. RuntimeError with the
// system's reason. Thread-safe.
TAEDA_API PartialFile open_partial_file(const std::string& path);

}  // namespace taeda::serialization
