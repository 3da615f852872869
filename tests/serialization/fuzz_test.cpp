// Mutated files: every reader gives a value or an error that names a byte, soon and in little
// memory.
//
// TAEDA_FUZZ_ROUNDS sets how many mutations each format gets.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>
#include <sstream>

#include "taeda/core/allocator.h"
#include "taeda/ops/functions.h"
#include "taeda/serialization/archive.h"
#include "taeda/serialization/checkpoint.h"
#include "taeda/serialization/checkpoint_archive.h"
#include "taeda/serialization/pickle/globals.h"
#include "taeda/serialization/pickle/unpickler.h"
#include "taeda/serialization/safetensors.h"
#include "tests/serialization/samples.h"

namespace taeda::serialization {
namespace {

int64_t rounds() {
  const char* text = std::getenv("TAEDA_FUZZ_ROUNDS");
  return text ? std::atoll(text) : 2000;
}

// One to four changes of any kind.
std::string mutated(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](size_t n) {
    return static_cast<size_t>(random() % std::max<size_t>(n, 1));
  };
  for (size_t change = 0, count = 1 + below(4); change < count && !bytes.empty(); ++change) {
    const size_t at = below(bytes.size());
    switch (below(8)) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 2: bytes[at] = "\x00\x01\x7f\x80\xff"[below(5)]; break;
      case 3: bytes.resize(at); break;
      case 4: bytes.erase(at, below(16)); break;
      case 5: bytes.insert(at, bytes.substr(below(bytes.size()), below(32))); break;
      case 6: {
        const uint64_t number = uint64_t{1} << below(64);
        const size_t width = std::min<size_t>(size_t{1} << below(4), bytes.size() - at);
        bytes.replace(at, width, reinterpret_cast<const char*>(&number), width);
        break;
      }
      default: {
        const std::string piece = bytes.substr(below(bytes.size()), below(24));
        bytes.replace(at, std::min(piece.size(), bytes.size() - at), piece);
      }
    }
  }
  return bytes;
}

bool names_a_byte(std::string_view message) {
  constexpr std::string_view kWord = "byte ";
  for (size_t at = message.find(kWord); at != message.npos; at = message.find(kWord, at + 1))
    if (at + kWord.size() < message.size() && std::isdigit(message[at + kWord.size()])) return true;
  return false;
}

using Read = std::function<void(const std::string&)>;

void fuzz(const std::string& good, const Read& read, uint64_t seed) {
  read(good);
  std::mt19937_64 random(seed);
  cpu_allocator().reset_peak_stats();
  const int64_t before = cpu_allocator().stats().allocated_bytes;
  int64_t accepted = 0;
  for (int64_t round = 0, n = rounds(); round < n; ++round) {
    const std::string bytes = mutated(good, random);
    const auto start = std::chrono::steady_clock::now();
    try {
      read(bytes);
      ++accepted;
    } catch (const Error& e) {
      EXPECT_NE(e.kind(), ErrorKind::OutOfMemory) << "round " << round << ": " << e.what();
      EXPECT_NE(e.kind(), ErrorKind::Internal) << "round " << round << ": " << e.what();
      EXPECT_TRUE(names_a_byte(e.message())) << "round " << round << ": " << e.what();
    } catch (const std::exception& e) {
      ADD_FAILURE() << "round " << round << " of seed " << seed << ": " << e.what();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << round;
  }
  EXPECT_LT(accepted, rounds());
  EXPECT_LT(cpu_allocator().stats().allocated_peak - before, int64_t{64} << 20);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 4 << 20) << "KiB resident";
}

void read_checkpoint(const std::string& bytes) { load_checkpoint(open_memory_source(bytes)); }

TEST(Fuzz, Archives) { fuzz(sample_checkpoint(), &read_checkpoint, 1); }
TEST(Fuzz, Streams) { fuzz(sample_stream(), &read_checkpoint, 2); }

TEST(Fuzz, ScriptArchives) {
  fuzz(
      sample_script_archive(),
      [](const std::string& bytes) {
        InputArchive archive;
        archive.load_from(bytes.data(), bytes.size());
        Tensor tensor;
        archive.try_read("weight", tensor);
        for (const std::string& key : archive.keys()) {
          InputArchive nested;
          if (archive.try_read(key, nested)) nested.keys();
        }
      },
      3);
}

// Only the pickle is damaged, and every checksum is right.
TEST(Fuzz, PicklesInsideArchives) {
  fuzz(
      sample_pickle(), [](const std::string& pickle) { read_checkpoint(archive_around(pickle)); },
      4);
}

TEST(Fuzz, NamesInPickles) {
  fuzz(
      sample_pickle(),
      [](const std::string& pickle) {
        std::string bytes = pickle;
        globals_in_pickle(bytes);
        move_globals(bytes, "torch", "taeda");
      },
      5);
}

TEST(Fuzz, Safetensors) {
  fuzz(
      sample_safetensors(),
      [](const std::string& bytes) {
        SafetensorsReader reader(open_memory_source(bytes));
        for (const SafetensorsEntry& entry : reader.entries()) reader.read(entry);
      },
      6);
}

}  // namespace
}  // namespace taeda::serialization
