// Packages in files, and their runs.
#include "taeda/inductor/package.h"

#include <atomic>
#include <chrono>

#include "taeda/autograd/grad_level.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/base/isa.h"
#include "taeda/base/log.h"
#include "taeda/core/default_dtype.h"
#include "taeda/export/dict_reader.h"
#include "taeda/export/size_symbols.h"
#include "taeda/fx/text.h"
#include "taeda/inductor/compiled_export.h"
#include "taeda/kernel/native/compile_queue.h"
#include "taeda/kernel/native/sha256.h"
#include "taeda/kernel/print.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/spec.h"

namespace taeda::inductor {
namespace {

using exported::ArgumentKind;
using exported::DictReader;
using exported::ExportedProgram;
using exported::InputKind;
using fx::Arg;
using serialization::ZipReader;
using serialization::ZipWriter;

// 2: tells the default dtype, which was float32 before.
constexpr int64_t kPackageVersion = 2, kOldestVersion = 1;
constexpr const char* kIndex = "package";
#if defined(__x86_64__)
constexpr const char* kMachine = "x86_64";
#elif defined(__aarch64__)
constexpr const char* kMachine = "aarch64";
#endif

// An object of a package.
struct PackedObject {
  std::string machine;
  int64_t isa;
  std::string source, checksum;  // hashes of what it was made from, and of itself
};

struct PackageIndex {
  DType default_dtype = DType::Float;  // Note [Settings of packages]
  std::map<std::string, int64_t> hints;
  Metadata metadata;
  std::vector<PackedObject> objects;
};

std::string object_name(size_t number) { return str("kernels/", number); }

// The prelude, most of every source, is hashed once.
std::string source_hash(const std::string& source) {
  static const std::string prelude = kernel::cpu_prelude();
  static const std::string hash = kernel::sha256_hex(prelude);
  TAEDA_INTERNAL_CHECK(source.starts_with(prelude));
  return kernel::sha256_hex(hash + source.substr(prelude.size()));
}

// ---- the index as text ----

Arg dict_of(std::vector<Value> keys, std::vector<Arg> items) {
  return Arg(
      make_intrusive<fx::Compound>(fx::Compound::Kind::Dict, std::move(items), std::move(keys)));
}

template <class Map>
Arg dict_of(const Map& map) {
  std::vector<Arg> items;
  std::vector<Value> keys;
  for (const auto& [key, value] : map) {
    keys.emplace_back(key);
    items.emplace_back(value);
  }
  return dict_of(std::move(keys), std::move(items));
}

std::string to_text(const PackageIndex& index) {
  std::vector<Arg> objects;
  for (const PackedObject& o : index.objects)
    objects.push_back(dict_of({"machine", "isa", "source", "checksum"},
                              {o.machine, o.isa, o.source, o.checksum}));
  return fx::to_text(dict_of({"version", "default_dtype", "hints", "metadata", "objects"},
                             {kPackageVersion, index.default_dtype, dict_of(index.hints),
                              dict_of(index.metadata), Arg::list(std::move(objects))}));
}

PackageIndex read_index(ZipReader& archive) {
  TAEDA_CHECK(archive.find(kIndex), archive.name(),
              " is no package: it has no compiled kernels; write it with aoti_compile_and_package");
  const Arg whole = fx::parse_arg(archive.read_text(kIndex));
  const DictReader dict(whole, "the index of the package");
  const auto version = dict.value<int64_t>("version");
  TAEDA_CHECK(version >= kOldestVersion && version <= kPackageVersion, archive.name(),
              " is a package of version ", version, ", supported are versions ", kOldestVersion,
              " to ", kPackageVersion);
  PackageIndex index;
  index.default_dtype = dict.value_or("default_dtype", index.default_dtype);
  TAEDA_CHECK(is_floating(index.default_dtype) && !is_float8(index.default_dtype), archive.name(),
              " has the default dtype ", index.default_dtype, ", which is none");
  DictReader(dict.get("hints"), "the hints of the package")
      .for_each<int64_t>([&](const std::string& key, int64_t v) { index.hints[key] = v; });
  DictReader(dict.get("metadata"), "the metadata of the package")
      .for_each<std::string>(
          [&](const std::string& key, std::string v) { index.metadata[key] = std::move(v); });
  for (const Arg& a : dict.list("objects")) {
    const DictReader object(a, "an object of the package");
    index.objects.push_back({object.value<std::string>("machine"), object.value<int64_t>("isa"),
                             object.value<std::string>("source"),
                             object.value<std::string>("checksum")});
  }
  return index;
}

// ---- kernels ----

// The program as it will be when it is loaded, so that its plans are those of the package.
ExportedProgram reread(const ExportedProgram& program) {
  exported::ProgramParts parts = program.parts();
  exported::SizeSymbols symbols(parts.signature.ranges);
  parts.graph = fx::parse_graph(fx::to_text(*parts.graph), symbols);
  parts.examples.clear();
  return ExportedProgram(std::move(parts));
}

// Objects by the hash of their source, each read once.
class PackedKernels {
 public:
  PackedKernels(ZipReader& archive, const std::vector<PackedObject>& objects) {
    for (size_t i = 0; i < objects.size(); ++i) {
      const PackedObject& object = objects[i];
      const std::string bytes = archive.read_bytes(object_name(i));
      TAEDA_CHECK(kernel::sha256_hex(bytes) == object.checksum, archive.name(), ": the object ",
                  object_name(i), " is damaged: its checksum is not that of the index");
      if (object.machine != kMachine || object.isa > isa_level() || object.isa < 0)
        problem_ = str("its kernels are for ", object.machine, " with instruction set ", object.isa,
                       ", this machine is ", kMachine, " with ", isa_level());
      else
        take(archive, object, object_name(i), bytes);
    }
  }

  std::shared_ptr<kernel::NativeModule> find(const std::string& source) {
    const auto found = modules_.find(source_hash(source));
    if (found != modules_.end()) return found->second;
    if (problem_.empty()) problem_ = "its kernels were made by another version of the library";
    return nullptr;
  }
  const std::string& problem() const { return problem_; }

 private:
  void take(const ZipReader& archive, const PackedObject& object, const std::string& name,
            const std::string& bytes) {
    const std::string fault = kernel::object_problem(bytes);
    TAEDA_CHECK(fault.empty(), archive.name(), ": the object ", name, " is none: ", fault);
    try {
      modules_[object.source] = kernel::NativeModule::load(bytes);
    } catch (const Error& error) {  // a C library that is older than the one it was made with
      problem_ = error.what();
    }
  }

  std::map<std::string, std::shared_ptr<kernel::NativeModule>> modules_;
  std::string problem_;
};

}  // namespace

// ---- writing ----

void save_package(const ExportedProgram& program, const std::vector<Value>& examples,
                  const std::string& path, const Metadata& metadata,
                  const std::function<void()>& on_wait) {
  save_package(program, examples, serialization::open_file_sink(path), metadata, on_wait);
}

void save_package(const ExportedProgram& program, const std::vector<Value>& examples,
                  std::unique_ptr<serialization::Sink> sink, const Metadata& metadata,
                  const std::function<void()>& on_wait) {
  const ExportedProgram own = reread(program);
  PackageIndex index;
  index.default_dtype = default_dtype();
  index.metadata = metadata;
  const std::vector<int64_t> values = own.checks().check(examples);
  for (size_t i = 0; i < values.size(); ++i)
    index.hints[own.checks().symbols()[i]->name] = values[i];
  const CompiledExport compiled = compile_exported(own, index.hints);
  std::vector<std::shared_future<std::string>> objects;
  for (const auto& plan : compiled.plans)
    for (const std::string& source : plan->native_sources()) {
      objects.push_back(kernel::CompileQueue::shared().submit(source));
      index.objects.push_back({kMachine, isa_level(), source_hash(source), ""});
    }
  constexpr std::chrono::milliseconds kPause(50);
  for (const auto& object : objects)
    while (object.wait_for(kPause) != std::future_status::ready)
      if (on_wait) on_wait();
  ZipWriter archive(std::move(sink));
  own.save(archive);
  for (size_t i = 0; i < objects.size(); ++i) {
    const std::string& bytes = objects[i].get();
    index.objects[i].checksum = kernel::sha256_hex(bytes);
    archive.add(object_name(i), bytes);
  }
  archive.add(kIndex, to_text(index));
  archive.finish();
}

// ---- running ----

struct Package::State {
  State(ExportedProgram given, PackageIndex its_index, CompiledExport form, std::string why)
      : program(std::move(given)),
        index(std::move(its_index)),
        compiled(std::move(form)),
        problem(std::move(why)) {}

  ExportedProgram program;
  PackageIndex index;
  CompiledExport compiled;
  std::string problem;
  std::atomic<int64_t> interpreted_runs{0};
};

Package Package::load(const std::string& path) {
  return load(serialization::open_file_source(path));
}

Package Package::load(std::unique_ptr<serialization::Source> source) {
  const autograd::InferenceMode off(false);  // its tensors serve runs in any mode
  ZipReader archive(std::move(source));
  ExportedProgram program = ExportedProgram::load(archive);
  PackageIndex index = read_index(archive);
  const WithDefaultDType settled(index.default_dtype);
  PackedKernels kernels(archive, index.objects);
  CompiledExport compiled = compile_exported(program, index.hints);
  for (const auto& plan : compiled.plans)
    plan->take_native([&](const std::string& text) { return kernels.find(text); });
  return Package(std::make_shared<State>(std::move(program), std::move(index), std::move(compiled),
                                         kernels.problem()));
}

std::vector<Value> Package::run(const std::vector<Value>& inputs) {
  const autograd::NoGrad no_grad;
  const WithDefaultDType settled(state_->index.default_dtype);
  const ExcludeKeys without_casts(Key::Autocast);
  const std::vector<int64_t> symbols = state_->program.checks().check(inputs);
  std::optional<std::vector<Value>> results =
      state_->compiled.run(state_->program, inputs, symbols);
  if (results) return *std::move(results);
  state_->interpreted_runs.fetch_add(1, std::memory_order_relaxed);
  return state_->program.run(inputs);
}

std::vector<Tensor> Package::operator()(const std::vector<Tensor>& inputs) {
  std::vector<Value> values;
  size_t next = 0;
  for (const exported::InputSpec& spec : program().signature().inputs) {
    if (spec.kind != InputKind::UserInput) continue;
    if (spec.argument == ArgumentKind::Constant)
      values.push_back(spec.value.constant());
    else if (next < inputs.size())
      values.emplace_back(inputs[next++]);
  }
  while (next < inputs.size()) values.emplace_back(inputs[next++]);
  std::vector<Tensor> results;
  for (const Value& v : run(values))
    if (v.is<Tensor>()) results.push_back(v.get<Tensor>());
  return results;
}

void Package::load_constants(const std::map<std::string, Tensor>& tensors, bool is_full) {
  const std::map<std::string, Tensor>& state = program().parts().state;
  for (const auto& [name, given] : tensors) {
    const auto found = state.find(name);
    TAEDA_CHECK(found != state.end(), "The constant ", name, " is not found in the package");
    const Tensor& own = found->second;
    TAEDA_CHECK(given.defined() && given.dtype() == own.dtype() && given.sizes() == own.sizes(),
                "the constant ", name, " is a tensor of ", own.dtype(), " and sizes ", own.sizes(),
                "; got ", given.defined() ? str(given.dtype(), " and ", given.sizes()) : "none");
  }
  // As in PyTorch a full update gives all parameters; callers have the rest from a state_dict,
  // which lacks constants and buffers that are not persistent.
  std::string kept;
  if (is_full)
    for (const exported::InputSpec& spec : program().signature().inputs) {
      if (spec.kind == InputKind::UserInput || tensors.count(spec.target)) continue;
      const bool is_needed = spec.kind == InputKind::Parameter && state.at(spec.target).numel() > 0;
      TAEDA_CHECK(!is_needed, "Cannot find constants ", spec.target,
                  " in constants_map!; a full update gives all parameters");
      kept += str(kept.empty() ? "" : ", ", spec.target);
    }
  const autograd::NoGrad no_grad;
  // A copy from elsewhere may fail; within the memory of the processor none does.
  std::map<std::string, Tensor> near = tensors;
  for (auto& [name, given] : near)
    if (given.keys() != dense_keys(state.at(name)))
      given = taeda::empty_like(state.at(name)).copy_(given);
  for (const auto& [name, given] : near) Tensor(state.at(name)).copy_(given);
  if (!kept.empty())
    warn(str("a full update did not give ", kept, ", which the package keeps as they were"));
}

const ExportedProgram& Package::program() const { return state_->program; }
const Metadata& Package::metadata() const { return state_->index.metadata; }
const std::vector<std::shared_ptr<CompiledGraph>>& Package::plans() const {
  return state_->compiled.plans;
}
const std::string& Package::problem() const { return state_->problem; }
int64_t Package::interpreted_runs() const { return state_->interpreted_runs.load(); }

}  // namespace taeda::inductor
