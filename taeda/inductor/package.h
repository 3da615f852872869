// Packages: exported programs with their kernels, which run where there is no compiler.
//
//   save_package(program, {x}, "model.pt2");
//   Package package = Package::load("model.pt2");
//   std::vector<Value> results = package.run({x});
//
// Note [Packages]: a package is the archive of an exported program (export/exported_program.h)
// with two more kinds of entries:
//
//   package        version, values of the program's symbols, metadata, and of each object: machine,
//                  instruction set, hash of the source that it was made from, hash of itself
//   kernels/0 ...  the objects
//
// Plans are not written down: they are made anew when the package is loaded, which takes
// milliseconds, and take from the file what needs a compiler. An object is used where the plan has
// its very source, on a machine with its instruction set; other kernels are interpreted, with the
// same results. So a package outlives the version of the library that wrote it.
//
// Note [Settings of packages]: operators ask the process for the default dtype. What a package
// computes was settled when it was written, so the file has it, and loading and runs have it in
// force. Autocast outside changes no run; casts that the program makes are part of its graph.
#pragma once

#include <functional>

#include "taeda/export/exported_program.h"
#include "taeda/inductor/plan.h"

namespace taeda::inductor {

using Metadata = std::map<std::string, std::string>;

// Compiles the program's kernels for this machine and writes both; the file is complete or not
// there. `examples`: inputs of the caller that the program takes. `on_wait` is called now and then
// while compilers run, and what it throws ends the call. RuntimeError where a kernel cannot be
// compiled.
TAEDA_API void save_package(const exported::ExportedProgram& program,
                            const std::vector<Value>& examples, const std::string& path,
                            const Metadata& metadata = {},
                            const std::function<void()>& on_wait = nullptr);
TAEDA_API void save_package(const exported::ExportedProgram& program,
                            const std::vector<Value>& examples,
                            std::unique_ptr<serialization::Sink> sink,
                            const Metadata& metadata = {},
                            const std::function<void()>& on_wait = nullptr);

// Copies share the program and its plans. Several threads may run a program that writes to no
// buffers at once.
class TAEDA_API Package {
 public:
  // RuntimeError that names the reason for files that are damaged, truncated, of another format or
  // a newer version. Objects are code: load packages of those whom you trust.
  static Package load(const std::string& path);
  static Package load(std::unique_ptr<serialization::Source> source);

  // Takes the inputs of the caller and gives the results, as ExportedProgram::run does; nothing is
  // recorded for gradients.
  std::vector<Value> run(const std::vector<Value>& inputs);
  // The same for tensors alone: what else the program takes is a constant of it, and results that
  // are no tensors are left out.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs);

  // Copies tensors into parameters, buffers and constants by their names. RuntimeError, and nothing
  // changed, for an unknown name, another dtype or other sizes, and where `is_full` for a parameter
  // that is not given. Buffers and constants that are not given are kept, which a warning tells.
  void load_constants(const std::map<std::string, Tensor>& tensors, bool is_full);

  const exported::ExportedProgram& program() const;
  const Metadata& metadata() const;
  const std::vector<std::shared_ptr<CompiledGraph>>& plans() const;
  // Why kernels of the package are not used; empty where all of them are.
  const std::string& problem() const;
  // Runs of inputs that the plans are not made for: Note [Guards of exported programs].
  int64_t interpreted_runs() const;

 private:
  struct State;
  explicit Package(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace taeda::inductor
