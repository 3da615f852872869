// Walks over instructions and their arguments.
#include "taeda/serialization/pickle/globals.h"

#include <array>
#include <charconv>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "taeda/serialization/pickle/byte_reader.h"

namespace taeda::serialization {
namespace {

// What follows an instruction.
enum class Argument : uint8_t {
  Unknown,
  None,
  Byte,
  Bytes2,
  Bytes4,
  Bytes8,
  Line,
  TwoLines,
  Counted1,
  Counted4,
  Counted8,
};

constexpr uint8_t kGlobal = 'c', kInst = 'i', kText = 'X', kShortText = 0x8c, kLongText = 0x8d;
constexpr uint8_t kGet = 'g', kBinGet = 'h', kLongBinGet = 'j';
constexpr uint8_t kPut = 'p', kBinPut = 'q', kLongBinPut = 'r', kMemoize = 0x94;
constexpr uint8_t kStackGlobal = 0x93, kFrame = 0x95, kStop = '.';

constexpr std::array<Argument, 256> make_table() {
  std::array<Argument, 256> table{};
  const auto set = [&](std::string_view ops, Argument argument) {
    for (const char op : ops) table[static_cast<uint8_t>(op)] = argument;
  };
  using namespace std::string_view_literals;
  set("(.012NQRabde}])lostu\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98"sv,
      Argument::None);
  set("Khq\x80\x82"sv, Argument::Byte);
  set("M\x83"sv, Argument::Bytes2);
  set("Jjr\x84"sv, Argument::Bytes4);
  set("G\x95"sv, Argument::Bytes8);
  set("FILPSVgp"sv, Argument::Line);
  set("ci"sv, Argument::TwoLines);
  set("UC\x8a\x8c"sv, Argument::Counted1);
  set("TXB\x8b"sv, Argument::Counted4);
  set("\x8d\x8e\x96"sv, Argument::Counted8);
  return table;
}
constexpr std::array<Argument, 256> kTable = make_table();

// A part of the pickle.
struct Span {
  size_t at = 0, size = 0;
};
struct Found {
  Span module, name;
  bool is_shared = false;  // the module's text is also data
};

class Walker {
 public:
  explicit Walker(std::string_view pickle) : pickle_(pickle) {}

  std::vector<Found> run() {
    uint8_t op = 0;
    while (op != kStop) {
      op = static_cast<uint8_t>(text(take(1))[0]);
      visit(op, argument(op));
    }
    drop_pending(0);
    for (Found& found : found_) found.is_shared = data_.contains(found.module.at);
    return std::move(found_);
  }

  std::string_view text(Span span) const { return pickle_.substr(span.at, span.size); }

 private:
  Span take(uint64_t n) {
    if (n > pickle_.size() - at_)
      throw PickleEndError(str("Ran out of input: the pickle has no end at byte ", pickle_.size()));
    const Span out{at_, static_cast<size_t>(n)};
    at_ += n;
    return out;
  }
  Span line() {
    const size_t end = pickle_.find('\n', at_);
    if (end == std::string_view::npos)
      throw PickleEndError(str("Ran out of input: a line has no end after byte ", at_));
    const Span out = take(end - at_);
    take(1);
    return out;
  }
  template <class T>
  uint64_t number() {
    T value;
    std::memcpy(&value, text(take(sizeof value)).data(), sizeof value);
    return value;
  }

  // The first line of two.
  Span argument(uint8_t op) {
    switch (kTable[op]) {
      case Argument::None: return {};
      case Argument::Byte: return take(1);
      case Argument::Bytes2: return take(2);
      case Argument::Bytes4: return take(4);
      case Argument::Bytes8: return take(8);
      case Argument::Line:
      case Argument::TwoLines: return line();
      case Argument::Counted1: return take(number<uint8_t>());
      case Argument::Counted4: return take(number<uint32_t>());
      case Argument::Counted8: return take(number<uint64_t>());
      default:
        throw PickleError(str("Unsupported operand ", static_cast<int>(op), " before byte ", at_));
    }
  }

  uint64_t index(Span argument) const {
    uint64_t value = 0;
    std::memcpy(&value, text(argument).data(), argument.size);
    return value;
  }
  uint64_t index_in_text(Span argument) const {
    uint64_t value = 0;
    const std::string_view digits = text(argument);
    const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (r.ec != std::errc()) throw PickleError(str("no number at byte ", argument.at));
    return value;
  }
  void keep(uint64_t index) {
    memo_.erase(index);
    if (!pending_.empty()) memo_.emplace(index, pending_.back());
  }
  void recall(uint64_t index) {
    const auto found = memo_.find(index);
    drop_pending(found == memo_.end() ? 0 : 1);
    if (found != memo_.end()) pending_.push_back(found->second);
  }
  // All but the last `kept` texts were pushed for something else than a global.
  void drop_pending(size_t kept) {
    for (; pending_.size() > kept; pending_.erase(pending_.begin()))
      data_.insert(pending_.front().at);
  }

  void visit(uint8_t op, Span argument) {
    switch (op) {
      case kText:
      case kShortText:
      case kLongText:
        drop_pending(1);
        pending_.push_back(argument);
        return;
      case kGet: return recall(index_in_text(argument));
      case kBinGet:
      case kLongBinGet: return recall(index(argument));
      case kPut: return put(index_in_text(argument));
      case kBinPut:
      case kLongBinPut: return put(index(argument));
      case kMemoize: return put(count_);
      case kFrame: return;
      case kStackGlobal:
        drop_pending(2);
        if (pending_.size() == 2) found_.push_back({pending_[0], pending_[1]});
        pending_.clear();
        return;
      case kGlobal:
      case kInst: found_.push_back({argument, line()}); [[fallthrough]];
      default: drop_pending(0);
    }
  }
  void put(uint64_t index) {
    keep(index);
    ++count_;
  }

  std::string_view pickle_;
  size_t at_ = 0;
  std::vector<Found> found_;
  std::vector<Span> pending_;  // texts on top of the stack
  std::unordered_map<uint64_t, Span> memo_;
  uint64_t count_ = 0;
  std::unordered_set<size_t> data_;  // where texts begin that are used as such
};

}  // namespace

std::vector<std::string> globals_in_pickle(std::string_view pickle) {
  Walker walker(pickle);
  std::vector<std::string> out;
  for (const Found& found : walker.run())
    out.push_back(str(walker.text(found.module), ".", walker.text(found.name)));
  return out;
}

void move_globals(std::string& pickle, std::string_view from, std::string_view to) {
  TAEDA_INTERNAL_CHECK(from.size() == to.size());
  Walker walker(pickle);
  for (const Found& found : walker.run()) {
    const std::string_view module = walker.text(found.module);
    const bool is_inside =
        module.starts_with(from) && (module.size() == from.size() || module[from.size()] == '.');
    if (is_inside && !found.is_shared) pickle.replace(found.module.at, to.size(), to);
  }
}

}  // namespace taeda::serialization
