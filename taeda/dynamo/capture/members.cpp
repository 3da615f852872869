// Members of sets: what are two objects at the capture must be two at other calls.
//
// A set that grows object by object, as the one by which parameters() tells those that it gave, has
// one guard per class of its members, not one per pair.
#include <algorithm>

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

void Capture::note_member_of(PyObject* set, PyObject* value) {
  const Outside* outside = find(value);
  if (outside == nullptr) return;
  Members::Group& group = members_of_sets_[set].groups[Py_TYPE(value)];
  if (!group.objects.insert(value).second) return;
  group.is_unknown |= outside->source < 0;
  if (group.objects.size() < 2) return;
  if (group.is_unknown) throw Break{"the identity of what only a run knows"};
  std::vector<int> added{outside->source};
  if (group.check < 0) {
    group.check = static_cast<int>(guards_.checks.size());
    check(Check::Kind::AllDistinct, outside->source, nullptr,
          static_cast<int64_t>(guards_.groups.size()));
    guards_.groups.emplace_back();
    added.clear();
    for (PyObject* object : group.objects) added.push_back(find(object)->source);
    std::sort(added.begin(), added.end());
  }
  Check& guard = guards_.checks[static_cast<size_t>(group.check)];
  std::vector<int>& sources = guards_.groups[static_cast<size_t>(guard.number)];
  sources.insert(sources.end(), added.begin(), added.end());
  guard.source = std::max(guard.source, added.back());
}

void Capture::check_member(PyObject* set, PyObject* value) {
  if (find(value) == nullptr) return;
  Members& members = members_of_sets_[set];
  if (members.size < 0) keep(set);
  if (members.size != PySet_GET_SIZE(set)) {
    Owned all(need(PySequence_List(set)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all.get()); ++i)
      note_member_of(set, PyList_GET_ITEM(all.get(), i));
  }
  note_member_of(set, value);
}

// Behind a call that added one value all members are those that are noted; behind other writes
// nothing is known.
void Capture::note_size(const Call& call, CallKind kind) {
  if (call.values.empty()) return;
  if (kind != CallKind::Adds) return forget_size(call.values[0]);
  const auto known = members_of_sets_.find(call.values[0]);
  if (known != members_of_sets_.end()) known->second.size = PySet_GET_SIZE(call.values[0]);
}

void Capture::forget_size(PyObject* set) {
  const auto known = members_of_sets_.find(set);
  if (known != members_of_sets_.end()) known->second.size = 0;
}

}  // namespace taeda::dynamo
