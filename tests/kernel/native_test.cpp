// Compiling and loading: objects, the cache, and compilers that fail in every way.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/native/compiler.h"
#include "taeda/kernel/native/module.h"
#include "tests/kernel/fake_compiler.h"

namespace taeda::kernel {
namespace {

using namespace taeda::kernel::test;
using Clock = std::chrono::steady_clock;

ptrdiff_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

TEST(NativeModule, RunsWhatWasCompiled) { EXPECT_EQ(answer_of(seven()), 7); }

TEST(NativeModule, ObjectsDoNotMix) {
  const auto first = NativeModule::load(seven());
  const auto second = NativeModule::load(object_of(returns(8)));
  const auto again = NativeModule::load(seven());
  EXPECT_EQ(first->function<int (*)()>("answer")(), 7);
  EXPECT_EQ(second->function<int (*)()>("answer")(), 8);
  EXPECT_NE(first->symbol("answer"), again->symbol("answer"));
}

TEST(NativeModule, LeavesNoDescriptor) {
  const auto before = open_files();
  const auto module = NativeModule::load(seven());
  EXPECT_EQ(open_files(), before);
}

TEST(NativeModule, LoadsFromAFileWhereMemoryHasNoPath) {
  const Folder folder;
  const Variables variables{{"TMPDIR", folder.path()}};
  const std::string bytes = seven();
  const std::string text = in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", "/proc", "tmpfs", 0, nullptr) != 0)
      return std::string("skip");
    return str(answer_of(bytes));
  });
  if (text == "skip") GTEST_SKIP() << "a file system cannot be mounted here";
  EXPECT_EQ(text, "7");
  EXPECT_TRUE(folder.files().empty());
}

TEST(NativeModule, AMissingSymbolIsNamed) {
  const auto module = NativeModule::load(seven());
  EXPECT_TRUE(contains(error_of([&] { module->symbol("question"); }),
                       "the object has no symbol 'question'"));
}

TEST(NativeModule, ASymbolThatTheObjectNeedsIsNamed) {
  const std::string bytes = object_of(
      "extern \"C\" int nowhere_at_all(); extern \"C\" int answer() { return nowhere_at_all(); }");
  EXPECT_TRUE(
      contains(error_of([&] { NativeModule::load(bytes); }), "undefined symbol: nowhere_at_all"));
}

TEST(NativeModule, ObjectsForOtherMachinesAreRefused) {
  const auto changed = [](size_t at, char value) {
    std::string bytes = seven();
    bytes[at] = value;
    return error_of([&] { NativeModule::load(bytes); });
  };
  EXPECT_TRUE(contains(changed(0, 'x'), "no shared object for this machine: it is no ELF file"));
  EXPECT_TRUE(contains(changed(4, 1), "it is not of 64 bits"));
  EXPECT_TRUE(contains(changed(16, 1), "its type is 1, expected 3 (a shared object)"));
  EXPECT_TRUE(contains(changed(18, 2), "its machine is 2, expected "));
  EXPECT_TRUE(contains(error_of([] { NativeModule::load(""); }), "it has only 0 bytes"));
}

TEST(NativeModule, ObjectsThatAreCutOffAreRefused) {
  for (const size_t size : {size_t{100}, size_t{1000}, size_t{4096}, size_t{9000}})
    EXPECT_TRUE(
        contains(error_of([=] { NativeModule::load(seven().substr(0, size)); }), "it is cut off"))
        << size;
}

TEST(CompileNative, KeepsObjectsInTheCache) {
  const CopyingCompiler compiler("echo run >>\"$HERE/runs\"");
  DiskCache cache(compiler.folder() / "cache");
  CompileOptions options{.cache = &cache};
  const auto runs = [&] { return read_file(compiler.folder() / "runs").size() / 4; };
  EXPECT_EQ(answer_of(compile_native("source", options)), 7);
  const size_t first = runs();
  EXPECT_EQ(answer_of(compile_native("source", options)), 7);
  EXPECT_EQ(runs(), first);
  compile_native("other source", options);
  EXPECT_EQ(runs(), first + 1);
  options.flags = {"-g"};
  compile_native("source", options);
  EXPECT_EQ(runs(), first + 2);
}

TEST(CompileNative, AnotherCompilerMakesAnotherObject) {
  const CopyingCompiler compiler;
  DiskCache cache(compiler.folder() / "cache");
  const CompileOptions options{.cache = &cache};
  compile_native("source", options);
  // The same size and, but for this line, the same time.
  std::filesystem::last_write_time(
      compiler.path(), std::filesystem::file_time_type::clock::now() - std::chrono::seconds(10));
  compile_native("source", options);
  EXPECT_EQ(cache.hits(), 0);
}

TEST(CompileNative, FailedCompilesAreNotKept) {
  const FakeCompiler compiler("echo garbage >\"$out\"");
  DiskCache cache(compiler.folder() / "cache");
  const CompileOptions options{.cache = &cache};
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(contains(error_of([&] { compile_native("source", options); }),
                         "made no shared object for this machine: it has only"));
  EXPECT_EQ(cache.hits(), 0);
}

TEST(CompileNative, InstructionSetsAreFlags) {
#if defined(__x86_64__)
  const FakeCompiler compiler("echo \"$@\"; exit 1");
  CompileOptions options{.isa = 1, .cache = nullptr};
  EXPECT_TRUE(contains(error_of([&] { compile_native("", options); }), " -march=x86-64-v3 "));
  options.isa = 3;
  EXPECT_THROW(compile_native("", options), Error);
#endif
}

TEST(CompileNative, VariablesNameTheCompiler) {
  const CopyingCompiler compiler("[ \"$1\" = -own ] || exit 1");
  const Variables both{{"TAEDA_CXX", compiler.path() + "  -own"}, {"CXX", "missing"}};
  EXPECT_EQ(answer_of(object_of("source")), 7);
  const Variables one{{"TAEDA_CXX", ""}, {"CXX", compiler.path() + " -own"}};
  EXPECT_EQ(answer_of(object_of("source")), 7);
}

TEST(CompileNative, TheFirstCompilerInPathIsTaken) {
  const CopyingCompiler compiler;
  const std::string folder = compiler.folder() / "bin";
  std::filesystem::create_directories(folder + "/c++");  // no program
  std::filesystem::create_symlink(compiler.path(), folder + "/g++");
  std::filesystem::create_symlink("/bin/cp", folder + "/cp");
  write_file(folder + "/clang++", "no program either");
  const Variables variables{
      {"TAEDA_CXX", std::nullopt}, {"CXX", std::nullopt}, {"PATH", "/nowhere:" + folder}};
  EXPECT_EQ(answer_of(object_of("source")), 7);
}

TEST(CompileNative, AMissingCompilerIsAnError) {
  const Folder empty;
  const Variables variables{
      {"TAEDA_CXX", std::nullopt}, {"CXX", std::nullopt}, {"PATH", empty.path()}};
  EXPECT_EQ(error_of([] { object_of("source"); }),
            "[compile_native] no C++ compiler was found: looked for c++, g++ and clang++ in " +
                empty.path() +
                "; install one (Debian: apt-get install g++) or name it in TAEDA_CXX");
  const Variables named{{"CXX", "no-such-compiler -O"}};
  EXPECT_TRUE(contains(error_of([] { object_of("source"); }),
                       "the C++ compiler was not found: CXX names 'no-such-compiler', PATH is "));
}

TEST(CompileNative, AProgramThatCannotStartIsAnError) {
  const FakeCompiler compiler("");
  write_file(compiler.path(), "no script, no object");
  EXPECT_TRUE(contains(compiler.error(), "fake cannot be started: Exec format error"));
}

TEST(CompileNative, ACompileErrorShowsTheFirstLines) {
  const std::string text = error_of([] { object_of("int f() { return undeclared_thing; }"); });
  EXPECT_TRUE(contains(text, " failed with exit status 1:\n")) << text;
  EXPECT_TRUE(contains(text, "undeclared_thing")) << text;
  EXPECT_TRUE(contains(text, "Set TAEDA_KEEP_SOURCES to a folder to keep the source.")) << text;
}

TEST(CompileNative, SourcesAreKeptOnDemand) {
  const FakeCompiler compiler("echo bad source >&2; exit 2");
  const Variables variables{{"TAEDA_KEEP_SOURCES", compiler.folder() / "kept/here"}};
  const std::string text = compiler.error();
  EXPECT_TRUE(contains(text, "failed with exit status 2:\nbad source\n")) << text;
  const size_t at = text.find("The source was kept in ");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(read_file(text.substr(at + 23)), "source");
}

TEST(CompileNative, SourcesThatCannotBeKeptWarn) {
  const CopyingCompiler compiler;
  write_file(compiler.folder() / "file", "");
  const Variables variables{{"TAEDA_KEEP_SOURCES", compiler.folder() / "file"}};
  const Warnings warnings;
  EXPECT_EQ(answer_of(object_of("source")), 7);
  EXPECT_TRUE(contains(warnings.joined(), "TAEDA_KEEP_SOURCES: cannot write "));
}

TEST(CompileNative, ASilentFailureSaysSo) {
  EXPECT_TRUE(contains(FakeCompiler("exit 4").error(), "exit status 4:\n(it printed nothing)\n"));
}

TEST(CompileNative, LongMessagesAreCut) {
  const FakeCompiler compiler(
      "echo first; i=0; while [ $i -lt 3000 ]; do i=$((i+1)); "
      "echo 0123456789012345678901234567890123456789; done; exit 1");
  const std::string text = compiler.error();
  EXPECT_TRUE(contains(text, "exit status 1:\nfirst\n0123")) << text;
  EXPECT_LT(text.size(), 2000u);
}

TEST(CompileNative, ASignalIsNamed) {
  EXPECT_TRUE(contains(FakeCompiler("echo near the end; kill -SEGV $$").error(),
                       "fake was killed by SIGSEGV:\nnear the end"));
  EXPECT_TRUE(contains(FakeCompiler("kill -KILL $$").error(),
                       "fake was killed by SIGKILL; is the memory full?"));
}

TEST(CompileNative, AHangIsStoppedWithAllItsProcesses) {
  const FakeCompiler compiler("sleep 60 & echo $! >\"$HERE/pid\"; sleep 60");
  const Variables variables{{"TAEDA_COMPILE_TIMEOUT", "0.3"}};
  const auto start = Clock::now();
  EXPECT_TRUE(contains(compiler.error(),
                       "fake was stopped after 0.3 seconds; set "
                       "TAEDA_COMPILE_TIMEOUT to let it run longer"));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
  EXPECT_TRUE(ends(read_file(compiler.folder() / "pid")));
}

TEST(CompileNative, AHangOfTheVersionIsStopped) {
  const FakeCompiler compiler("sleep 60");
  DiskCache cache(compiler.folder() / "cache");
  const CompileOptions options{.cache = &cache};
  const Variables variables{{"TAEDA_COMPILE_TIMEOUT", "0.1"}};
  EXPECT_TRUE(contains(error_of([&] { compile_native("source", options); }),
                       "fake --version was stopped after 0.1 seconds"));
}

TEST(CompileNative, ATimeoutThatIsNoNumberIsTheDefault) {
  const FakeCompiler compiler("exit 3");
  for (const char* text : {"soon", "0", "-1", "inf", "3s"}) {
    const Variables variables{{"TAEDA_COMPILE_TIMEOUT", text}};
    EXPECT_TRUE(contains(compiler.error(), "exit status 3"));
  }
}

TEST(CompileNative, ACompilerThatClosesItsOutputIsWaitedFor) {
  EXPECT_TRUE(contains(FakeCompiler("exec >&- 2>&-; sleep 0.05; exit 3").error(), "exit status 3"));
}

TEST(CompileNative, AProcessLeftBehindIsKilled) {
  const FakeCompiler compiler("sleep 60 & echo $! >\"$HERE/pid\"; exit 5");
  const auto start = Clock::now();
  EXPECT_TRUE(contains(compiler.error(), "exit status 5"));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
  EXPECT_TRUE(ends(read_file(compiler.folder() / "pid")));
}

TEST(CompileNative, WithoutAnObjectItIsAnError) {
  EXPECT_TRUE(contains(FakeCompiler("exit 0").error(), "for this machine: it has only 0 bytes"));
  EXPECT_TRUE(contains(FakeCompiler("ln -s /dev/zero \"$out\"").error(), "it has only 0 bytes"));
  EXPECT_TRUE(contains(FakeCompiler("mkfifo \"$out\"").error(), "it has only 0 bytes"));
}

TEST(CompileNative, GarbageIsAnError) {
  EXPECT_TRUE(contains(FakeCompiler("head -c 100 /dev/zero >\"$out\"").error(),
                       "made no shared object for this machine: it is no ELF file; name a compiler "
                       "that works in TAEDA_CXX"));
}

TEST(CompileNative, ItsSurroundingsAreItsOwn) {
  const int inherited = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  const FakeCompiler compiler("cat; sleep 0.1; echo \"$LC_ALL:$(nice):$([ -e /proc/self/fd/" +
                              std::to_string(inherited) + " ] && echo leak):$TMPDIR\"; exit 1");
  const Variables locale{{"LC_ALL", "de_DE.UTF-8"}};
  const int expected = std::min(19, getpriority(PRIO_PROCESS, 0) + 1);
  EXPECT_TRUE(
      contains(compiler.error(), str("\nC:", expected, "::", compiler.folder() / "tmp/taeda_")));
  close(inherited);
}

TEST(CompileNative, AMissingTemporaryFolderIsAnError) {
  const FakeCompiler compiler("");
  const Variables variables{{"TMPDIR", "/nowhere/at/all"}};
  EXPECT_EQ(compiler.error(),
            "cannot make a temporary folder in '/nowhere/at/all': No such file or directory; set "
            "TMPDIR to a folder with free space that you may write");
}

TEST(CompileNative, AFullTemporaryFolderIsAnError) {
  const CopyingCompiler compiler;
  const std::string text = in_child([&] {
    const std::string folder = compiler.folder() / "tmp";
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", folder.c_str(), "tmpfs", 0, "size=8k,mode=0700") != 0)
      return std::string("skip");
    return error_of([] { object_of(std::string(100000, ' ')); }) + "\n" + compiler.error();
  });
  if (text == "skip") GTEST_SKIP() << "a file system cannot be mounted here";
  EXPECT_TRUE(contains(text, "kernel.cpp': No space left on device; set TMPDIR to a folder"))
      << text;
  EXPECT_TRUE(contains(text, "the temporary folder is full, set TMPDIR to one with free space"))
      << text;
}

TEST(CompileNative, ALimitOnFileSizesIsAnError) {
  const CopyingCompiler compiler;
  const std::string text = in_child([&] {
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    return error_of([] { object_of(std::string(4000, ' ')); });
  });
  EXPECT_TRUE(contains(text, "kernel.cpp': File too large")) << text;
}

TEST(CompileNative, WorksWhereChildrenAreCollectedByTheSystem) {
  const CopyingCompiler compiler;
  EXPECT_EQ(in_child([] {
              signal(SIGCHLD, SIG_IGN);
              return str(answer_of(object_of("source")));
            }),
            "7");
}

TEST(CompileNative, WorksWithoutStandardStreams) {
  const CopyingCompiler compiler("echo words; echo more >&2");
  EXPECT_EQ(in_child([] {
              for (const int fd : {0, 1, 2}) close(fd);
              return str(answer_of(object_of("source")));
            }),
            "7");
}

TEST(CompileNative, ThreadsCompileWhileOthersFork) {
  const CopyingCompiler compiler("echo words");
  DiskCache cache(compiler.folder() / "cache");
  const CompileOptions options{.cache = &cache};
  const auto before = open_files();
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 6; ++i)
        right += answer_of(compile_native(str("source ", (t + i) % 4), options)) == 7;
    });
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(in_child([&] { return str(answer_of(compile_native(str("child ", i), options))); }),
              "7");
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 18);
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace taeda::kernel
