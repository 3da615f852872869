// Lanes of the tree are combined by folds or programs, chunks by the cascade.
#include "taeda/kernel/interpret/tree_run.h"

#include <algorithm>
#include <cstring>

#include "taeda/kernel/reduce_tree.h"

namespace taeda::kernel {

namespace {

constexpr int kMaxStates = 8;

}  // namespace

TreeRun::TreeRun(const ReduceBody& body, const BodyProgram& combine, Part part)
    : combine_(combine),
      fold_(find_fold(body)),
      close_(find_close(body)),
      is_cascade_(part == Part::Combining),
      lanes_count_(body.lanes()) {
  for (Type type : body.state_types) {
    sizes_.push_back(type_size(type));
    offsets_.push_back(bytes_);
    bytes_ += static_cast<size_t>(lanes_count_) * type_size(type);
  }
  bytes_ = (bytes_ + sizeof(CacheLine) - 1) / sizeof(CacheLine) * sizeof(CacheLine);
  for (Type type : body.value_types) value_sizes_.push_back(type_size(type));
  identity_.resize(bytes_);
  for (size_t s = 0; s < sizes_.size(); ++s) {
    const Node& node = body.graph.node(body.identity[s]);
    for (int l = 0; l < lanes_count_; ++l)
      write_constant(node.type, node.bits, identity_.data() + offsets_[s] + l * sizes_[s]);
  }
}

void TreeRun::start(int64_t width, int64_t lines) {
  if (width_ != width || lines_ != lines) {
    width_ = width;
    lines_ = lines;
    lanes_.resize(bytes_ / sizeof(CacheLine) * width * lines);
    levels_.clear();
  }
  chunks_ = 0;
  for (line_ = lines; line_-- > 0;) clear_lanes();
  line_ = 0;
}

char* TreeRun::open(int64_t line, int64_t n) {
  if (lines_ == 1) {
    if (position_ == kReduceChunk) close_chunk();
    position_ += n;
  }
  return lanes() + line * bytes_;
}

void TreeRun::clear_lanes() {
  position_ = 0;
  if (width_ == 1) {
    std::memcpy(lane(0, 0), identity_.data(), bytes_);
    return;
  }
  for (size_t s = 0; s < sizes_.size(); ++s)
    for (int64_t i = 0; i < lanes_count_ * width_; ++i)
      copy_element(lane(s, 0) + i * sizes_[s], identity_.data() + offsets_[s], sizes_[s]);
}

void TreeRun::combine_into(char* const* left, char* const* right, int64_t n) {
  const size_t states = sizes_.size();
  char* inputs[2 * kMaxStates];
  if (scratch_.empty()) {  // folds of short rows come here never
    scratch_.resize(combine_.scratch_bytes() + 1);
    combine_.prepare(scratch_.data());
  }
  for (int64_t done = 0; done < n; done += kTile) {
    const int64_t count = std::min(kTile, n - done);
    for (size_t s = 0; s < states; ++s) {
      inputs[s] = left[s] + done * sizes_[s];
      inputs[states + s] = right[s] + done * sizes_[s];
    }
    combine_.run_into(inputs, count, scratch_.data(), inputs);
  }
}

void TreeRun::fold(const char* const* values, int64_t n) {
  const char* from[kMaxStates];
  for (int64_t done = 0; done < n;) {
    if (position_ == kReduceChunk) close_chunk();
    const int64_t room = std::min(n - done, kReduceChunk - position_);
    const int64_t first = position_ % lanes_count_;
    for (size_t v = 0; v < value_sizes_.size(); ++v) from[v] = values[v] + done * value_sizes_[v];
    int64_t taken = std::min<int64_t>(lanes_count_ - first, room);
    if (taken == lanes_count_) {
      char* states[kMaxStates];
      for (size_t s = 0; s < sizes_.size(); ++s) states[s] = lane(s, 0);
      fold_(states, from, room / lanes_count_);
      taken = room / lanes_count_ * lanes_count_;
    } else {
      fold_few(from, first, taken);
    }
    position_ += taken;
    done += taken;
  }
}

// A part of a row: the whole row is folded into copies of the lanes, of which those that were given
// are kept.
void TreeRun::fold_few(const char* const* values, int64_t first, int64_t n) {
  constexpr size_t kRow = 8 * 64;  // bytes of a value in as many lanes as there can be
  alignas(64) char rows[kMaxStates][kRow] = {}, copies[kMaxStates][kRow];
  const char* from[kMaxStates];
  char* states[kMaxStates];
  for (size_t v = 0; v < value_sizes_.size(); ++v) {
    std::memcpy(rows[v] + first * value_sizes_[v], values[v], n * value_sizes_[v]);
    from[v] = rows[v];
  }
  for (size_t s = 0; s < sizes_.size(); ++s) {
    std::memcpy(copies[s], lane(s, 0), lanes_count_ * sizes_[s]);
    states[s] = copies[s];
  }
  fold_(states, from, 1);
  for (size_t s = 0; s < sizes_.size(); ++s)
    std::memcpy(lane(s, first), copies[s] + first * sizes_[s], n * sizes_[s]);
}

// The results of a block for each of the reductions.
void TreeRun::add_block(char* const* states) {
  for (size_t s = 0; s < sizes_.size(); ++s) copy(lane(s, 0), states[s], s);
  settle();
  ++chunks_;
}

void TreeRun::add(char* const* states, int64_t n) {
  for (int64_t k = 0; k < n && is_cascade_; ++k) {
    char* block[kMaxStates];
    for (size_t s = 0; s < sizes_.size(); ++s) block[s] = states[s] + k * sizes_[s];
    add_block(block);
  }
  if (is_cascade_) return;
  for (int64_t done = 0; done < n;) {
    if (position_ == kReduceChunk) close_chunk();
    const int64_t first = position_ % lanes_count_;
    const int64_t taken = std::min({lanes_count_ - first, n - done, kReduceChunk - position_});
    char *left[kMaxStates], *right[kMaxStates];
    for (size_t s = 0; s < sizes_.size(); ++s) {
      left[s] = lane(s, first);
      right[s] = states[s] + done * sizes_[s];
    }
    combine_into(left, right, taken);
    position_ += taken;
    done += taken;
  }
}

void TreeRun::add_across(char* const* states) {
  if (is_cascade_) return add_block(states);
  if (position_ == kReduceChunk) close_chunk();
  char* left[kMaxStates];
  for (size_t s = 0; s < sizes_.size(); ++s) left[s] = lane(s, position_ % lanes_count_);
  combine_into(left, states, width_);
  ++position_;
}

// The lanes as a tree.
void TreeRun::close_lanes() {
  char *left[kMaxStates], *right[kMaxStates];
  for (size_t s = 0; s < sizes_.size(); ++s) left[s] = lane(s, 0);
  if (close_ && width_ == 1) {
    close_(left);
  } else {
    for (int half = lanes_count_ / 2; half > 0; half /= 2) {
      for (size_t s = 0; s < sizes_.size(); ++s) right[s] = lane(s, half);
      combine_into(left, right, half * width_);
    }
  }
}

// Then the cascade of equal-sized neighbours.
void TreeRun::close_chunk() {
  close_lanes();
  settle();
  ++chunks_;
  clear_lanes();
}

// The result of a chunk, in the first lanes, with the levels before it.
void TreeRun::settle() {
  char *left[kMaxStates], *right[kMaxStates];
  size_t depth = 0;
  for (int64_t bits = chunks_; bits & 1; bits >>= 1, ++depth) {
    for (size_t s = 0; s < sizes_.size(); ++s) left[s] = level(depth, s), right[s] = lane(s, 0);
    combine_into(left, right, width_);
    for (size_t s = 0; s < sizes_.size(); ++s) copy(right[s], left[s], s);
  }
  if (levels_.size() <= depth) levels_.resize(depth + 1);
  if (levels_[depth].empty()) levels_[depth].resize(16 * sizes_.size() * width_);
  for (size_t s = 0; s < sizes_.size(); ++s) copy(level(depth, s), lane(s, 0), s);
}

// The only chunk of each line.
void TreeRun::finish_chunk(char** results) {
  results_.resize(16 * sizes_.size() * lines_);
  for (line_ = lines_; line_-- > 0;) {
    close_lanes();
    for (size_t s = 0; s < sizes_.size() && lines_ > 1; ++s)
      copy_element(results_.data() + 16 * s * lines_ + line_ * sizes_[s], lane(s, 0), sizes_[s]);
  }
  line_ = 0;
  for (size_t s = 0; s < sizes_.size(); ++s)
    results[s] = lines_ > 1 ? results_.data() + 16 * s * lines_ : lane(s, 0);
}

void TreeRun::finish(char** results) {
  if (is_cascade_ && chunks_ == 0) {
    settle();  // identities
    ++chunks_;
  }
  if (chunks_ == 0) return finish_chunk(results);
  if (position_ > 0) close_chunk();
  char *left[kMaxStates], *right[kMaxStates];
  size_t depth = 0;
  while (!((chunks_ >> depth) & 1)) ++depth;
  for (size_t s = 0; s < sizes_.size(); ++s) right[s] = level(depth, s);
  for (++depth; (chunks_ >> depth) != 0; ++depth) {
    if (!((chunks_ >> depth) & 1)) continue;
    for (size_t s = 0; s < sizes_.size(); ++s) left[s] = level(depth, s);
    combine_into(left, right, width_);
    std::copy(left, left + sizes_.size(), right);
  }
  std::copy(right, right + sizes_.size(), results);
}

}  // namespace taeda::kernel
