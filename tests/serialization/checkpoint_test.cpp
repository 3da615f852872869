// Checkpoints without Python: values, sharing, archives, and the machine's refusals.
#include "taeda/serialization/checkpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "taeda/ops/functions.h"
#include "taeda/serialization/archive.h"
#include "taeda/serialization/pickle/byte_reader.h"
#include "taeda/serialization/pickle/globals.h"
#include "tests/serialization/samples.h"

namespace taeda::serialization {
namespace {

PickleValue loaded(const std::string& bytes) { return load_checkpoint(open_memory_source(bytes)); }

std::string error_of_pickle(const std::string& pickle) {
  try {
    loaded(archive_around(pickle));
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Checkpoint, ReadsWhatItWrote) {
  const PickleValue value = loaded(sample_checkpoint());
  ASSERT_TRUE(value.is(PickleKind::Tuple));
  ASSERT_EQ(value.size(), 11u);
  const Tensor base = value.at(0).to_tensor(), row = value.at(1).to_tensor();
  EXPECT_TRUE(equal(base, sample_tensor()));
  EXPECT_EQ(base.storage().get(), row.storage().get());
  EXPECT_EQ(row.storage_offset(), 4);
  EXPECT_EQ(value.at(2).to_tensor().dtype(), DType::UInt16);
  EXPECT_EQ(value.at(3).to_int(), 5);
  EXPECT_EQ(value.at(4).to_int(), int64_t{1} << 40);
  EXPECT_EQ(value.at(5).to_double(), 0.5);
  EXPECT_TRUE(value.at(6).to_bool());
  EXPECT_TRUE(value.at(7).is_none());
  EXPECT_EQ(value.at(8).to_text(), "text");
  EXPECT_EQ(value.at(9).at(1).to_int(), 2);
  EXPECT_EQ(value.at(10).at(0).to_tensor().stride(0), 1);
}

TEST(Checkpoint, ReadsTheOlderStream) {
  const PickleValue value = loaded(sample_stream());
  const Tensor x = value.find("x")->to_tensor();
  EXPECT_EQ(x.sizes(), (IntList{2, 3}));
  EXPECT_EQ(x.sum().item<float>(), 15);
  EXPECT_FALSE(value.find("y").has_value());
}

TEST(Checkpoint, MapsFiles) {
  const auto path = std::filesystem::temp_directory_path() / str("taeda_map_", ::getpid());
  const std::string bytes = sample_checkpoint();
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<int64_t>(bytes.size()));
  {
    const PickleValue value = load_checkpoint(path.string(), {.is_mapped = true});
    Tensor base = value.at(0).to_tensor();
    EXPECT_EQ(base.storage_offset(), 0);
    base.fill_(1);  // stays in this process
    EXPECT_EQ(value.at(1).to_tensor().sum().item<float>(), 4);
  }
  EXPECT_TRUE(equal(load_checkpoint(path.string()).at(0).to_tensor(), sample_tensor()));
  std::filesystem::remove(path);
}

TEST(Checkpoint, ValuesOfOtherKindsAreNamed) {
  const PickleValue value = loaded(sample_checkpoint());
  try {
    value.at(3).to_tensor();
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "the pickle has an int where a tensor is expected");
  }
  EXPECT_THROW(value.at(11), Error);
  EXPECT_THROW(value.find("x"), Error);
}

TEST(Checkpoint, RefusesWhatItDoesNotKnow) {
  const std::string start("\x80\x02", 2);
  const std::pair<std::string, const char*> cases[] = {
      {"cposix\nsystem\nX\x02\0\0\0ls\x85R.", "GLOBAL posix.system was not an allowed global"},
      {"cbuiltins\neval\n.", "GLOBAL builtins.eval"},
      {"K\x01)R.", "call reduce for unrecognized function"},
      {"]K\x01K\x02s.", "Can only SETITEM for dict"},
      {"}K\x01"
       "a.",
       "Can only append to lists"},
      {"K\x01Q.", "persistent_load id must be tuple"},
      {"K\x01\x85Q.", "Only persistent_load of storage"},
      {".", "the pickle is damaged: it uses an object that is not there (before byte "},
      {"K", "Ran out of input"},
      {"\x95.", "Unsupported operand 149"},
      {"ctorch._utils\n_rebuild_tensor_v2\n)R.", "is called with 0 arguments"},
      {"ctorch\ndevice\nK\x01\x85R.", "argument 0 of torch.device is an int, expected a text"},
  };
  for (const auto& [pickle, message] : cases)
    EXPECT_NE(error_of_pickle(start + pickle).find(message), std::string::npos)
        << pickle << ": " << error_of_pickle(start + pickle);
}

TEST(Checkpoint, DeepAndCircularPicklesAreDropped) {
  const std::string start("\x80\x02", 2);
  EXPECT_NE(error_of_pickle(start + "N" + std::string(1000000, '\x85') + ".").find("nests more"),
            std::string::npos);
  // l0 = [], l1 = [], l0.append(l1), ...: each list goes into the one before it.
  std::string chain = start + "]q" + std::string(1, '\0');
  for (int i = 0; i < 200000; ++i)
    chain += std::string("]q\x01h\0h\x01", 7) + std::string("a0h\x01q\0", 6);
  EXPECT_NE(error_of_pickle(chain + "."), "");  // POP is no instruction of these pickles
  EXPECT_EQ(error_of_pickle(start + std::string("]q\0h\0a.", 8)), "");  // a list that holds itself
}

TEST(Archive, NamesOfAnyKind) {
  OutputArchive inner, outer;
  inner.write("class", ones({1}));
  inner.write("a b", dispatch::Value(std::vector<double>{0.5}));
  outer.write("0", inner);
  outer.write("text", dispatch::Value("v"));
  std::stringstream stream;
  outer.save_to(stream);
  InputArchive archive, nested;
  archive.load_from(stream);
  EXPECT_EQ(archive.keys(), (std::vector<std::string>{"0", "text"}));
  archive.read("0", nested);
  dispatch::Value value;
  nested.read("a b", value);
  EXPECT_EQ((*value.get<std::shared_ptr<dispatch::Value::List>>())[0].to_double(), 0.5);
  Tensor tensor;
  nested.read("class", tensor);
  try {
    nested.read("none", tensor);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "No such serialized tensor '0.none'");
  }
}

TEST(Archive, ReadsStateDicts) {
  // {"layer.weight": tensor}, as Python saves it
  const std::string stream = sample_stream();
  const size_t at = stream.find(std::string("X\x01\0\0\0x", 6));
  std::string named = stream;
  named.replace(at, 6, std::string("X\x07\0\0\0layer.x", 12));
  InputArchive archive, layer;
  archive.load_from(named.data(), named.size());
  EXPECT_EQ(archive.keys(), std::vector<std::string>{"layer"});
  archive.read("layer", layer);
  Tensor x;
  layer.read("x", x);
  EXPECT_EQ(x.numel(), 6);
}

TEST(Globals, AreFoundAndMoved) {
  std::string pickle = "\x80\x02(ctaeda.nn\nLinear\nctaedas\nx\n" +
                       std::string("X\x08\0\0\0taeda.nn", 13) + "ct\ny\nt.";
  EXPECT_EQ(globals_in_pickle(pickle),
            (std::vector<std::string>{"taeda.nn.Linear", "taedas.x", "t.y"}));
  move_globals(pickle, "taeda", "torch");
  EXPECT_EQ(globals_in_pickle(pickle)[0], "torch.nn.Linear");
  EXPECT_NE(pickle.find("X\x08"), std::string::npos);
  EXPECT_NE(pickle.find("taeda.nnct"), std::string::npos);
  EXPECT_THROW(globals_in_pickle("X"), PickleError);
}

}  // namespace
}  // namespace taeda::serialization
