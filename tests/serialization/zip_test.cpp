// Archives: round trips, alignment, and files that lie.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "taeda/base/error.h"
#include "taeda/serialization/crc32.h"
#include "taeda/serialization/utf8.h"
#include "taeda/serialization/zip.h"

namespace taeda::serialization {
namespace {

std::string archive_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out;
  ZipWriter writer(open_memory_sink(out));
  for (const auto& [name, data] : entries) writer.add(name, data);
  writer.finish();
  return out;
}

std::string error_of(const std::string& bytes) {
  try {
    ZipReader reader(open_memory_source(bytes));
    for (const ZipEntry& e : reader.entries()) reader.read_bytes(e.name);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Runtime) << e.what();
    return e.what();
  }
  return "";
}

// Replaces the first (or last) occurrence; lengths agree.
std::string patched(std::string bytes, const std::string& from, const std::string& to,
                    bool is_last = false) {
  const size_t at = is_last ? bytes.rfind(from) : bytes.find(from);
  EXPECT_NE(at, std::string::npos);
  return bytes.replace(at, from.size(), to);
}

TEST(Crc32, KnownValues) {
  EXPECT_EQ(crc32c(0, "123456789", 9), 0xE3069283u);
  EXPECT_EQ(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xE3069283u);
  EXPECT_EQ(crc32(0, "", 0), 0u);
  EXPECT_EQ(crc32(0, "123456789", 9), 0xCBF43926u);
  EXPECT_EQ(crc32(crc32(0, "1234", 4), "56789", 5), 0xCBF43926u);
}

// Bit by bit, as the polynomial says.
uint32_t plain_crc32(const std::string& bytes) {
  uint32_t c = ~0u;
  for (const char b : bytes) {
    c ^= static_cast<uint8_t>(b);
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0xEDB88320u : 0);
  }
  return ~c;
}

TEST(Crc32, EveryLengthAndPlace) {
  std::mt19937 random(3);
  std::string bytes(700, '\0');
  for (char& b : bytes) b = static_cast<char>(random());
  for (size_t size = 0; size < 600; ++size) {
    const size_t at = size % 17;
    EXPECT_EQ(crc32(0, bytes.data() + at, size), plain_crc32(bytes.substr(at, size))) << size;
    const uint32_t first = crc32(0, bytes.data(), at);
    EXPECT_EQ(crc32(first, bytes.data() + at, size), plain_crc32(bytes.substr(0, at + size)));
  }
}

TEST(Utf8, TellsTextFromBytes) {
  for (const char* text : {"", "plain", "\u00e4\u677e\u660e", "\U0001F525"})
    EXPECT_TRUE(is_utf8(text));
  for (const char* bytes :
       {"\xd8", "\xc3(", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe6\x9d"})
    EXPECT_FALSE(is_utf8(bytes)) << bytes;
}

TEST(Zip, ReadsWhatItWrote) {
  const std::string big(100000, 'x');
  const std::string bytes = archive_of({{"a", "hello"}, {"folder/b", big}, {"empty", ""}});
  ZipReader reader(open_memory_source(bytes));
  ASSERT_EQ(reader.entries().size(), 3u);
  EXPECT_EQ(reader.read_text("a"), "hello");
  EXPECT_EQ(reader.read_text("folder/b"), big);
  EXPECT_EQ(reader.read_text("empty"), "");
  EXPECT_EQ(reader.find("c"), nullptr);
}

TEST(Zip, DataIsAligned) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (size_t i = 0; i < 70; ++i)
    entries.emplace_back(std::string(i + 1, 'n'), std::string(i, 'd'));
  const std::string bytes = archive_of(entries);
  ZipReader reader(open_memory_source(bytes));
  for (const ZipEntry& e : reader.entries()) EXPECT_EQ(e.data % ZipWriter::kAlignment, 0u);
}

TEST(Zip, ManyEntriesTakeTheWideDirectory) {
  std::string bytes;
  ZipWriter writer(open_memory_sink(bytes));
  for (int i = 0; i < 70000; ++i) writer.add(std::to_string(i), "");
  writer.finish();
  ZipReader reader(open_memory_source(bytes));
  EXPECT_EQ(reader.entries().size(), 70000u);
  EXPECT_NE(reader.find("69999"), nullptr);
}

TEST(Zip, WriterRefusesNames) {
  std::string out;
  ZipWriter writer(open_memory_sink(out));
  writer.add("a", "");
  for (const char* name : {"a", "", "/a", "../a", "a/../b", "a/..", "a\\b", "c:/a", "a\nb"})
    EXPECT_THROW(writer.add(name, ""), Error) << name;
  writer.add("..a/b..", "");
}

TEST(Zip, RefusesWhatIsNoArchive) {
  EXPECT_NE(error_of("").find("no archive or a truncated one"), std::string::npos);
  EXPECT_NE(error_of(std::string(1000, 'x')).find("no archive"), std::string::npos);
}

TEST(Zip, EveryTruncationIsNamed) {
  const std::string bytes = archive_of({{"a", "hello"}, {"b", std::string(300, 'x')}});
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_NE(error_of(bytes.substr(0, n)).find("truncated"), std::string::npos) << n;
}

TEST(Zip, DamagedDataFailsItsChecksum) {
  const std::string bytes = patched(archive_of({{"a", "hello"}}), "hello", "jello");
  EXPECT_NE(error_of(bytes).find("the checksum of a"), std::string::npos);
}

TEST(Zip, RefusesDuplicateAndHostileNames) {
  const std::string good = archive_of({{"name1", "x"}, {"name2", "y"}});
  std::string twice = patched(patched(good, "name2", "name1"), "name2", "name1", true);
  EXPECT_NE(error_of(twice).find("name1 is there twice"), std::string::npos);
  std::string outside = patched(patched(good, "name2", "../xx"), "name2", "../xx", true);
  EXPECT_NE(error_of(outside).find("through .."), std::string::npos);
  std::string other = patched(good, "name2", "name3");
  EXPECT_NE(error_of(other).find("another name"), std::string::npos);
}

// The directory's record of an entry, in which numbers are replaced.
std::string with_number(std::string bytes, const std::string& name, size_t field, uint32_t value) {
  const size_t record = bytes.rfind(name) - 46;
  return bytes.replace(record + field, 4, reinterpret_cast<const char*>(&value), 4);
}

TEST(Zip, RefusesSizesAndPlacesThatDoNotFit) {
  const std::string good = archive_of({{"name1", "xxxxx"}, {"name2", "yyyyy"}});
  const std::string huge =
      with_number(with_number(good, "name1", 20, 0x7FFFFFFF), "name1", 24, 0x7FFFFFFF);
  EXPECT_NE(error_of(huge).find("more than the file has"), std::string::npos);
  EXPECT_NE(error_of(with_number(good, "name1", 24, 6)).find("cannot make"), std::string::npos);
  const std::string overlapping = with_number(with_number(good, "name1", 20, 40), "name1", 24, 40);
  EXPECT_NE(error_of(overlapping).find("overlap"), std::string::npos);
  EXPECT_NE(error_of(with_number(good, "name1", 42, 0x7FFFFFFF)), "");
}

TEST(Zip, FlippedBytesNeverCrash) {
  const std::string good = archive_of({{"a", "hello"}, {"b/c", std::string(200, 'x')}, {"d", ""}});
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int k = 0; k < 1 + round % 3; ++k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 5 == 0) bytes.resize(random() % bytes.size());
    error_of(bytes);
  }
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / str("taeda_zip_", ::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const char* name) const { return (path_ / name).string(); }
  size_t count() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

TEST(FileSink, AppearsWhenItIsFinished) {
  const Folder folder;
  const std::string path = folder.file("a.zip");
  std::ofstream(path) << "what was there";
  {
    ZipWriter writer(open_file_sink(path));
    writer.add("a", "new");
    EXPECT_EQ(folder.count(), 2u);
  }
  EXPECT_EQ(folder.count(), 1u);
  std::string kept;
  std::getline(std::ifstream(path), kept);
  EXPECT_EQ(kept, "what was there");
  {
    ZipWriter writer(open_file_sink(path));
    writer.add("a", "new");
    writer.finish();
  }
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_EQ(ZipReader(open_file_source(path)).read_text("a"), "new");
}

TEST(FileSink, SaysWhyItCannotWrite) {
  try {
    open_file_sink("/nowhere/a.zip");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "cannot write /nowhere/a.zip: No such file or directory");
  }
  EXPECT_THROW(open_file_sink("/dev"), Error);
  EXPECT_THROW(open_file_source("/dev"), Error);
}

TEST(FileSink, WritesToDevicesAsTheyAre) {
  auto nothing = open_file_sink("/dev/null");
  nothing->write("abc", 3);
  nothing->finish();
  auto full = open_file_sink("/dev/full");
  try {
    full->write("abc", 3);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "cannot write /dev/full: No space left on device");
  }
}

TEST(FileSink, GapsAreZeros) {
  const Folder folder;
  auto sink = open_file_sink(folder.file("a"));
  sink->write("x", 1);
  sink->skip(5000);
  sink->finish();
  std::ifstream file(folder.file("a"), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(bytes, "x" + std::string(5000, '\0'));
}

TEST(Zip, GapsAndFilesWithoutChecksumsAreRead) {
  std::string bytes;
  ZipWriter writer(open_memory_sink(bytes), {.alignment = 4096, .has_checksums = false});
  writer.add("a", "hello");
  writer.add_gap("b", 100);
  writer.finish();
  ZipReader reader(open_memory_source(bytes));
  EXPECT_EQ(reader.get("a").data % 4096, 0u);
  EXPECT_EQ(reader.get("a").crc, 0u);
  EXPECT_EQ(reader.read_text("a"), "hello");
  EXPECT_EQ(reader.read_bytes("b"), std::string(100, '\0'));
}

TEST(Zip, PlacesOfEntriesCanBeComputed) {
  const std::string bytes = archive_of({{"a", "hello"}, {"folder/b", std::string(100, 'x')}});
  ZipReader reader(open_memory_source(bytes));
  uint64_t header = 0;
  for (const ZipEntry& e : reader.entries()) {
    EXPECT_EQ(e.header, header);
    EXPECT_EQ(e.data, ZipWriter::data_offset(header, e.name.size(), e.size, 64));
    header = e.data + e.size + 16;
  }
}

TEST(FileSink, ReplacesTheTargetOfALink) {
  const Folder folder;
  std::ofstream(folder.file("real")) << "old";
  std::filesystem::create_symlink(folder.file("real"), folder.file("link"));
  auto sink = open_file_sink(folder.file("link"));
  sink->write("new", 3);
  sink->finish();
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  std::string text;
  std::getline(std::ifstream(folder.file("real")), text);
  EXPECT_EQ(text, "new");
}

}  // namespace
}  // namespace taeda::serialization
