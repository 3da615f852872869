// A prefix per process, and a shell that removes the files that begin with it.
#include "taeda/core/shared_names.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "taeda/base/error.h"

extern char** environ;

namespace taeda {
namespace {

// Signals of a terminal end the process that it guards, not the guard.
constexpr const char* kGuard = "trap '' HUP INT QUIT TERM; read -r nothing; rm -f /dev/shm/\"$0\"*";

struct Guard {
  std::mutex mutex;
  std::string prefix;  // empty until the guard runs
  int lifeline = -1;   // the end of the pipe that closes with this process
  uint64_t count = 0;
};
Guard& guard() {
  static auto* made = new Guard;
  return *made;
}

// A child has names, and a guard, of its own.
void forget_in_child() {
  if (guard().lifeline >= 0) close(guard().lifeline);
  guard().lifeline = -1;
  guard().prefix.clear();
  guard().mutex.unlock();
}

// Runs the shell with the pipe as its input and nothing else open, out of reach of the terminal.
void spawn_shell(const std::string& prefix, int input) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
#if __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
#endif
  const char* arguments[] = {"sh", "-c", kGuard, prefix.c_str(), nullptr};
  pid_t child = 0;
  const int error = posix_spawn(&child, "/bin/sh", &files, &attributes,
                                const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  TAEDA_CHECK(error == 0,
              "cannot start the guard of shared memory (/bin/sh): ", std::strerror(error));
}

void start(Guard& g) {
  static const int registered =
      pthread_atfork([] { guard().mutex.lock(); }, [] { guard().mutex.unlock(); }, forget_in_child);
  TAEDA_CHECK(registered == 0, "cannot register the fork handler of shared memory");
  uint64_t random = 0;
  TAEDA_CHECK(getrandom(&random, sizeof random, 0) == sizeof random,
              "getrandom failed: ", std::strerror(errno));
  const std::string prefix = str("torch_", int64_t{getpid()}, "_", random, "_");
  int ends[2];
  TAEDA_CHECK(pipe2(ends, O_CLOEXEC) == 0,
              "cannot make a pipe for shared memory: ", std::strerror(errno));
  try {
    spawn_shell(prefix, ends[0]);
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[0]);
  g.lifeline = ends[1];
  g.prefix = prefix;
}

}  // namespace

std::string new_shared_name() {
  Guard& g = guard();
  const std::lock_guard lock(g.mutex);
  if (g.prefix.empty()) start(g);
  return str("/", g.prefix, g.count++);
}

}  // namespace taeda
