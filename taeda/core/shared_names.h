// Names in /dev/shm that go with the process that made them, whatever ends it.
#pragma once

#include <string>

namespace taeda {

// A name that nobody had before, "/torch_<pid>_<random>_<count>". The first call of a process
// starts its guard: a shell that waits for the end of the process, by a pipe that only the process
// holds open, and then removes what is left of its names.
std::string new_shared_name();

}  // namespace taeda
