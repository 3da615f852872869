// Storages in shared memory, between processes and in arenas.
#include "taeda/core/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "taeda/base/error.h"
#include "taeda/core/shared_arena.h"

namespace taeda {
namespace {

using Handle = SharedMemory::Handle;

char* bytes(const Storage& s) { return static_cast<char*>(s->data()); }

// Runs `body` in a forked child and says whether it returned true.
template <class F>
bool in_child(F body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

size_t names_of_this_process() {
  const std::string prefix = str("torch_", int64_t{getpid()}, "_");
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    count += entry.path().filename().string().starts_with(prefix);
  return count;
}

class SharedStorage : public testing::TestWithParam<Handle> {};
INSTANTIATE_TEST_SUITE_P(Handles, SharedStorage, testing::Values(Handle::Descriptor, Handle::Name));

TEST_P(SharedStorage, BeginsWithZerosAndIsNotResized) {
  const Storage s = new_shared_storage(100, GetParam());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(bytes(s)[i], 0);
  EXPECT_NE(SharedMemory::of(*s), nullptr);
  EXPECT_THROW(s->resize(200), Error);
}

TEST_P(SharedStorage, KeepsTheBytesOfWhatIsMoved) {
  const auto s = make_intrusive<StorageImpl>(4, Device(DeviceType::CPU), &cpu_allocator());
  std::memcpy(s->data(), "abc", 4);
  EXPECT_EQ(SharedMemory::of(*s), nullptr);
  share_memory(*s, GetParam());
  EXPECT_STREQ(bytes(s), "abc");
  const void* data = s->data();
  share_memory(*s, GetParam());
  EXPECT_EQ(s->data(), data);
}

TEST_P(SharedStorage, IsWrittenByAChild) {
  const Storage s = new_shared_storage(8, GetParam());
  EXPECT_TRUE(in_child([&] { return (bytes(s)[3] = 7) == 7; }));
  EXPECT_EQ(bytes(s)[3], 7);
}

TEST_P(SharedStorage, OfNoBytes) {
  const Storage s = new_shared_storage(0, GetParam());
  EXPECT_EQ(s->nbytes(), 0u);
  EXPECT_NE(SharedMemory::of(*s), nullptr);
}

TEST(SharedDescriptor, OpensTheSameMemory) {
  const Storage s = new_shared_storage(16, Handle::Descriptor);
  const Storage again = open_shared_storage(shared_descriptor(*s), 16);
  bytes(again)[15] = 9;
  EXPECT_EQ(bytes(s)[15], 9);
  EXPECT_THROW(open_shared_storage(shared_descriptor(*s), 1 << 20), Error);
  EXPECT_THROW(open_shared_storage(-1, 16), Error);
  EXPECT_THROW(send_shared_name(*s), Error);
}

TEST(SharedName, GoesWithTheLastReference) {
  Storage s = new_shared_storage(16, Handle::Name);
  EXPECT_EQ(names_of_this_process(), 1u);
  const std::string name = send_shared_name(*s);
  s = nullptr;
  EXPECT_EQ(names_of_this_process(), 1u);  // a message is under way
  Storage again = open_shared_storage(name, 16);
  again = nullptr;
  EXPECT_EQ(names_of_this_process(), 0u);
  EXPECT_THROW(open_shared_storage(name, 16), Error);
}

TEST(SharedName, OfAStorageThatIsHereAlready) {
  Storage s = new_shared_storage(16, Handle::Name);
  send_shared_name(*s);
  drop_shared_name(*s);
  s = nullptr;
  EXPECT_EQ(names_of_this_process(), 0u);
}

TEST(SharedName, AChildDropsNothing) {
  Storage s = new_shared_storage(16, Handle::Name);
  EXPECT_TRUE(in_child([&] {
    s = nullptr;
    return true;
  }));
  EXPECT_EQ(names_of_this_process(), 1u);
}

TEST(SharedName, OfAChildGoWithIt) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  EXPECT_TRUE(in_child([&] {
    const Storage s = new_shared_storage(16, Handle::Name);
    const std::string name = send_shared_name(*s);
    return write(pipe_ends[1], name.c_str(), name.size() + 1) > 0;
  }));
  char name[256] = {};
  ASSERT_GT(read(pipe_ends[0], name, sizeof name - 1), 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  const auto path = std::string("/dev/shm") + name;
  for (int i = 0; i < 400 && std::filesystem::exists(path); ++i) usleep(25'000);
  EXPECT_FALSE(std::filesystem::exists(path));
}

class Arena : public testing::Test {
 protected:
  IntrusivePtr<SharedArena> writer = SharedArena::create();
  IntrusivePtr<SharedArena> reader = SharedArena::open(writer->descriptor());
};

TEST_F(Arena, ABlockIsReadInPlace) {
  Storage block = writer->allocate(100);
  std::memcpy(block->data(), "hello", 6);
  const int64_t place = writer->send(block);
  block = nullptr;
  const Storage seen = reader->receive(place, 100);
  EXPECT_STREQ(bytes(seen), "hello");
  EXPECT_NE(SharedMemory::of(*seen), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(seen->data()) % 64, 0u);
}

TEST_F(Arena, ABlockIsUsedAgainWhenBothSidesAreDone) {
  Storage block = writer->allocate(1000);
  const int64_t place = writer->send(block);
  block = nullptr;
  EXPECT_GT(writer->used_bytes(), 0u);
  Storage seen = reader->receive(place, 1000);
  EXPECT_GT(writer->used_bytes(), 0u);
  seen = nullptr;
  EXPECT_EQ(writer->used_bytes(), 0u);
  block = writer->allocate(500);
  EXPECT_EQ(writer->send(block), place);
}

TEST_F(Arena, OtherMemoryIsCopiedOncePerMessage) {
  const auto s = make_intrusive<StorageImpl>(4, Device(DeviceType::CPU), &cpu_allocator());
  std::memcpy(s->data(), "abc", 4);
  const int64_t place = writer->send(s);
  EXPECT_EQ(writer->send(s), place);
  const Storage first = reader->receive(place, 4), second = reader->receive(place, 4);
  EXPECT_EQ(first, second);
  EXPECT_STREQ(bytes(first), "abc");
  writer->end_message();
  EXPECT_NE(writer->send(s), place);
}

TEST_F(Arena, FreeNeighboursBecomeOne) {
  std::vector<Storage> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(writer->allocate(1000));
  const int64_t first = writer->send(blocks[0]);
  reader->receive(first, 1000);
  for (int i : {3, 1, 2, 0, 5, 4, 9, 8, 6, 7}) blocks[i] = nullptr;
  EXPECT_EQ(writer->used_bytes(), 0u);
  const Storage large = writer->allocate(9000);
  EXPECT_EQ(writer->send(large), first);
}

TEST_F(Arena, RandomOrdersKeepBlocksApart) {
  std::vector<std::pair<Storage, char>> held;
  uint32_t random = 1;
  const auto next = [&] { return random = random * 1664525 + 1013904223; };
  for (int i = 0; i < 3000; ++i) {
    if (held.size() > 40 || (!held.empty() && next() % 3 == 0)) {
      const size_t k = next() % held.size();
      for (size_t j = 0; j < held[k].first->nbytes(); ++j)
        ASSERT_EQ(bytes(held[k].first)[j], held[k].second);
      std::swap(held[k], held.back());
      held.pop_back();
      continue;
    }
    const size_t nbytes = next() % 5000;
    Storage block = writer->allocate(nbytes);
    const char value = static_cast<char>(i);
    std::memset(block->data(), value, nbytes);
    const int64_t place = writer->send(block);
    block = nullptr;
    held.emplace_back(reader->receive(place, nbytes), value);
  }
  held.clear();
  EXPECT_EQ(writer->used_bytes(), 0u);
}

TEST_F(Arena, TrimGivesPagesBack) {
  const size_t nbytes = size_t{32} << 20;
  Storage block = writer->allocate(nbytes);
  std::memset(block->data(), 1, nbytes);
  block = nullptr;
  writer->trim();
  block = writer->allocate(nbytes);
  EXPECT_EQ(bytes(block)[nbytes / 2], 0);
}

TEST_F(Arena, PlacesThatAreNone) {
  for (int64_t place : {int64_t{-64}, int64_t{1}, static_cast<int64_t>(writer->capacity())})
    EXPECT_THROW(reader->receive(place, 8), Error);
  EXPECT_THROW(reader->receive(0, writer->capacity()), Error);
}

TEST_F(Arena, BlocksOutliveTheArena) {
  Storage block = writer->allocate(8);
  writer = nullptr;
  reader = nullptr;
  bytes(block)[0] = 1;
  EXPECT_EQ(bytes(block)[0], 1);
}

}  // namespace
}  // namespace taeda
