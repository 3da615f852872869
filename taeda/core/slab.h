// Slabs: aligned runs of pages cut into equal small blocks, with a count of those that are out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "taeda/core/page_heap.h"
#include "taeda/core/size_class.h"

namespace taeda {

// A free block holds the link to the next free one.
struct FreeBlock {
  FreeBlock* next;
};

// The slabs of one size class. Not thread-safe; the owner of `heap` holds its lock.
class SlabList {
 public:
  // A block of `block_bytes`, from a slab that has one or a new slab; nullptr when the OS has no
  // more.
  FreeBlock* take(PageHeap& heap, size_t block_bytes);
  // One empty slab is kept, further ones go back to the heap.
  void give(PageHeap& heap, FreeBlock* block) noexcept;
  // Gives back the kept empty slab.
  void release_empty(PageHeap& heap) noexcept;

 private:
  struct Slab;
  void link(Slab* slab) noexcept;
  void unlink(Slab* slab) noexcept;

  Slab* with_room_ = nullptr;
  Slab* empty_ = nullptr;  // linked in with_room_ too
};

}  // namespace taeda
