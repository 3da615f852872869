// ExportedProgram: a model without the language it was written in.
//
//   auto program = taeda::exported::ExportedProgram::load("model.pt2");
//   std::vector<taeda::fx::Value> results = program.run({x});
//
// The archive has these entries (see taeda/serialization):
//
//   format       "taeda exported program" and the version
//   graph        the closed graph, in the text form of taeda/fx/text.h
//   signature    see signature.h
//   tensors, data/...   parameters, buffers and constants as state/<name>, examples as example/<i>
//   notes/...    what another language keeps beside it, such as the structure of arguments
//   extra/...    the user's own files
#pragma once

#include <map>

#include "taeda/export/input_checks.h"
#include "taeda/export/signature.h"
#include "taeda/fx/graph.h"
#include "taeda/fx/interpreter.h"
#include "taeda/serialization/tensor_archive.h"

namespace taeda::exported {

using fx::Value;

// 2: signatures tell the dialect of the graph, which may write.
constexpr int64_t kFormatVersion = 2, kOldestVersion = 1;

struct ProgramParts {
  IntrusivePtr<fx::Graph> graph;
  Signature signature;
  // Parameters, buffers and constants by their names in the module.
  std::map<std::string, Tensor> state;
  // Tensors of the inputs the program was traced with; may be empty.
  std::vector<Tensor> examples;
  std::map<std::string, std::string> notes, extra_files;
};

class TAEDA_API ExportedProgram {
 public:
  // RuntimeError that names the fault: a graph that is not closed, writes although its dialect is
  // Aten or does not fit the signature, state that is missing.
  explicit ExportedProgram(ProgramParts parts);

  // RuntimeError for files that are damaged, truncated, of another format or a newer version.
  static ExportedProgram load(const std::string& path);
  static ExportedProgram load(std::unique_ptr<serialization::Source> source);
  // From an archive that may hold other things beside it.
  static ExportedProgram load(serialization::ZipReader& archive);
  void save(const std::string& path) const;
  void save(std::unique_ptr<serialization::Sink> sink) const;
  // Adds its entries.
  void save(serialization::ZipWriter& archive) const;

  // Checks the caller's inputs (input_checks.h), runs the graph, which may write to buffers and
  // inputs, writes back those new values of them that are results and gives the results, nested
  // ones flat, as the signature lists them. Gradients are recorded where the mode says so.
  std::vector<Value> run(const std::vector<Value>& inputs);
  // The same by another form of the graph, on inputs that were checked.
  using Runner = FunctionRef<std::vector<Value>(std::vector<Value> all_inputs)>;
  std::vector<Value> run_by(const std::vector<Value>& inputs, Runner runner);

  const fx::Graph& graph() const { return *parts_.graph; }
  const Signature& signature() const { return parts_.signature; }
  const ProgramParts& parts() const { return parts_; }
  const InputChecks& checks() const { return checks_; }
  // A parameter, buffer or constant; KeyError for other names.
  const Tensor& tensor(const std::string& name) const;
  // The inputs of the graph, given those of the caller.
  std::vector<Value> all_inputs(const std::vector<Value>& inputs) const;

 private:
  void write_back(const OutputSpec& spec, const Value& value, const std::vector<Value>& inputs);

  ProgramParts parts_;
  InputChecks checks_;
  fx::Plan plan_;
};

// The checks of the constructor.
TAEDA_API void validate(const ProgramParts& parts);

}  // namespace taeda::exported
