// Looking for equal kernels.
#include "taeda/inductor/join.h"

#include <algorithm>
#include <map>

namespace taeda::inductor {

namespace {

// The last steps that touched each memory.
class Uses {
 public:
  explicit Uses(const Program& program)
      : program_(program),
        touched_(program.memories.size(), -1),
        written_(program.memories.size(), -1) {}

  // Whether the kernel may run in step `at`, together with what runs there.
  bool can_run(const KernelStep& kernel, int at) const {
    const auto is_before = [at](const std::vector<int>& last) {
      return [at, &last](int memory) { return last[memory] < at; };
    };
    const std::vector<int>&memories = kernel.memories(), &written = kernel.written();
    return barrier_ < at && std::all_of(memories.begin(), memories.end(), is_before(written_)) &&
           std::all_of(written.begin(), written.end(), is_before(touched_));
  }
  void note(const KernelStep& kernel, int at) {
    for (const int memory : kernel.memories()) touched_[memory] = std::max(touched_[memory], at);
    for (const int memory : kernel.written()) written_[memory] = std::max(written_[memory], at);
  }
  // A call: nothing moves past kernels that run inside of it.
  void note(const Group& group, int at) {
    if (group.product >= 0 || !group.operands.empty()) {
      barrier_ = at;
      return;
    }
    const Call& call = *program_.units[group.units[0].unit].call;
    note(call.arguments, at);
    for (const int result : call.results) write(program_.values[result].geometry.memory, at);
  }

 private:
  // An operator may write to its arguments.
  void note(const std::vector<CallArgument>& arguments, int at) {
    for (const CallArgument& argument : arguments) {
      if (argument.tensor >= 0) write(program_.values[argument.tensor].geometry.memory, at);
      note(argument.list, at);
    }
  }
  void write(int memory, int at) {
    if (memory >= 0) touched_[memory] = written_[memory] = at;
  }

  const Program& program_;
  std::vector<int> touched_, written_;
  int barrier_ = -1;
};

void take_groups(Group& group, Group&& other) {
  std::vector<Group> inner = std::move(other.joined);
  other.joined.clear();
  group.joined.push_back(std::move(other));
  std::move(inner.begin(), inner.end(), std::back_inserter(group.joined));
}

std::vector<GroupStep> join_equal(const Program& program, std::vector<GroupStep> steps) {
  std::vector<GroupStep> made;
  Uses uses(program);
  // By time, as values would live longer than they need to, and text.
  std::map<std::pair<int, std::string_view>, int> known;
  for (GroupStep& step : steps) {
    const int next = static_cast<int>(made.size());
    if (step.kernels.empty()) {
      uses.note(step.group, next);
      made.push_back(std::move(step));
      continue;
    }
    KernelStep& kernel = *step.kernels.back();
    const auto [entry, is_new] = known.try_emplace({step.group.time, kernel.form().key()}, next);
    if (!is_new && uses.can_run(kernel, entry->second)) {
      GroupStep& first = made[static_cast<size_t>(entry->second)];
      uses.note(kernel, entry->second);
      first.kernels.back()->join(std::move(kernel));
      take_groups(first.group, std::move(step.group));
      continue;
    }
    uses.note(kernel, next);
    entry->second = next;
    made.push_back(std::move(step));
  }
  return made;
}

// Kernels of one element need no threads: they run in the launch of a neighbour, before it or after
// it as they did.
void share_launches(std::vector<GroupStep>& steps) {
  std::vector<GroupStep> made;
  for (GroupStep& step : steps) {
    GroupStep* before = made.empty() || made.back().kernels.empty() ? nullptr : &made.back();
    const auto has_one = [](const GroupStep& s) {
      return s.kernels[s.own]->form().has_one_element();
    };
    if (!before || step.kernels.empty() || !(has_one(*before) || has_one(step))) {
      made.push_back(std::move(step));
      continue;
    }
    if (has_one(*before)) {
      before->own = before->kernels.size() + step.own;
      std::swap(before->group, step.group);
    }
    std::move(step.kernels.begin(), step.kernels.end(), std::back_inserter(before->kernels));
    take_groups(before->group, std::move(step.group));
  }
  steps = std::move(made);
}

}  // namespace

void join_kernels(const Program& program, std::vector<GroupStep>& steps) {
  steps = join_equal(program, std::move(steps));
  share_launches(steps);
}

}  // namespace taeda::inductor
