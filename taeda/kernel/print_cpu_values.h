// Values and stores of a kernel as text of the CPU dialect.
//
// Note [Values along a vector]. Inside of an axis that is bound to a vector, a value is a vector
// where it moves with the axis and a scalar elsewhere; scalars are spread where a vector needs
// them. Loads read neighbours at once where the index moves by one, lane by lane where it moves
// otherwise. An index that turns, at quotients or where an extremum has another operand, is looked
// at before: most vectors lie between two turns, where neighbours follow each other. Several
// vectors are printed side by side, so that their operations overlap; the last ones run through the
// same text with one vector and a smaller `count`.
//
// Note [Functions apart]. Functions of math.h are taken into the kernel where they are called, so
// that their constants stay in registers. The time of a compiler grows faster than a function's
// length, so a kernel that calls many has each of them once, for itself, and its values pass
// through memory around a call, which costs little beside what a call does:
//
//   const td_f32 v2 = td_sin(v1);   ->   const td_f32 v2 = kernel0_td_sin(v1);
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "taeda/kernel/ir/kernel.h"
#include "taeda/kernel/print_expression.h"

namespace taeda::kernel {

// Where a value is computed: along which vector, if any.
struct CpuPlace {
  const Expr* var = nullptr;
  Lanes lanes = Lanes::One;
  bool is_tail = false;  // `count` lanes exist
  int copies = 1;        // vectors side by side
  int first = 0;         // number of the first of them
  std::set<int> wide_states = {};
  std::set<NodeId> fixed = {};  // nodes that are defined before the loop along the vector

  bool is_wide() const { return lanes != Lanes::One; }
  std::string count() const { return is_tail ? "count" : lane_count(lanes); }
  // One of the vectors side by side.
  CpuPlace single(int copy) const {
    CpuPlace place = *this;
    place.copies = 1;
    place.first = first + copy;
    return place;
  }
};

class CpuValues {
 public:
  explicit CpuValues(const Kernel& kernel);
  // The functions that stand apart, before the kernel: Note [Functions apart].
  std::string functions_text() const;

  // The definitions of all nodes under some roots, and their spelling.
  struct Defined {
    NamedNodes names;
    std::set<NodeId> wide;
    CpuPlace place;
    std::string text;
  };
  Defined define(const std::vector<NodeId>& roots, const CpuPlace& place,
                 const std::string& indent) const;
  // Nodes that are the same along the vector, where some of them read memory that the loop does not
  // write: a compiler cannot know that. Their definitions stand before the loop.
  std::set<NodeId> fixed_nodes(const std::vector<NodeId>& roots, const std::set<int>& written,
                               const CpuPlace& place) const;
  // With a guard, memory is read where it holds.
  std::string define_fixed(const std::vector<NodeId>& roots, const CpuPlace& place,
                           const std::string& indent, const std::string& guard = "") const;
  std::vector<std::string> fixed_names(const std::vector<NodeId>& roots,
                                       const CpuPlace& place) const;
  // A value as its user wants it: one, or a vector.
  std::string spelled(const Defined& values, NodeId id, Lanes lanes, int copy = 0) const;
  std::string store(const Defined& values, const Store& store, const std::string& indent) const;
  // Vectors side by side that pay for a loop: none where lanes are handled one by one.
  int useful_copies(const std::vector<NodeId>& roots, const std::vector<const Expr*>& stores,
                    const CpuPlace& place) const;

  static std::string name(const Expr* symbol) { return "x_" + symbol->name; }
  // The name of one of the vectors side by side.
  static std::string copy_name(const std::string& name, int copy) {
    return copy ? name + "_" + std::to_string(copy) : name;
  }
  static std::string index(const Expr* at);

 private:
  bool moves(const Expr* at, const CpuPlace& place, const std::set<NodeId>& wide) const;
  std::set<NodeId> wide_nodes(const std::vector<NodeId>& order, const CpuPlace& place) const;
  const Expr* vector_stride(const Defined& values, const Expr* at) const;
  // An index between two of its turns.
  struct Piece {
    const Expr* stride = nullptr;  // null where there are no turns, or short pieces between them
    std::string is_inside;         // whether all lanes of a vector are in one
  };
  Piece piece_of(const Defined& values, const Expr* at, int copy) const;
  Piece piece_of(const Defined& values, const Expr* at, int copy,
                 const symbolic::Replacements& kept) const;
  Piece piece_of_quotient(const Defined& values, const Expr* at, const Expr* turn, int copy,
                          symbolic::Replacements kept) const;
  Piece piece_of_extremum(const Defined& values, const Expr* at, const Expr* turn, int copy,
                          const symbolic::Replacements& kept) const;
  std::string copy_index(const Defined& values, const Expr* at, int copy,
                         const char* lane = "") const;
  std::string value(const Defined& values, const Node& node, Lanes lanes, int copy) const;
  std::string load(const Defined& values, const Node& node, Lanes lanes, int copy) const;
  std::string load_lane(const Defined& values, const Node& node, int copy) const;
  std::string load_lanes(const Defined& values, const Node& node, Lanes lanes, int copy) const;
  std::string index_value(const Defined& values, const Node& node, Lanes lanes, int copy) const;
  std::string random_row(const Defined& values, const Node& node, Lanes lanes, int copy,
                         const char* rows) const;
  std::string random_rows(const Defined& values, const Node& node, Lanes lanes) const;
  std::string random(const Defined& values, const Node& node, Lanes lanes, int copy) const;
  std::string indirect(const Defined& values, const Indirect& one, bool is_wide, int copy,
                       const std::string& indent) const;
  std::string store_lanes(const Defined& values, const Store& store, int copy) const;
  std::string write(const Store& store, const std::string& at, std::string value) const;

  const Kernel& kernel_;
  const ExprGraph& graph_;
  ExprPool& pool_;
  std::string apart_;  // the beginning of the names of functions that stand apart
  std::set<Op> long_ops_;
  std::map<std::string, bool> draws_;  // with a template argument or without
};

}  // namespace taeda::kernel
