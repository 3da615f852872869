// What a region changed before it failed, undone: the program then runs it by itself.
//
// Note [Failed regions]: a graph knows neither the handlers of the program nor its writes to
// objects, which are done behind it. Where a call of the graph raises, the region is to leave
// nothing behind: random numbers that were drawn and what the graph wrote to inputs are put back,
// and CPython runs the frames from the region's beginning. The program raises its error then at its
// own line, behind its own effects, and its handlers run.
//
// Programs traced ahead of time write to inputs when everything is computed, and ask before the
// first write whether autograd refuses one, so that a failure leaves them as they were. Others
// write call by call: what they write to is copied before.
//
// A region whose writes to objects have begun is not run again, whatever they raise.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "taeda/autograd/kept_history.h"
#include "taeda/core/generator.h"
#include "taeda/dynamo/capture/entry.h"

namespace taeda::python {

// Made before a region runs.
class Undo {
 public:
  // `values` are those of the entry's sources. Nothing is kept for a region that does not run
  // again.
  Undo(const dynamo::Entry& entry, const std::vector<PyObject*>& values);
  // Behind a run that failed: whether the program is to run the region by itself. The error is
  // forgotten then. Interruptions are no errors of the region: they leave it as if it had not
  // begun.
  bool perform(dynamo::Entry::Run run) const;

 private:
  struct Written {
    Tensor tensor;
    Tensor place;  // its geometry and memory
    Tensor elements;
    uint32_t version;
    void put_back() const;
  };
  void keep(const Tensor& t);
  void put_back() const;

  bool is_repeatable_;
  uint64_t num_failed_packs_;  // before
  std::optional<GeneratorImpl::State> stream_;
  std::vector<std::pair<Ref, Ref>> generators_;  // of Python, with their states
  std::vector<Written> written_;
  std::vector<autograd::KeptHistory> histories_;
};

}  // namespace taeda::python
