// Blocks are cut from the slab's unused end only when no freed one is left, so untouched pages stay
// so.
#include "taeda/core/slab.h"

#include <new>

namespace taeda {

// Lies at the start of its run; a block finds it by rounding its address down.
struct alignas(64) SlabList::Slab {
  Slab *previous, *next;  // slabs of this class with room
  FreeBlock* freed;
  uint32_t num_out;  // blocks handed out
  uint32_t num_cut;  // blocks cut so far
  uint32_t capacity;

  bool is_full() const { return num_out == capacity; }
  static Slab* of(FreeBlock* block) {
    return reinterpret_cast<Slab*>(reinterpret_cast<uintptr_t>(block) & ~(kSlabBytes - 1));
  }
};

void SlabList::link(Slab* slab) noexcept {
  slab->previous = nullptr;
  slab->next = with_room_;
  if (with_room_) with_room_->previous = slab;
  with_room_ = slab;
}

void SlabList::unlink(Slab* slab) noexcept {
  (slab->previous ? slab->previous->next : with_room_) = slab->next;
  if (slab->next) slab->next->previous = slab->previous;
}

FreeBlock* SlabList::take(PageHeap& heap, size_t block_bytes) {
  Slab* slab = with_room_;
  if (!slab) {
    void* data = heap.allocate(kSlabBytes, kSlabBytes);
    if (!data) return nullptr;
    const auto capacity = static_cast<uint32_t>((kSlabBytes - sizeof(Slab)) / block_bytes);
    slab = new (data) Slab{nullptr, nullptr, nullptr, 0, 0, capacity};
    link(slab);
  }
  FreeBlock* block = slab->freed;
  if (block) {
    slab->freed = block->next;
  } else {
    char* blocks = reinterpret_cast<char*>(slab + 1);
    block = reinterpret_cast<FreeBlock*>(blocks + slab->num_cut++ * block_bytes);
  }
  ++slab->num_out;
  if (slab == empty_) empty_ = nullptr;
  if (slab->is_full()) unlink(slab);
  return block;
}

void SlabList::give(PageHeap& heap, FreeBlock* block) noexcept {
  Slab* slab = Slab::of(block);
  if (slab->is_full()) link(slab);
  block->next = slab->freed;
  slab->freed = block;
  if (--slab->num_out != 0) return;
  if (!empty_) {
    empty_ = slab;
    return;
  }
  unlink(slab);
  heap.deallocate(slab);
}

void SlabList::release_empty(PageHeap& heap) noexcept {
  if (!empty_) return;
  unlink(empty_);
  heap.deallocate(empty_);
  empty_ = nullptr;
}

}  // namespace taeda
