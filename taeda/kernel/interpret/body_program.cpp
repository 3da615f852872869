// Bodies as primitives in the order of their DAG.
#include "taeda/kernel/interpret/body_program.h"

#include <cstring>
#include <unordered_map>

#include "taeda/base/error.h"

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
  for (NodeId root : roots) {
    outputs_.push_back(places.at(root));
    output_sizes_.push_back(type_size(graph.node(root).type));
  }
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

void BodyProgram::run_into(char* const* inputs, int64_t n, char* scratch,
                           char* const* targets) const {
  if (steps_.size() == 1 && outputs_.size() == 1 && steps_[0].run && outputs_[0] < 0) {
    const Step& step = steps_[0];
    char* ptrs[4] = {targets[0], at(step.args[0], inputs, scratch),
                     at(step.args[1], inputs, scratch), at(step.args[2], inputs, scratch)};
    return step.run(ptrs, n, nullptr);
  }
  char* results[8];
  run(inputs, n, scratch, results);
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (results[i] != targets[i]) std::memmove(targets[i], results[i], n * output_sizes_[i]);
}

}  // namespace taeda::kernel
