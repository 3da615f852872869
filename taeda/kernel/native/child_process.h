// Runs a program to its end and keeps what it prints.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace taeda::kernel {

struct ChildCommand {
  std::vector<std::string> words;        // the program's path, then its arguments
  std::vector<std::string> environment;  // "name=value"
  std::vector<std::pair<std::string, std::string>> variables;  // in place of those
  double seconds;                           // after which it and all its children are killed
  const std::atomic<bool>* stop = nullptr;  // the same where this becomes true
  // It runs on cores that nothing else wants, and is killed where it mostly waits for one.
  bool is_idle = false;
};

struct ChildResult {
  // Lost: another part of this process collected the child (or ignores SIGCHLD), so that nobody
  // knows how it ended. Starved: it was idle and got no core.
  enum class End : uint8_t { Exited, Killed, TimedOut, Stopped, NotStarted, Lost, Starved };
  End end;
  int code;            // exit status, signal, or error of the start
  std::string output;  // of both streams; the middle of a long text is left out
};

// The program runs in the locale C, in a process group of its own and one step nicer than this
// thread, reads nothing, and inherits no other descriptor. Nothing of it is left afterwards: its
// group is killed and the child collected, whatever happens. Other threads may fork meanwhile.
ChildResult run_child(const ChildCommand& command);

// The variables of this process. Other threads may set some, and then those that were there are
// gone: ask in a thread of the program, not in one that works beside it.
std::vector<std::string> process_environment();

// "SIGKILL" for 9, or the number.
std::string signal_name(int signal);

}  // namespace taeda::kernel
