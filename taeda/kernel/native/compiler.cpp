// Runs the compiler in a private folder, and says what went wrong.
#include "taeda/kernel/native/compiler.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "taeda/base/error.h"
#include "taeda/base/log.h"
#include "taeda/kernel/native/child_process.h"
#include "taeda/kernel/native/descriptor.h"
#include "taeda/kernel/native/find_compiler.h"
#include "taeda/kernel/native/module.h"
#include "taeda/kernel/native/sha256.h"
#include "taeda/kernel/native/temporary_folder.h"

namespace taeda::kernel {
namespace {

constexpr int kShownLines = 12;

// The flags under which printed code returns the bits of eager code.
std::vector<std::string> flags_of(const CompileOptions& options) {
  std::vector<std::string> flags{"-std=c++20",        "-O2",     "-fPIC",          "-shared",
                                 "-ffp-contract=off", "-fwrapv", "-fno-math-errno"};
#if defined(__x86_64__)
  constexpr const char* kLevels[] = {"-march=x86-64", "-march=x86-64-v3", "-march=x86-64-v4"};
  TAEDA_CHECK_VALUE(options.isa >= 0 && options.isa <= 2,
                    "[compile_native] unknown instruction set: got ", options.isa,
                    ", expected 0, 1 or 2");
  flags.push_back(kLevels[options.isa]);
#endif
  flags.insert(flags.end(), options.flags.begin(), options.flags.end());
  return flags;
}

std::string key_of(const Compiler& compiler, const std::vector<std::string>& flags,
                   const std::string& source) {
  std::string key = "shared object\n" + compiler_identity(compiler) + "\n";
  for (const std::string& flag : flags) key += flag + "\n";
  return key + "\n" + source;
}

// Where TAEDA_KEEP_SOURCES has the source kept; an empty text where it does not.
std::string keep_source(const std::string& source) {
  const char* folder = std::getenv("TAEDA_KEEP_SOURCES");
  if (!folder || !*folder) return "";
  std::error_code ignored;  // the file tells
  std::filesystem::create_directories(folder, ignored);
  const std::string path = str(folder, "/", sha256_hex(source).substr(0, 16), ".cpp");
  const int error = write_file(path, source);
  if (!error) return path;
  warn(str("[compile_native] TAEDA_KEEP_SOURCES: cannot write ", path, ": ", error_text(error)));
  return "";
}

std::string first_lines(const std::string& text) {
  size_t end = 0;
  for (int i = 0; i < kShownLines && end != std::string::npos; ++i) end = text.find('\n', end + 1);
  return text.substr(0, end);
}

[[noreturn]] void fail_status(const std::string& compiler, const ChildResult& result,
                              const std::string& kept) {
  const char* hint = "";
  // The phrases of the C locale, which the compiler runs in.
  if (result.output.find("No space left on device") != std::string::npos)
    hint = "; the temporary folder is full, set TMPDIR to one with free space";
  if (result.output.find("Killed signal") != std::string::npos)
    hint = "; the system killed a part of it, is the memory full?";
  fail(ErrorKind::Runtime, "[compile_native] ", compiler, " failed with exit status ", result.code,
       hint, ":\n", result.output.empty() ? "(it printed nothing)" : first_lines(result.output),
       "\n",
       kept.empty() ? "Set TAEDA_KEEP_SOURCES to a folder to keep the source."
                    : str("The source was kept in ", kept));
}

void check_result(const ChildCommand& command, const ChildResult& result, const std::string& kept) {
  const std::string& compiler = command.words[0];
  switch (result.end) {
    case ChildResult::End::Lost:
    case ChildResult::End::Starved: return;  // it started again
    case ChildResult::End::Exited:
      if (result.code != 0) fail_status(compiler, result, kept);
      return;
    case ChildResult::End::Killed:
      fail(ErrorKind::Runtime, "[compile_native] ", compiler, " was killed by ",
           signal_name(result.code), result.code == SIGKILL ? "; is the memory full?" : "",
           result.output.empty() ? "" : ":\n", first_lines(result.output));
    case ChildResult::End::TimedOut:
      throw CompileTimeout(
          ErrorKind::Runtime,
          str("[compile_native] ", compiler, " was stopped after ", command.seconds,
              " seconds; set TAEDA_COMPILE_TIMEOUT to let it run longer"));
    case ChildResult::End::Stopped:
      fail(ErrorKind::Runtime, "[compile_native] ", compiler,
           " was stopped: the queue of compiles ends");
    case ChildResult::End::NotStarted:
      fail(ErrorKind::Runtime, "[compile_native] ", compiler,
           " cannot be started: ", error_text(result.code),
           "; name a compiler that works in TAEDA_CXX");
  }
}

// The content of a file, or an empty text where there is none.
std::string read_object(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (!file || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  return read_all(file.get(), bytes.data(), bytes.size()) == 0 ? bytes : "";
}

// A compiler that finds no idle core starts again as others do: on Linux only a privileged process
// may make a process that is idle an ordinary one.
ChildResult run_patiently(const ChildCommand& command, bool is_patient) {
  if (!is_patient) return run_child(command);
  ChildCommand idle = command;
  idle.is_idle = true;
  ChildResult result = run_child(idle);
  return result.end == ChildResult::End::Starved ? run_child(command) : result;
}

std::string run_compiler(const Compiler& compiler, const std::vector<std::string>& flags,
                         const std::string& source, const CompileOptions& options) {
  const std::string kept = keep_source(source);
  const TemporaryFolder folder;
  const std::string object = folder.path() + "/kernel.so";
  ChildCommand command{compiler.words,
                       options.environment ? *options.environment : process_environment(),
                       {{"TMPDIR", folder.path()}},
                       compile_seconds(),
                       options.stop};
  command.words.insert(command.words.end(), flags.begin(), flags.end());
  for (const std::string& word : {std::string("-o"), object, folder.write("kernel.cpp", source)})
    command.words.push_back(word);
  check_result(command, run_patiently(command, options.is_patient), kept);
  std::string bytes = read_object(object);
  const std::string problem = object_problem(bytes);
  TAEDA_CHECK(problem.empty(), "[compile_native] ", compiler.path(),
              " made no shared object for this machine: ", problem,
              "; name a compiler that works in TAEDA_CXX");
  return bytes;
}

bool has_cache(const CompileOptions& options) {
  return options.cache && !options.cache->folder().empty();
}

}  // namespace

std::optional<std::string> find_native(const std::string& source, const CompileOptions& options) {
  if (!has_cache(options)) return std::nullopt;
  return options.cache->find(key_of(find_compiler(), flags_of(options), source));
}

void ask_for_version() {
  if (!has_cache({})) return;
  try {
    compiler_identity(find_compiler());
  } catch (const Error&) {  // whoever compiles is told
  }
}

std::string compile_native(const std::string& source, const CompileOptions& options) {
  const Compiler compiler = find_compiler();
  const std::vector<std::string> flags = flags_of(options);
  if (!has_cache(options)) return run_compiler(compiler, flags, source, options);
  const std::string key = key_of(compiler, flags, source);
  if (std::optional<std::string> found = options.cache->find(key)) return *std::move(found);
  std::string object = run_compiler(compiler, flags, source, options);
  options.cache->store(key, object);
  return object;
}

}  // namespace taeda::kernel
