// Where writes to inputs stand among groups: Note [Writes to inputs] in program.h.
#pragma once

#include <unordered_map>

#include "taeda/inductor/fuse.h"

namespace taeda::inductor {

class InputWrites {
 public:
  explicit InputWrites(const Program& program);

  // Groups so far that read what the unit writes.
  const std::vector<int>& readers(const Unit& unit) const;
  // Whether a unit that is computed at `at` may join group `g`, whose axes are replaced: elements
  // that the group writes to inputs are read there nowhere but where they are written.
  bool can_join(const Unit& unit, const Place& at, int g, const Group& group,
                const symbolic::Replacements& replaced) const;
  // Notes the last unit of a group.
  void note(int unit, int g, const Group& group);
  // Units that read what is overwritten before.
  std::vector<int> misplaced() { return std::move(misplaced_); }

 private:
  struct State {
    const Geometry* geometry;  // of the input
    std::vector<int> readers;  // groups
    int group = -1, unit = -1;
  };
  // The write to the memory that is read; null where there is none.
  const State* write_to(const Read& read) const;
  // Whether each read of what is written is at this element.
  bool reads_at(const Unit& unit, const Place& at, const State& write, const Expr* element) const;

  const Program& program_;
  std::unordered_map<int, State> writes_;                  // by memory
  std::unordered_map<int, const TensorValue*> in_memory_;  // by definition: parts of inputs
  std::vector<int> misplaced_;
};

}  // namespace taeda::inductor
