// The cache of small objects: reuse on one thread, hand-over between threads, thread exit.
#include "taeda/base/object_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "taeda/base/intrusive_ptr.h"

namespace taeda {
namespace {

#ifndef __SANITIZE_ADDRESS__
TEST(ObjectCache, ReusesTheLastBlockOfASize) {
  deallocate_object(allocate_object(100), 100);
  void* first = allocate_object(100);
  deallocate_object(first, 100);
  EXPECT_EQ(allocate_object(112), first);  // the same step of 16 bytes
  deallocate_object(first, 112);
}
#endif

TEST(ObjectCache, LiveBlocksNeverOverlap) {
  for (size_t nbytes : {size_t{1}, size_t{16}, size_t{17}, size_t{168}, size_t{256}, size_t{257}}) {
    std::vector<unsigned char*> blocks;
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 200; ++i) {
        blocks.push_back(static_cast<unsigned char*>(allocate_object(nbytes)));
        std::memset(blocks.back(), i, nbytes);
      }
      for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(blocks[i][0], i);
        EXPECT_EQ(blocks[i][nbytes - 1], i);
      }
      for (unsigned char* block : blocks) deallocate_object(block, nbytes);
      blocks.clear();
    }
  }
}

struct Counted final : RefCounted {
  explicit Counted(int* alive) : alive(alive) { ++*alive; }
  ~Counted() override { --*alive; }
  int* alive;
  char rest[64];
};

TEST(ObjectCache, ObjectsMayEndOnAnotherThread) {
  int alive = 0;
  std::vector<IntrusivePtr<Counted>> objects;
  for (int i = 0; i < 300; ++i) objects.push_back(make_intrusive<Counted>(&alive));
  std::thread([&] { objects.clear(); }).join();
  EXPECT_EQ(alive, 0);
  std::thread([&] {
    for (int i = 0; i < 300; ++i) objects.push_back(make_intrusive<Counted>(&alive));
  }).join();
  EXPECT_EQ(alive, 300);
  objects.clear();
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace taeda
