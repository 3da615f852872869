// Looking for products that may run earlier, beside another one.
#include "taeda/inductor/product_families.h"

#include <algorithm>
#include <unordered_map>

namespace taeda::inductor {

namespace {

// Memories that a step reads and writes.
struct Touched {
  std::vector<int> read, written;
};

class Families {
 public:
  Families(const Program& program, const std::vector<Group>& groups, std::deque<PlanStep>& steps)
      : program_(program),
        groups_(groups),
        steps_(steps),
        read_(program.memories.size(), -1),
        written_(program.memories.size(), -1) {}

  void run() {
    // By time, as values would live longer than they need to: the first product of each.
    std::unordered_map<int, int> firsts;
    for (size_t s = 0; s < steps_.size(); ++s) {
      const int at = static_cast<int>(s);
      const Touched touched = touched_by(steps_[s]);
      if (is_matrix_product(steps_[s])) {
        const auto [entry, is_first] = firsts.try_emplace(groups_[s].time, at);
        if (!is_first && may_run_at(touched, entry->second)) {
          steps_[static_cast<size_t>(entry->second)].family.push_back(s);
          steps_[s].leader = entry->second;
          note(touched, entry->second);
          continue;
        }
        entry->second = at;
      }
      note(touched, at);
    }
  }

 private:
  static bool is_matrix_product(const PlanStep& step) {
    return step.call && step.call->product && !step.call->product->has_channels;
  }

  int memory_of(int value) const { return program_.values[value].geometry.memory; }

  void add_arguments(const std::vector<CallArgument>& arguments, std::vector<int>& to) const {
    for (const CallArgument& argument : arguments) {
      if (argument.tensor >= 0) to.push_back(memory_of(argument.tensor));
      add_arguments(argument.list, to);
    }
  }

  Touched touched_by(const PlanStep& step) const {
    Touched touched;
    step.for_each_kernel([&](const KernelStep& kernel) {
      touched.read.insert(touched.read.end(), kernel.memories().begin(), kernel.memories().end());
      touched.written.insert(touched.written.end(), kernel.written().begin(),
                             kernel.written().end());
    });
    for (const OperandStep& operand : step.operands) touched.written.push_back(operand.memory);
    if (step.call) {
      // Other operators may write to their arguments.
      add_arguments(step.call->call->arguments,
                    step.call->product ? touched.read : touched.written);
      for (const int result : step.call->call->results)
        touched.written.push_back(memory_of(result));
    }
    return touched;
  }

  // Whether the step may run together with what runs at that place.
  bool may_run_at(const Touched& touched, int at) const {
    const auto is_before = [at](const std::vector<int>& last) {
      return [at, &last](int memory) { return memory < 0 || last[memory] < at; };
    };
    return std::all_of(touched.read.begin(), touched.read.end(), is_before(written_)) &&
           std::all_of(touched.written.begin(), touched.written.end(), is_before(written_)) &&
           std::all_of(touched.written.begin(), touched.written.end(), is_before(read_));
  }

  void note(const Touched& touched, int at) {
    for (const int memory : touched.read)
      if (memory >= 0) read_[memory] = std::max(read_[memory], at);
    for (const int memory : touched.written)
      if (memory >= 0) written_[memory] = std::max(written_[memory], at);
  }

  const Program& program_;
  const std::vector<Group>& groups_;
  std::deque<PlanStep>& steps_;
  std::vector<int> read_, written_;  // the last steps to do so, by memory
};

}  // namespace

void find_families(const Program& program, const std::vector<Group>& groups,
                   std::deque<PlanStep>& steps) {
  Families(program, groups, steps).run();
}

}  // namespace taeda::inductor
