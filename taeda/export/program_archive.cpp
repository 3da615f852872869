// Exported programs as archives.
#include <charconv>

#include "taeda/autograd/variable.h"
#include "taeda/export/exported_program.h"
#include "taeda/export/size_symbols.h"
#include "taeda/fx/text.h"

namespace taeda::exported {
namespace {

using serialization::NamedTensor;
using serialization::ZipReader;
using serialization::ZipWriter;

constexpr std::string_view kFormat = "taeda exported program ";
constexpr std::string_view kState = "state/", kExample = "example/";
constexpr std::string_view kNotes = "notes/", kExtra = "extra/";

void check_format(ZipReader& archive) {
  TAEDA_CHECK(archive.find("format"), archive.name(), " is an archive, but no exported program");
  const std::string text = archive.read_text("format");
  TAEDA_CHECK(text.starts_with(kFormat), archive.name(), " is an archive, but no exported program");
  int64_t version = 0;
  const char* last = text.data() + text.size();
  const auto r = std::from_chars(text.data() + kFormat.size(), last, version);
  TAEDA_CHECK(r.ec == std::errc() && r.ptr == last, archive.name(), " has no version: \"", text,
              "\"");
  TAEDA_CHECK(version >= kOldestVersion && version <= kFormatVersion, archive.name(),
              " is of format version ", version, ", supported are versions ", kOldestVersion,
              " to ", kFormatVersion);
}

std::vector<NamedTensor> named_tensors(const ProgramParts& parts) {
  std::vector<NamedTensor> out;
  for (const auto& [name, t] : parts.state)
    out.push_back({str(kState, name), t, autograd::requires_grad(t)});
  for (size_t i = 0; i < parts.examples.size(); ++i) {
    const Tensor& t = parts.examples[i];
    out.push_back({str(kExample, i), t, autograd::requires_grad(t)});
  }
  return out;
}

void take_tensor(ProgramParts& parts, NamedTensor named) {
  if (named.requires_grad) autograd::set_requires_grad(named.tensor, true);
  if (named.name.starts_with(kState)) {
    parts.state.emplace(named.name.substr(kState.size()), std::move(named.tensor));
    return;
  }
  TAEDA_CHECK(named.name == str(kExample, parts.examples.size()),
              "the exported program has an unknown tensor ", named.name);
  parts.examples.push_back(std::move(named.tensor));
}

void take_files(ProgramParts& parts, ZipReader& archive) {
  for (const serialization::ZipEntry& e : archive.entries()) {
    if (e.name.starts_with(kNotes))
      parts.notes.emplace(e.name.substr(kNotes.size()), archive.read_text(e.name));
    if (e.name.starts_with(kExtra))
      parts.extra_files.emplace(e.name.substr(kExtra.size()), archive.read_bytes(e.name));
  }
}

}  // namespace

void ExportedProgram::save(const std::string& path) const {
  save(serialization::open_file_sink(path));
}

void ExportedProgram::save(std::unique_ptr<serialization::Sink> sink) const {
  ZipWriter archive(std::move(sink));
  save(archive);
  archive.finish();
}

void ExportedProgram::save(ZipWriter& archive) const {
  archive.add("format", str(kFormat, kFormatVersion));
  archive.add("graph", fx::to_text(*parts_.graph));
  archive.add("signature", to_text(parts_.signature));
  serialization::write_tensors(archive, named_tensors(parts_));
  for (const auto& [name, text] : parts_.notes) archive.add(str(kNotes, name), text);
  for (const auto& [name, text] : parts_.extra_files) archive.add(str(kExtra, name), text);
}

ExportedProgram ExportedProgram::load(const std::string& path) {
  return load(serialization::open_file_source(path));
}

ExportedProgram ExportedProgram::load(std::unique_ptr<serialization::Source> source) {
  ZipReader archive(std::move(source));
  return load(archive);
}

ExportedProgram ExportedProgram::load(ZipReader& archive) {
  check_format(archive);
  ProgramParts parts;
  parts.signature = parse_signature(archive.read_text("signature"));
  SizeSymbols symbols(parts.signature.ranges);
  parts.graph = fx::parse_graph(archive.read_text("graph"), symbols);
  for (NamedTensor& t : serialization::read_tensors(archive)) take_tensor(parts, std::move(t));
  take_files(parts, archive);
  return ExportedProgram(std::move(parts));
}

}  // namespace taeda::exported
