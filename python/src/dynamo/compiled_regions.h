// The regions of one compiled function: what was captured, by place, and what to do where nothing
// fits.
#pragma once

#include "python/interop/python.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/src/dynamo/graph_recorder.h"
#include "taeda/autograd/saved_hooks.h"
#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/evaluator/regions.h"

namespace taeda::python {

struct CompileOptions {
  Ref compile;  // (graph, inputs, bodies): a callable, and whether a backend of the program made it
  // (what, text, file, line, instruction, code): told of captures that begin and end, of graphs
  // with their seconds, breaks, recompiles and regions given up.
  Ref report;
  Ref filter;  // of guards, as guards_of() gives them: a list of those to keep, as bools
  // Asked at each capture, because settings change: whether sizes are symbols, None where they
  // changed; and how often a region is compiled.
  Ref dynamic, recompile_limit;
  // The compiled callables whose versions hold for this one, too, or their `versions`: a list.
  // Null: there are none.
  Ref siblings;
  bool shares_history = false;  // what changed in a sibling changes in this one
  bool is_whole = false;        // a break is an error
};

// What compiled functions do where no version fits; PyTorch's names.
enum class Stance : uint8_t {
  Default,
  ForceEager,
  EagerOnRecompile,
  FailOnRecompile,
  EagerThenCompile,
  AotEagerThenCompile,
};
extern Stance stance;
// A version that is alone is taken by the guards of its tensors.
extern bool skips_guards;
// What this thread calls is not compiled for the program around it.
extern thread_local bool is_disabled;
// This thread compiles what will be compiled again at the next call.
extern thread_local bool is_provisional;

// The innermost call of a compiled function on this thread.
struct CompiledCall {
  CompiledCall() : outer(std::exchange(now, this)) {}
  ~CompiledCall() { now = outer; }
  CompiledCall(const CompiledCall&) = delete;

  // What a capture that is to be whole raised, for the caller of a program that did well: the
  // program runs by itself then, and raises the same, or the capture went wrong. Null: nothing.
  Ref error;
  // Hooks of saved tensors around the call. Those that the program sets itself see what a plain
  // run saves: no region begins inside of them.
  const size_t num_saved_hooks = autograd::num_saved_tensor_hooks();
  CompiledCall* outer;
  static thread_local CompiledCall* now;
};

// The program's own function modes and transforms see calls as they are.
bool has_foreign_modes();

class CompiledRegions final : public dynamo::Regions {
 public:
  explicit CompiledRegions(CompileOptions options) : options_(std::move(options)) {}
  const CompileOptions& options() const { return options_; }

  dynamo::RegionRun run(const std::vector<const dynamo::State*>& frames,
                        dynamo::Ending& ending) override;
  std::unique_ptr<dynamo::Capturing> capture(
      const std::vector<const dynamo::State*>& frames) override;
  bool takes_callee(PyFunctionObject* function) const override;
  void give_up(const std::vector<const dynamo::State*>& frames) override;

  // A call that needs no frame: the arguments as the function's frame would hold them. Null
  // without an error where none fits, or where CPython is to run the call.
  PyObject* run_whole(PyFunctionObject* function, PyObject* const* slots, bool& is_failed,
                      bool& is_native);
  void clear() {
    whole_ = {};
    regions_.clear();
  }
  // For the collector: what nobody else holds. What an entry holds belongs to its only region.
  int visit(visitproc visit, void* arg) const;
  // Entries so far.
  size_t num_entries() const;
  // By version: (file, line, guards).
  Ref guards() const;

 private:
  struct Region {
    std::vector<std::shared_ptr<const dynamo::Entry>> entries;
    bool is_native = false;
    bool is_seen = false;         // ran as it is, to be compiled at the next call
    bool is_provisional = false;  // its version is to be compiled again at the call after
    bool is_fresh = false;        // and did not run yet
    History history;
    int num_raised = 0;
    // What the call of a thread found out about its captures so far. Where the program raised while
    // it was captured, the next capture ends before the instruction that did; where that cannot be
    // compiled CPython runs the frames once.
    struct Attempt {
      int64_t break_at = 0;
      std::string break_reason;
      bool is_tried_again = false, is_skipped = false;
    };
    std::map<unsigned long, Attempt> attempts;
    Attempt& attempt() { return attempts[PyThread_get_thread_ident()]; }
    // Whether this thread leaves the region to CPython for once.
    bool take_skip();
    void note_failure(bool is_whole);
    // The one whose guards hold, with the values of its paths. Shared: others may compile, or
    // forget, while it runs.
    std::shared_ptr<const dynamo::Entry> find(PyObject* const* const* slots,
                                              std::vector<PyObject*>& values,
                                              std::vector<dynamo::Owned>& held) const;
  };
  // A version of a sibling whose guards hold; it becomes one of the region's own.
  std::shared_ptr<const dynamo::Entry> adopt(const std::vector<const dynamo::State*>& frames,
                                             Region& region, PyObject* const* const* slots,
                                             std::vector<PyObject*>& values,
                                             std::vector<dynamo::Owned>& held);
  using Place = std::vector<std::pair<PyCodeObject*, int>>;
  static Place place_of(const std::vector<const dynamo::State*>& frames);
  // Raises what is there for the caller.
  bool raises();
  // Whether whoever is told wants an error. What he raises is for the caller.
  bool tell(const char* what, const std::string& text, PyCodeObject* code, int line,
            const std::string& instruction = "");
  Dynamic dynamic() const;
  Py_ssize_t recompile_limit() const;  // -1 with an error
  void keep_codes(const std::vector<const dynamo::State*>& frames);
  static void note_sizes(const dynamo::State& frame, History& history);
  // Takes away guards that the program does not want; false with an error.
  bool filter(dynamo::Entry& entry, const GraphRecorder& recorder);
  // `places` are lines of the program, the innermost last.
  using Places = std::vector<std::pair<PyCodeObject*, int>>;
  void fail_whole(const std::string& reason, const Places& places);
  static Ref unsupported(const std::string& reason, const Places& places);

  friend class ActiveCapture;
  CompileOptions options_;
  std::map<Place, Region> regions_;
  // The region that begins with a call of this code, once one was asked for.
  std::pair<PyCodeObject*, Region*> whole_{};
  std::vector<PyObject*> spare_;  // memory for the values of a call
  std::vector<Ref> codes_;
  std::map<unsigned long, dynamo::EarlyCalls> early_calls_;  // by thread
  // For the callers, at the next boundary, by thread: threads compile one function at once.
  std::map<unsigned long, Ref> errors_;
  Ref& error() { return errors_[PyThread_get_thread_ident()]; }
  bool has_error() const { return errors_.contains(PyThread_get_thread_ident()); }
};

}  // namespace taeda::python
