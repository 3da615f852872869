// The processor time of a group of processes that still run.
#pragma once

#include <sys/types.h>

#include "taeda/base/export.h"

namespace taeda::kernel {

// Seconds on a core of all processes of a group and of their children that ended; 0 where the
// system does not tell. Reads the list of all processes: some microseconds for each.
TAEDA_API double group_seconds(pid_t group);

}  // namespace taeda::kernel
