// Flows and cuts.
#include "taeda/aot/min_cut.h"

#include <algorithm>

namespace taeda::aot {

void MinCut::add_edge(int from, int to, int64_t capacity) {
  edges_.push_back({to, first_[from], capacity});
  first_[from] = static_cast<int>(edges_.size()) - 1;
  edges_.push_back({from, first_[to], 0});
  first_[to] = static_cast<int>(edges_.size()) - 1;
}

bool MinCut::find_levels(int source, int sink) {
  level_.assign(first_.size(), -1);
  level_[source] = 0;
  std::vector<int> queue{source};
  for (size_t i = 0; i < queue.size(); ++i)
    for (int e = first_[queue[i]]; e >= 0; e = edges_[e].next)
      if (edges_[e].capacity > 0 && level_[edges_[e].to] < 0) {
        level_[edges_[e].to] = level_[queue[i]] + 1;
        queue.push_back(edges_[e].to);
      }
  return level_[sink] >= 0;
}

// One path from source to sink along the levels, without recursion: graphs may be long chains.
int64_t MinCut::push(int source, int sink) {
  std::vector<int> path;
  for (int at = source; at != sink;) {
    int& e = current_[at];
    while (e >= 0 && !(edges_[e].capacity > 0 && level_[edges_[e].to] == level_[at] + 1))
      e = edges_[e].next;
    if (e >= 0) {
      path.push_back(e);
      at = edges_[e].to;
      continue;
    }
    if (path.empty()) return 0;
    level_[at] = -1;
    at = edges_[path.back() ^ 1].to;
    path.pop_back();
  }
  int64_t flow = kUncut;
  for (int e : path) flow = std::min(flow, edges_[e].capacity);
  for (int e : path) {
    edges_[e].capacity -= flow;
    edges_[e ^ 1].capacity += flow;
  }
  return flow;
}

std::vector<bool> MinCut::run(int source, int sink) {
  while (is_cut() && find_levels(source, sink)) {
    current_ = first_;
    int64_t pushed = 0;
    while (is_cut() && (pushed = push(source, sink)) > 0) flow_ += pushed;
  }
  // What cannot reach the sink any more lies before the last of the minimum cuts.
  std::vector<bool> is_before(first_.size(), true);
  is_before[sink] = false;
  std::vector<int> queue{sink};
  for (size_t i = 0; i < queue.size(); ++i)
    for (int e = first_[queue[i]]; e >= 0; e = edges_[e].next) {
      const int from = edges_[e].to;
      if (edges_[e ^ 1].capacity == 0 || !is_before[from]) continue;
      is_before[from] = false;
      queue.push_back(from);
    }
  return is_before;
}

}  // namespace taeda::aot
