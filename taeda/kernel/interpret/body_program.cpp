// Reductions by tiles: lanes of the tree are combined by primitives, chunks by the cascade.
#include "taeda/kernel/interpret/body_program.h"

#include <cstring>
#include <unordered_map>

#include "taeda/base/error.h"
#include "taeda/kernel/reduce_tree.h"

namespace taeda::kernel {

namespace {

constexpr size_t kAlign = 64;
size_t rounded(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

void write_constant(Type type, const uint64_t* bits, char* to) {
  const size_t part = is_complex(type) ? type_size(type) / 2 : type_size(type);
  std::memcpy(to, &bits[0], part);
  if (is_complex(type)) std::memcpy(to + part, &bits[1], part);
}

BodyProgram::BodyProgram(const ReduceBody& body, const std::vector<NodeId>& roots) {
  const ExprGraph& graph = body.graph;
  std::unordered_map<NodeId, int> places;
  for (NodeId id : graph.reachable(roots)) {
    const Node& node = graph.node(id);
    if (node.op == Op::Input) {
      places[id] = node.index;
      continue;
    }
    Step step{nullptr,
              {0, 0, 0},
              scratch_bytes_,
              node.type,
              node.op == Op::Constant,
              {node.bits[0], node.bits[1]}};
    if (!step.is_constant) {
      const int counted = node.op == Op::Where ? 1 : 0;
      const Type from = graph.node(node.args[counted]).type;
      step.run = node.op == Op::Cast ? find_cast(from, node.type) : find_primitive(node.op, from);
      TAEDA_CHECK(step.run, "[kernel] no primitive for ", op_name(node.op), " of ",
                  type_name(from));
      for (int i = 0; i < 3 && node.args[i] >= 0; ++i) step.args[i] = places.at(node.args[i]);
    }
    scratch_bytes_ += rounded(static_cast<size_t>(kTile) * type_size(node.type));
    places[id] = ~static_cast<int>(steps_.size());
    steps_.push_back(step);
  }
  for (NodeId root : roots) outputs_.push_back(places.at(root));
  const Node& last = graph.node(roots[0]);
  if (roots.size() == 1 && steps_.size() == 1 && op_arity(last.op) == 2 && steps_[0].args[0] == 0 &&
      steps_[0].args[1] == 1)
    single_ = last.op;
}

void BodyProgram::prepare(char* scratch) const {
  for (const Step& step : steps_) {
    if (!step.is_constant) continue;
    for (int64_t i = 0; i < kTile; ++i)
      write_constant(step.type, step.bits, scratch + step.offset + i * type_size(step.type));
  }
}

void BodyProgram::run(char* const* inputs, int64_t n, char* scratch, char** outputs) const {
  for (const Step& step : steps_) {
    if (!step.run) continue;
    char* ptrs[4] = {scratch + step.offset, at(step.args[0], inputs, scratch),
                     at(step.args[1], inputs, scratch), at(step.args[2], inputs, scratch)};
    step.run(ptrs, n, nullptr);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) outputs[i] = at(outputs_[i], inputs, scratch);
}

TreeRun::TreeRun(const ReduceBody& body, const BodyProgram& combine)
    : combine_(combine), lanes_count_(body.lanes()) {
  const Type first = body.state_types[0];
  fold_ = combine.single() == Op::Input ? nullptr : find_fold(combine.single(), first);
  size_t bytes = 0;
  for (Type type : body.state_types) {
    sizes_.push_back(type_size(type));
    offsets_.push_back(bytes);
    bytes += rounded(static_cast<size_t>(lanes_count_) * type_size(type));
  }
  identity_.resize(bytes);
  scratch_.resize(combine.scratch_bytes());
  combine.prepare(scratch_.data());
  for (size_t s = 0; s < sizes_.size(); ++s) {
    const Node& node = body.graph.node(body.identity[s]);
    for (int l = 0; l < lanes_count_; ++l)
      write_constant(node.type, node.bits, identity_.data() + offsets_[s] + l * sizes_[s]);
  }
  lanes_ = identity_;
}

void TreeRun::combine_into(char* const* left, char* const* right, int64_t n) {
  const size_t states = sizes_.size();
  char* inputs[16];
  char* outputs[8];
  for (size_t s = 0; s < states; ++s) inputs[s] = left[s], inputs[states + s] = right[s];
  combine_.run(inputs, n, scratch_.data(), outputs);
  for (size_t s = 0; s < states; ++s)
    if (outputs[s] != left[s]) std::memmove(left[s], outputs[s], n * sizes_[s]);
}

void TreeRun::add(char* const* states, int64_t n) {
  const size_t count = sizes_.size();
  for (int64_t done = 0; done < n;) {
    if (position_ == kReduceChunk) close_chunk();
    const int64_t room = std::min(n - done, kReduceChunk - position_);
    const int64_t first = position_ % lanes_count_;
    int64_t taken = std::min<int64_t>(lanes_count_ - first, room);
    char *left[8], *right[8];
    for (size_t s = 0; s < count; ++s) {
      left[s] = lane(s, first);
      right[s] = states[s] + done * sizes_[s];
    }
    if (first == 0 && fold_ && room >= lanes_count_) {
      const int64_t rows = room / lanes_count_;
      fold_(left[0], right[0], rows, lanes_count_);
      taken = rows * lanes_count_;
    } else {
      combine_into(left, right, taken);
    }
    position_ += taken;
    done += taken;
  }
}

// The lanes as a tree, then the cascade of equal-sized neighbours.
void TreeRun::close_chunk() {
  const size_t count = sizes_.size();
  char *left[8], *right[8];
  for (int half = lanes_count_ / 2; half > 0; half /= 2) {
    for (size_t s = 0; s < count; ++s) left[s] = lane(s, 0), right[s] = lane(s, half);
    combine_into(left, right, half);
  }
  std::vector<char> value(count * 16);
  for (size_t s = 0; s < count; ++s) std::memcpy(value.data() + 16 * s, lane(s, 0), sizes_[s]);
  size_t depth = 0;
  for (int64_t bits = chunks_; bits & 1; bits >>= 1, ++depth) {
    for (size_t s = 0; s < count; ++s)
      left[s] = levels_[depth].data() + 16 * s, right[s] = value.data() + 16 * s;
    combine_into(left, right, 1);
    value = levels_[depth];
  }
  if (levels_.size() <= depth) levels_.resize(depth + 1);
  levels_[depth] = std::move(value);
  ++chunks_;
  position_ = 0;
  lanes_ = identity_;
}

void TreeRun::finish(char** results) {
  if (position_ > 0 || chunks_ == 0) close_chunk();
  const size_t count = sizes_.size();
  size_t depth = 0;
  while (!((chunks_ >> depth) & 1)) ++depth;
  std::vector<char> value = levels_[depth];
  for (++depth; (chunks_ >> depth) != 0; ++depth) {
    if (!((chunks_ >> depth) & 1)) continue;
    char *left[8], *right[8];
    std::vector<char> larger = levels_[depth];
    for (size_t s = 0; s < count; ++s)
      left[s] = larger.data() + 16 * s, right[s] = value.data() + 16 * s;
    combine_into(left, right, 1);
    value = std::move(larger);
  }
  for (size_t s = 0; s < count; ++s) std::memcpy(results[s], value.data() + 16 * s, sizes_[s]);
}

}  // namespace taeda::kernel
