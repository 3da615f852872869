// Small files of each format, made in memory.
#pragma once

#include <sstream>
#include <string>

#include "taeda/ops/functions.h"
#include "taeda/serialization/archive.h"
#include "taeda/serialization/checkpoint_archive.h"
#include "taeda/serialization/pickle/opcodes.h"
#include "taeda/serialization/pickle/pickler.h"
#include "taeda/serialization/safetensors.h"

namespace taeda::serialization {

inline Tensor sample_tensor() { return arange(12).to(DType::Float).view({3, 4}); }

inline std::string sample_checkpoint() {
  using List = dispatch::Value::List;
  const Tensor base = sample_tensor();
  const auto items = std::make_shared<List>(List{base,
                                                 base.select(0, 1),
                                                 ones({2}, DType::UInt16),
                                                 int64_t{5},
                                                 int64_t{1} << 40,
                                                 0.5,
                                                 true,
                                                 {},
                                                 "text",
                                                 std::vector<int64_t>{1, 2},
                                                 std::vector<Tensor>{base.t()}});
  const std::vector<char> bytes = pickle_save(items);
  return {bytes.begin(), bytes.end()};
}

inline std::string sample_pickle() {
  const std::string bytes = sample_checkpoint();
  return CheckpointReader(open_memory_source(bytes)).read_bytes(kPickleEntry);
}

// A checkpoint with this pickle and the storages of sample_checkpoint.
inline std::string archive_around(const std::string& pickle) {
  static const auto* storages = [] {
    const std::string bytes = sample_checkpoint();
    CheckpointReader reader(open_memory_source(bytes));
    auto* out = new std::vector<std::pair<std::string, std::string>>;
    for (const std::string& name : reader.names())
      if (name.starts_with("data/")) out->emplace_back(name, reader.read_bytes(name));
    return out;
  }();
  std::string out;
  CheckpointWriter writer(open_memory_sink(out), "archive");
  writer.add(kPickleEntry, pickle);
  for (const auto& [name, data] : *storages) writer.add(name, data);
  writer.finish();
  return out;
}

inline std::string sample_script_archive() {
  OutputArchive inner, outer;
  inner.write("weight", sample_tensor().requires_grad_());
  inner.write("running", ones({3}), /*is_buffer=*/true);
  inner.write("step", dispatch::Value(int64_t{7}));
  outer.write("weight", sample_tensor());
  outer.write("0", inner);
  std::stringstream stream;
  outer.save_to(stream);
  return stream.str();
}

// The stream that PyTorch wrote before its archives.
inline std::string sample_stream() {
  const auto text = [](const std::string& s) {
    const auto size = static_cast<uint32_t>(s.size());
    return "X" + std::string(reinterpret_cast<const char*>(&size), 4) + s;
  };
  const std::string start("\x80\x02", 2);
  std::string out = start + "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
  out += start + std::string("M\xe9\x03.");
  out += start + "}" + text("little_endian") + "\x88s.";
  // {"x": a tensor of 2 by 3 numbers over the storage "17"}
  out += start + "}" + text("x") + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
         "ctorch\nFloatStorage\n" + text("17") + text("cpu") + "K\x06NtQ" +
         std::string("K\x00(K\x02K\x03t(K\x03K\x01t\x89", 15) + "ccollections\nOrderedDict\n)RtRs.";
  out += start + "]" + text("17") + "a.";
  const int64_t count = 6;
  out.append(reinterpret_cast<const char*>(&count), sizeof count);
  const float numbers[] = {0, 1, 2, 3, 4, 5};
  out.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
  return out;
}

inline std::string sample_safetensors() {
  std::string out;
  write_safetensors(
      *open_memory_sink(out),
      {{"weight", sample_tensor()}, {"flags", ones({3}, DType::Bool)}, {"n", ones({})}},
      {{"format", "pt"}});
  return out;
}

}  // namespace taeda::serialization
