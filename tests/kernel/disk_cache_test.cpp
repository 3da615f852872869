// The cache of blobs: what it keeps, what it refuses to read, and what it does where it cannot
// write.
#include "taeda/kernel/native/disk_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "taeda/base/str.h"
#include "taeda/kernel/native/sha256.h"
#include "tests/kernel/native_fixture.h"

namespace taeda::kernel {
namespace {

using namespace taeda::kernel::test;

constexpr uid_t kNobody = 65534;

TEST(Sha256, Digests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(DiskCache, KeepsBlobsForLaterProcesses) {
  const Folder folder;
  const std::string key("key\0with zero", 13), blob("\0\1\2", 3);
  DiskCache(folder / "a/b").store(key, blob);
  DiskCache cache(folder / "a/b");
  EXPECT_EQ(cache.find(key), blob);
  EXPECT_EQ(cache.find("key"), std::nullopt);
  EXPECT_EQ(cache.hits(), 1);
  EXPECT_EQ(cache.misses(), 1);
}

TEST(DiskCache, KeepsTheLatestBlob) {
  const Folder folder;
  DiskCache cache(folder.path());
  cache.store("key", "old");
  cache.store("key", "");
  EXPECT_EQ(cache.find("key"), "");
  EXPECT_EQ(folder.files().size(), 1u);
}

TEST(DiskCache, FolderAndFilesAreForTheUserAlone) {
  const Folder folder;
  const mode_t old = umask(0);
  DiskCache(folder / "cache").store("key", "blob");
  umask(old);
  struct stat info;
  ASSERT_EQ(stat((folder / "cache").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(stat((folder / ("cache/" + sha256_hex("key"))).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(DiskCache, FindCreatesNothing) {
  const Folder folder;
  const Warnings warnings;
  EXPECT_EQ(DiskCache(folder / "cache").find("key"), std::nullopt);
  EXPECT_TRUE(folder.files().empty());
  EXPECT_EQ(warnings.joined(), "");
}

TEST(DiskCache, AnEmptyFolderSwitchesItOff) {
  const Warnings warnings;
  DiskCache cache("");
  cache.store("key", "blob");
  EXPECT_EQ(cache.find("key"), std::nullopt);
  EXPECT_EQ(warnings.joined(), "");
}

TEST(DiskCache, FolderComesFromTheEnvironment) {
  const Variables all{{"TAEDA_CACHE_DIR", "/x/own/"}, {"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}};
  EXPECT_EQ(DiskCache::from_environment()->folder(), "/x/own");
  const Variables off{{"TAEDA_CACHE_DIR", ""}};
  EXPECT_EQ(DiskCache::from_environment()->folder(), "");
  const Variables xdg{{"TAEDA_CACHE_DIR", std::nullopt}};
  EXPECT_EQ(DiskCache::from_environment()->folder(), "/x/taeda");
  const Variables relative{{"XDG_CACHE_HOME", "not/absolute"}};
  EXPECT_EQ(DiskCache::from_environment()->folder(), "/h/.cache/taeda");
}

TEST(DiskCache, WithoutHomeItWarnsAndIsOff) {
  const Variables none{
      {"TAEDA_CACHE_DIR", std::nullopt}, {"XDG_CACHE_HOME", std::nullopt}, {"HOME", std::nullopt}};
  const Warnings warnings;
  const auto cache = DiskCache::from_environment();
  cache->store("key", "blob");
  EXPECT_EQ(cache->find("key"), std::nullopt);
  EXPECT_EQ(warnings.all().size(), 1u);
  EXPECT_TRUE(contains(warnings.joined(), "neither HOME nor XDG_CACHE_HOME holds a path"));
}

TEST(DiskCache, ALimitThatIsNoNumberWarns) {
  const Variables odd{{"TAEDA_CACHE_DIR", ""}, {"TAEDA_CACHE_LIMIT_MB", "10 MB"}};
  const Warnings warnings;
  DiskCache::from_environment();
  EXPECT_TRUE(contains(warnings.joined(),
                       "TAEDA_CACHE_LIMIT_MB is no number of megabytes: got "
                       "'10 MB'; the limit is 1024 MB"));
}

// Stores an entry, lets `damage` change its file, and returns what is warned of by two finds.
std::string warning_after(const std::function<void(const std::string&)>& damage) {
  const Folder folder;
  const Warnings warnings;
  DiskCache cache(folder / "cache");
  const std::string file = folder / ("cache/" + sha256_hex("key"));
  cache.store("key", "blob");
  damage(file);
  EXPECT_EQ(cache.find("key"), std::nullopt);
  EXPECT_EQ(cache.find("key"), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(file)));
  EXPECT_EQ(warnings.all().size(), 1u);
  EXPECT_TRUE(contains(warnings.joined(), sha256_hex("key") + " was removed"));
  cache.store("key", "again");
  EXPECT_EQ(cache.find("key"), "again");
  return warnings.joined();
}

TEST(DiskCache, DamagedEntriesAreRemoved) {
  const auto changed = [](size_t at, char value) {
    return [=](const std::string& file) {
      std::string text = read_file(file);
      text[at] = value;
      write_file(file, text);
    };
  };
  const auto cut = [](size_t size) {
    return [=](const std::string& file) { write_file(file, read_file(file).substr(0, size)); };
  };
  constexpr size_t kHeader = 40, kAll = kHeader + 3 + 4;
  EXPECT_TRUE(contains(warning_after(cut(0)), "it is too short"));
  EXPECT_TRUE(contains(warning_after(cut(kHeader - 1)), "it is too short"));
  EXPECT_TRUE(contains(warning_after(cut(kAll - 1)), "it has 46 bytes, expected 47"));
  EXPECT_TRUE(contains(warning_after(changed(0, 'x')), "it is no entry of a cache"));
  EXPECT_TRUE(contains(warning_after(changed(8, 9)), "its format is 9, expected 1"));
  EXPECT_TRUE(contains(warning_after(changed(kAll - 1, 'x')), "its checksum is wrong"));
  EXPECT_TRUE(contains(warning_after(changed(kHeader, 'x')), "its checksum is wrong"));
  EXPECT_TRUE(contains(
      warning_after([](const std::string& file) { write_file(file, std::string(100, 'z')); }),
      "it is no entry of a cache"));
}

TEST(DiskCache, AnEntryUnderAnotherNameIsRemoved) {
  const auto text = warning_after([](const std::string& file) {
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    DiskCache(folder).store("yek", "blob");
    std::filesystem::rename(folder / sha256_hex("yek"), file);
  });
  EXPECT_TRUE(contains(text, "it belongs to another key"));
}

TEST(DiskCache, FilesThatAreNoPlainFilesAreRemoved) {
  EXPECT_TRUE(contains(warning_after([](const std::string& file) {
                         std::filesystem::rename(file, file + "x");
                         std::filesystem::create_symlink(file + "x", file);
                       }),
                       "it is a symbolic link"));
  EXPECT_TRUE(contains(warning_after([](const std::string& file) {
                         std::filesystem::remove(file);
                         mkfifo(file.c_str(), 0600);
                       }),
                       "it is no regular file"));
  EXPECT_TRUE(contains(warning_after([](const std::string& file) { chmod(file.c_str(), 0620); }),
                       "its group or others may write it"));
}

TEST(DiskCache, AFileOfAnotherUserIsNotRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const Folder folder;
  const Warnings warnings;
  DiskCache cache(folder.path());
  cache.store("key", "blob");
  ASSERT_EQ(chown((folder / sha256_hex("key")).c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(cache.find("key"), std::nullopt);
  EXPECT_TRUE(contains(warnings.joined(), "it belongs to user 65534, expected user 0"));
  EXPECT_TRUE(contains(warnings.joined(), "was left in place"));
}

// What is warned of by a cache in `folder` that must neither read nor write.
std::string refusal(const std::string& folder) {
  const Warnings warnings;
  DiskCache cache(folder);
  for (int i = 0; i < 2; ++i) {
    cache.store("key", "blob");
    EXPECT_EQ(cache.find("key"), std::nullopt);
  }
  EXPECT_EQ(warnings.all().size(), 1u);
  EXPECT_TRUE(contains(warnings.joined(), "name another folder in TAEDA_CACHE_DIR"));
  return warnings.joined();
}

TEST(DiskCache, AFolderThatOthersMayWriteIsRefused) {
  const Folder folder;
  DiskCache(folder.path()).store("key", "blob");
  for (const mode_t mode : {0770, 0702}) {
    chmod(folder.path().c_str(), mode);
    EXPECT_TRUE(contains(refusal(folder.path()),
                         folder.path() + " cannot be used: its group or others may write it"));
  }
}

TEST(DiskCache, AFolderOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const Folder folder;
  DiskCache(folder.path()).store("key", "blob");
  ASSERT_EQ(chown(folder.path().c_str(), kNobody, kNobody), 0);
  EXPECT_TRUE(contains(refusal(folder.path()), "it belongs to user 65534, expected user 0"));
}

TEST(DiskCache, ALinkToAFolderIsRefused) {
  const Folder folder;
  DiskCache(folder / "real").store("key", "blob");
  std::filesystem::create_symlink(folder / "real", folder / "link");
  for (const char* end : {"link", "link/", "link/."})
    EXPECT_TRUE(contains(refusal(folder / end), "link cannot be used: it is a symbolic link"));
}

TEST(DiskCache, AFileInPlaceOfTheFolderIsRefused) {
  const Folder folder;
  write_file(folder / "file", "");
  EXPECT_TRUE(contains(refusal(folder / "file"), "cannot be used: Not a directory"));
  EXPECT_TRUE(contains(refusal(folder / "file/below"), "cannot be used: Not a directory"));
}

TEST(DiskCache, AReadOnlyFolderIsReadAndWarnsAtStore) {
  const Folder folder;
  const std::string text = in_child([&] {
    // The superuser may write everywhere.
    if (geteuid() == 0 && (chown(folder.path().c_str(), kNobody, kNobody) || seteuid(kNobody)))
      return std::string("skip");
    const Warnings warnings;
    DiskCache cache(folder.path());
    cache.store("key", "blob");
    chmod(folder.path().c_str(), 0500);
    cache.store("other", "blob");
    cache.store("another", "blob");
    return cache.find("key").value_or("nothing") + ": " + warnings.joined();
  });
  chmod(folder.path().c_str(), 0700);
  if (text == "skip") GTEST_SKIP() << "there is no other user here";
  EXPECT_EQ(text.find("blob: [disk cache] " + folder.path() + " cannot be written: Permission"), 0u)
      << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(DiskCache, AFullDiskWarnsAndLeavesNothing) {
  const Folder folder;
  const std::string text = in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", folder.path().c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0)
      return std::string("skip");
    const Warnings warnings;
    DiskCache cache(folder.path());
    cache.store("small", "blob");
    cache.store("key", std::string(1 << 20, 'x'));
    cache.store("key", std::string(1 << 20, 'x'));
    return str(folder.files().size(), cache.find("small").value_or("nothing"),
               cache.find("key").has_value(), warnings.joined());
  });
  if (text == "skip") GTEST_SKIP() << "a file system cannot be mounted here";
  EXPECT_EQ(text.find("1blobFalse[disk cache] " + folder.path() +
                      " cannot be written: No space left on device; kernels are compiled anew"),
            0u)
      << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(DiskCache, ALimitOnFileSizesWarnsAndRaisesNoSignal) {
  const Folder folder;
  const std::string text = in_child([&] {
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Warnings warnings;
    DiskCache cache(folder.path());
    cache.store("key", std::string(4000, 'x'));
    return str(folder.files().size(), warnings.joined());
  });
  EXPECT_TRUE(contains(text, "cannot be written: File too large")) << text;
  EXPECT_EQ(text[0], '0');
}

TEST(DiskCache, AFolderThatIsRemovedMeanwhileIsMadeAnew) {
  const Folder folder;
  const Warnings warnings;
  DiskCache cache(folder / "cache");
  cache.store("key", "blob");
  std::filesystem::remove_all(folder / "cache");
  EXPECT_EQ(cache.find("key"), std::nullopt);
  cache.store("key", "blob");
  EXPECT_EQ(cache.find("key"), "blob");
  EXPECT_EQ(warnings.joined(), "");
}

void set_age(const std::string& file, std::chrono::seconds age) {
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - age);
}

TEST(DiskCache, EntriesThatWereNotUsedForLongestAreRemoved) {
  const Folder folder;
  DiskCache cache(folder.path(), 10000);
  for (int i = 0; i < 4; ++i) {
    cache.store(str("key", i), std::string(2000, 'x'));
    set_age(folder / sha256_hex(str("key", i)), std::chrono::seconds(100 - i));
  }
  EXPECT_TRUE(cache.find("key0").has_value());  // now the youngest
  cache.store("key4", std::string(2000, 'x'));
  DiskCache later(folder.path());
  EXPECT_TRUE(later.find("key0").has_value());
  EXPECT_FALSE(later.find("key1").has_value());
  EXPECT_TRUE(later.find("key2").has_value());
  EXPECT_TRUE(later.find("key4").has_value());
}

TEST(DiskCache, EntriesAreListedAndCleared) {
  const Folder folder;
  DiskCache cache(folder.path());
  EXPECT_EQ(cache.entries().size(), 0u);
  for (const char* key : {"younger", "older"}) cache.store(key, "blob");
  write_file(folder / "letter.txt", "x");
  set_age(folder / sha256_hex("older"), std::chrono::seconds(100));
  const auto entries = cache.entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, sha256_hex("older"));
  EXPECT_EQ(entries[0].bytes, entries[1].bytes - 2);  // the keys' lengths
  EXPECT_LT(entries[0].used, entries[1].used);
  EXPECT_EQ(cache.clear(), 2);
  EXPECT_FALSE(cache.find("younger").has_value());
  EXPECT_TRUE(std::filesystem::exists(folder / "letter.txt"));
  EXPECT_EQ(DiskCache("").clear(), 0);
}

TEST(DiskCache, BlobsAboveTheLimitAreNotKept) {
  const Folder folder;
  DiskCache cache(folder.path(), 1000);
  cache.store("small", "x");
  cache.store("large", std::string(1000, 'x'));
  EXPECT_FALSE(cache.find("large").has_value());
  EXPECT_TRUE(cache.find("small").has_value());
}

TEST(DiskCache, AbandonedFilesAreRemovedAndOthersStay) {
  const Folder folder;
  for (const char* name : {".new-1", ".new-2", "letter.txt"}) write_file(folder / name, "x");
  set_age(folder / ".new-1", std::chrono::hours(2));
  set_age(folder / "letter.txt", std::chrono::hours(2));
  DiskCache(folder.path(), 100).store("key", "blob");
  EXPECT_FALSE(std::filesystem::exists(folder / ".new-1"));
  EXPECT_TRUE(std::filesystem::exists(folder / ".new-2"));
  EXPECT_TRUE(std::filesystem::exists(folder / "letter.txt"));
}

// Stores and reads the same few keys; returns how many blobs were wrong.
int use(DiskCache& cache, int rounds) {
  int wrong = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::string key = str("key", i % 5), blob(10000, static_cast<char>('a' + i % 5));
    if (i % 3 == 0) cache.store(key, blob);
    const auto found = cache.find(key);
    wrong += found && *found != blob;
  }
  return wrong;
}

TEST(DiskCache, ThreadsAndProcessesShareAFolder) {
  const Folder folder;
  const Warnings warnings;
  DiskCache cache(folder.path(), 60000);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { wrong += use(cache, 120); });
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(in_child([&] { return std::to_string(use(cache, 40)) + warnings.joined(); }), "0");
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(warnings.joined(), "");
  EXPECT_GT(cache.hits(), 0);
  EXPECT_LE(folder.files().size(), 5u);
}

TEST(DiskCache, NoDescriptorStaysOpen) {
  const Folder folder;
  DiskCache cache(folder.path(), 1000);
  const auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_files();
  use(cache, 30);
  DiskCache(folder / "missing/\1").find("key");
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace taeda::kernel
