// The minimum cut of a directed graph with capacities on its edges.
#pragma once

#include <cstdint>
#include <vector>

#include "taeda/base/export.h"

namespace taeda::aot {

// Dinic's algorithm: levels by breadth-first search, then blocking flows.
class TAEDA_API MinCut {
 public:
  static constexpr int64_t kUncut = int64_t{1} << 60;

  explicit MinCut(int num_vertices) : first_(static_cast<size_t>(num_vertices), -1) {}
  void add_edge(int from, int to, int64_t capacity);
  // By vertex: whether it lies on the source's side. Of several minimum cuts it is the one nearest
  // to the sink.
  std::vector<bool> run(int source, int sink);
  // After a run: false where every way to part source and sink goes through an edge of kUncut.
  bool is_cut() const { return flow_ < kUncut; }

 private:
  struct Edge {
    int to, next;
    int64_t capacity;
  };
  bool find_levels(int source, int sink);
  int64_t push(int source, int sink);

  std::vector<Edge> edges_;  // edge i and i ^ 1 are each other's reverse
  std::vector<int> first_, level_, current_;
  int64_t flow_ = 0;
};

}  // namespace taeda::aot
