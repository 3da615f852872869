// Signatures to text and back.
#include "taeda/export/signature.h"

#include "taeda/export/dict_reader.h"
#include "taeda/fx/text.h"

namespace taeda::exported {
namespace {

constexpr const char* kInputKinds[] = {"user_input", "parameter", "buffer", "constant_tensor"};
constexpr const char* kOutputKinds[] = {"user_output", "buffer_mutation", "user_input_mutation",
                                        "parameter_mutation"};
constexpr const char* kArgumentKinds[] = {"tensor", "sym_int", "constant", "sym_float", "sym_bool"};
constexpr const char* kDialects[] = {"TRAINING", "ATEN"};

using fx::Arg;
using fx::Compound;
using fx::Value;

class DictWriter {
 public:
  template <class T>
  DictWriter& set(const char* key, T&& value) {
    keys_.emplace_back(std::string(key));
    values_.emplace_back(std::forward<T>(value));
    return *this;
  }
  std::string text() {
    return fx::to_text(
        Arg(make_intrusive<Compound>(Compound::Kind::Dict, std::move(values_), std::move(keys_))));
  }

 private:
  std::vector<Value> keys_;
  std::vector<Arg> values_;
};

template <class Spec>
DictWriter written(const Spec& spec) {
  DictWriter out;
  out.set("kind", std::string(kind_name(spec.kind)))
      .set("argument", std::string(kind_name(spec.argument)))
      .set("name", spec.name);
  if (!spec.target.empty()) out.set("target", spec.target);
  if (spec.argument == ArgumentKind::Constant) out.set("value", spec.value);
  return out;
}
std::string line(const InputSpec& spec) {
  DictWriter out = written(spec);
  if (spec.kind == InputKind::Buffer) out.set("persistent", spec.is_persistent);
  return out.text();
}
std::string line(const OutputSpec& spec) { return written(spec).text(); }
std::string line(const std::pair<std::string, SizeRange>& range) {
  DictWriter out;
  out.set("symbol", range.first).set("low", range.second.low);
  if (range.second.high != SizeRange::kUnbounded) out.set("high", range.second.high);
  if (range.second.assumed_low > range.second.low) out.set("assumed", range.second.assumed_low);
  return out.text();
}

std::string line(const std::string& condition) { return fx::to_text(Arg(condition)); }

template <class T>
std::string lines(const char* key, const std::vector<T>& items) {
  std::string out = str("\"", key, "\": [\n");
  for (const T& item : items) out += line(item) + ",\n";
  return out + "],\n";
}

// ---- reading ----
InputSpec read_input(const Arg& arg) {
  const DictReader dict(arg, "an input of the signature");
  InputSpec spec;
  spec.kind = dict.kind<InputKind>("kind", kInputKinds);
  spec.argument = dict.kind<ArgumentKind>("argument", kArgumentKinds);
  spec.name = dict.value<std::string>("name");
  spec.target = dict.value_or<std::string>("target", "");
  spec.is_persistent = dict.value_or<bool>("persistent", true);
  if (spec.argument == ArgumentKind::Constant) spec.value = dict.get("value");
  return spec;
}

OutputSpec read_output(const Arg& arg) {
  const DictReader dict(arg, "an output of the signature");
  OutputSpec spec;
  spec.kind = dict.kind<OutputKind>("kind", kOutputKinds);
  spec.argument = dict.kind<ArgumentKind>("argument", kArgumentKinds);
  spec.name = dict.value<std::string>("name");
  spec.target = dict.value_or<std::string>("target", "");
  if (spec.argument == ArgumentKind::Constant) spec.value = dict.get("value");
  return spec;
}

}  // namespace

const char* kind_name(InputKind kind) { return kInputKinds[static_cast<int>(kind)]; }
const char* kind_name(OutputKind kind) { return kOutputKinds[static_cast<int>(kind)]; }
const char* kind_name(ArgumentKind kind) { return kArgumentKinds[static_cast<int>(kind)]; }

std::string to_text(const Signature& signature) {
  return "{\n" + lines("inputs", signature.inputs) + lines("outputs", signature.outputs) +
         lines("ranges", signature.ranges) + lines("conditions", signature.conditions) +
         str("\"dialect\": \"", kDialects[static_cast<int>(signature.dialect)], "\",\n}\n");
}

Signature parse_signature(std::string_view text) { return read_signature(fx::parse_arg(text)); }

Signature read_signature(const Arg& whole) {
  const DictReader dict(whole, "the signature");
  Signature signature;
  for (const Arg& a : dict.list("inputs")) signature.inputs.push_back(read_input(a));
  for (const Arg& a : dict.list("outputs")) signature.outputs.push_back(read_output(a));
  for (const Arg& a : dict.list("ranges")) {
    const DictReader range(a, "a range of the signature");
    signature.ranges.emplace_back(range.value<std::string>("symbol"),
                                  SizeRange{range.value<int64_t>("low"),
                                            range.value_or<int64_t>("high", SizeRange::kUnbounded),
                                            range.value_or<int64_t>("assumed", 0)});
  }
  for (const Arg& a : dict.list("conditions")) {
    TAEDA_CHECK(a.is_constant() && a.constant().is<std::string>(),
                "cannot read the signature: a condition is no text");
    signature.conditions.push_back(a.constant().get<std::string>());
  }
  // Files of version 1 have none.
  if (dict.find("dialect")) signature.dialect = dict.kind<Dialect>("dialect", kDialects);
  return signature;
}

}  // namespace taeda::exported
