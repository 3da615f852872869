// Searches PATH as a shell does; asks a compiler for its version.
#include "taeda/kernel/native/find_compiler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "taeda/base/error.h"
#include "taeda/base/log.h"
#include "taeda/kernel/native/child_process.h"
#include "taeda/kernel/native/descriptor.h"

namespace taeda::kernel {
namespace {

constexpr const char* kCompilerHint =
    "; install one (Debian: apt-get install g++) or name it in TAEDA_CXX";

std::string search_path() {
  const char* path = std::getenv("PATH");
  return path && *path ? path : "/usr/local/bin:/usr/bin:/bin";
}

std::vector<std::string> split(const std::string& text, const char* separators) {
  std::vector<std::string> words;
  for (size_t at = 0; (at = text.find_first_not_of(separators, at)) != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(separators, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

bool is_program(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// The absolute path of a program, or an empty text.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return is_program(name) ? std::filesystem::absolute(name).string() : "";
  for (const std::string& folder : split(search_path(), ":"))
    if (std::string path = folder + "/" + name; is_program(path))
      return std::filesystem::absolute(path);
  return "";
}

// What a variable names; no words where it is not set.
std::vector<std::string> words_of(const char* variable) {
  const char* text = std::getenv(variable);
  return split(text ? text : "", " \t\n");
}

// Versions that were asked for, the latest first. No lock: a child may be forked at any time.
struct Version {
  std::string file, line;
  const Version* next;
};
std::atomic<const Version*> versions{nullptr};

const std::string* known_version(const std::string& file) {
  for (const Version* one = versions.load(); one; one = one->next)
    if (one->file == file) return &one->line;
  return nullptr;
}

// An empty text where it fails: compiling will say why.
std::string ask_version(const Compiler& compiler) {
  ChildCommand command{compiler.words, process_environment(), {}, compile_seconds(), nullptr};
  command.words.push_back("--version");
  const ChildResult result = run_child(command);
  TAEDA_CHECK(result.end != ChildResult::End::TimedOut, "[compile_native] ", compiler.path(),
              " --version was stopped after ", command.seconds,
              " seconds; name a compiler that works in TAEDA_CXX");
  const bool is_good = result.end == ChildResult::End::Exited && result.code == 0;
  return is_good ? result.output.substr(0, result.output.find('\n')) : "";
}

}  // namespace

Compiler find_compiler() {
  for (const char* variable : {"TAEDA_CXX", "CXX"}) {
    std::vector<std::string> words = words_of(variable);
    if (words.empty()) continue;
    const std::string path = find_program(words[0]);
    TAEDA_CHECK(!path.empty(), "[compile_native] the C++ compiler was not found: ", variable,
                " names '", words[0], "', PATH is ", search_path(), kCompilerHint);
    words[0] = path;
    return {words};
  }
  for (const char* name : {"c++", "g++", "clang++"})
    if (std::string path = find_program(name); !path.empty()) return {{path}};
  fail(ErrorKind::Runtime, "[compile_native] no C++ compiler was found: looked for c++, g++ and ",
       "clang++ in ", search_path(), kCompilerHint);
}

std::string compiler_identity(const Compiler& compiler) {
  struct stat info{};
  TAEDA_CHECK(stat(compiler.path().c_str(), &info) == 0, "[compile_native] cannot look at ",
              compiler.path(), ": ", error_text(errno));
  std::string file;
  for (const std::string& word : compiler.words) file += word + "\n";
  file += str(info.st_size, " ", info.st_mtim.tv_sec, " ", info.st_mtim.tv_nsec, "\n");
  if (const std::string* line = known_version(file)) return file + *line;
  auto made = std::make_unique<Version>(Version{file, ask_version(compiler), versions.load()});
  while (!versions.compare_exchange_weak(made->next, made.get())) {
  }
  return file + made.release()->line;
}

double compile_seconds() {
  constexpr double kSeconds = 120;
  const char* text = std::getenv("TAEDA_COMPILE_TIMEOUT");
  if (!text || !*text) return kSeconds;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (!*end && std::isfinite(seconds) && seconds > 0) return seconds;
  static std::atomic<bool> is_told = false;  // it is read for each compile
  if (!is_told.exchange(true))
    warn(str("[compile_native] TAEDA_COMPILE_TIMEOUT is no number of seconds above 0: got '", text,
             "'; compilers are stopped after ", kSeconds));
  return kSeconds;
}

}  // namespace taeda::kernel
