// The restricted pickle machine: builds objects from a pickle without running anything that the
// object model does not allow.
//
// The instructions are those of PyTorch's restricted unpickler; any other ends the reading. What
// objects are is the model's affair: plain values in C++ (value_model.h), Python's in the bindings.
// A model has
//
//   Object                                   a movable handle
//   share(const Object&)                     another handle of the same object
//   none(), boolean(b), integer(i), long_integer(little-endian bytes), real(d),
//   text(utf-8), byte_string(bytes)          values
//   list(), dict(), set(), tuple(objects)    containers
//   extend(list, objects, name), set_items(dict, key-value pairs, name)
//   global(module, name), reduce(function, arguments), make(class, arguments), build(object, state)
//   persistent(id)                           what the pickle keeps outside
//   warn_of_protocol(number)
//
// and throws PickleError for what it refuses.
//
// Note [Depth of pickles]: an object's depth is counted where it is made, because hashing and
// dropping deeply nested objects recurses in whoever does it. A pickle can nest a container that is
// already inside another; what holds such containers must not recurse when it drops them.
#pragma once

#include <bit>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "taeda/serialization/pickle/byte_reader.h"
#include "taeda/serialization/pickle/opcodes.h"

namespace taeda::serialization {

template <class Model>
class Unpickler {
 public:
  using Object = typename Model::Object;
  static constexpr uint32_t kMaxDepth = 2000;

  Unpickler(ByteReader& bytes, Model& model) : bytes_(bytes), model_(model) {}

  // Reads up to the end of one pickle. Errors, also those of the model, name the place.
  Object load() {
    try {
      return run();
    } catch (const PickleEndError&) {
      throw;
    } catch (const PickleError& e) {
      throw PickleError(located(e));
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::External) throw;
      throw Error(e.kind(), located(e));
    }
  }

 private:
  struct Slot {
    Object object;
    uint32_t depth = 0;
  };

  Object run() {
    while (true) {
      const auto op = static_cast<PickleOp>(bytes_.byte());
      if (op == PickleOp::Stop) return std::move(pop().object);
      if (!run_value(op) && !run_container(op) && !run_memo(op) && !run_object(op))
        throw PickleError(str("Unsupported operand ", static_cast<int>(op)));
    }
  }
  std::string located(const Error& e) const {
    return str(e.message(), " (before ", bytes_.place(), ")");
  }
  [[noreturn]] static void fail_damaged(const char* what) {
    throw PickleError(str("the pickle is damaged: it ", what));
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, bytes_.take(sizeof value).data(), sizeof value);
    return value;
  }
  double real() {
    uint64_t bits = 0;
    for (const char c : bytes_.take(8)) bits = bits << 8 | static_cast<uint8_t>(c);
    return std::bit_cast<double>(bits);
  }

  // The stack, cut by marks: below the last one nothing is taken.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  void push(Object object, uint32_t depth = 0) {
    if (depth > kMaxDepth)
      throw PickleError(str("the pickle nests more than ", kMaxDepth, " objects"));
    stack_.push_back({std::move(object), depth});
  }
  Slot& top() {
    if (stack_.size() <= floor()) fail_damaged("uses an object that is not there");
    return stack_.back();
  }
  Slot pop() {
    Slot out = std::move(top());
    stack_.pop_back();
    return out;
  }
  // The objects after the last mark, which goes.
  std::vector<Object> pop_mark(uint32_t& depth) {
    if (marks_.empty()) fail_damaged("has no mark");
    std::vector<Object> out;
    for (size_t i = marks_.back(); i < stack_.size(); ++i) {
      depth = std::max(depth, stack_[i].depth);
      out.push_back(std::move(stack_[i].object));
    }
    stack_.resize(marks_.back());
    marks_.pop_back();
    return out;
  }
  void deepen(Slot& slot, uint32_t depth) {
    slot.depth = std::max(slot.depth, depth + 1);
    if (slot.depth > kMaxDepth)
      throw PickleError(str("the pickle nests more than ", kMaxDepth, " objects"));
  }

  bool run_value(PickleOp op) {
    switch (op) {
      case PickleOp::None: push(model_.none()); break;
      case PickleOp::NewTrue: push(model_.boolean(true)); break;
      case PickleOp::NewFalse: push(model_.boolean(false)); break;
      case PickleOp::BinInt: push(model_.integer(number<int32_t>())); break;
      case PickleOp::BinInt1: push(model_.integer(bytes_.byte())); break;
      case PickleOp::BinInt2: push(model_.integer(number<uint16_t>())); break;
      case PickleOp::Long1: push(model_.long_integer(bytes_.take(bytes_.byte()))); break;
      case PickleOp::BinFloat: push(model_.real(real())); break;
      case PickleOp::BinUnicode: push(model_.text(bytes_.take(number<uint32_t>()))); break;
      case PickleOp::ShortBinString: push(model_.byte_string(bytes_.take(bytes_.byte()))); break;
      case PickleOp::Proto: read_protocol(); break;
      default: return false;
    }
    return true;
  }

  void read_protocol() {
    const uint8_t protocol = bytes_.byte();
    if (protocol != kPickleProtocol) model_.warn_of_protocol(protocol);
  }

  void push_tuple(size_t n) {
    std::vector<Object> items(n);
    uint32_t depth = 0;
    while (n-- > 0) {
      Slot slot = pop();
      depth = std::max(depth, slot.depth);
      items[n] = std::move(slot.object);
    }
    push(model_.tuple(std::move(items)), depth + 1);
  }

  bool run_container(PickleOp op) {
    uint32_t depth = 0;
    switch (op) {
      case PickleOp::Mark: marks_.push_back(stack_.size()); break;
      case PickleOp::EmptyTuple: push_tuple(0); break;
      case PickleOp::Tuple1: push_tuple(1); break;
      case PickleOp::Tuple2: push_tuple(2); break;
      case PickleOp::Tuple3: push_tuple(3); break;
      case PickleOp::Tuple: {
        std::vector<Object> items = pop_mark(depth);
        push(model_.tuple(std::move(items)), depth + 1);
        break;
      }
      case PickleOp::EmptyList: push(model_.list(), 1); break;
      case PickleOp::EmptyDict: push(model_.dict(), 1); break;
      case PickleOp::EmptySet: push(model_.set(), 1); break;
      case PickleOp::Append: {
        std::vector<Object> items(1);
        Slot item = pop();
        items[0] = std::move(item.object);
        model_.extend(top().object, std::move(items), "append to");
        deepen(top(), item.depth);
        break;
      }
      case PickleOp::Appends: {
        std::vector<Object> items = pop_mark(depth);
        model_.extend(top().object, std::move(items), "extend");
        deepen(top(), depth);
        break;
      }
      case PickleOp::SetItem: {
        std::vector<Object> items(2);
        Slot value = pop(), key = pop();
        items[0] = std::move(key.object);
        items[1] = std::move(value.object);
        model_.set_items(top().object, std::move(items), "SETITEM");
        deepen(top(), std::max(key.depth, value.depth));
        break;
      }
      case PickleOp::SetItems: {
        std::vector<Object> items = pop_mark(depth);
        if (items.size() % 2 != 0) fail_damaged("has a key without a value");
        model_.set_items(top().object, std::move(items), "SETITEMS");
        deepen(top(), depth);
        break;
      }
      default: return false;
    }
    return true;
  }

  void recall(uint32_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail_damaged("recalls what it has not kept");
    push(model_.share(found->second.object), found->second.depth);
  }
  void keep(uint32_t index) {
    Slot& slot = top();
    memo_.insert_or_assign(index, Slot{model_.share(slot.object), slot.depth});
  }

  bool run_memo(PickleOp op) {
    switch (op) {
      case PickleOp::BinGet: recall(bytes_.byte()); break;
      case PickleOp::LongBinGet: recall(number<uint32_t>()); break;
      case PickleOp::BinPut: keep(bytes_.byte()); break;
      case PickleOp::LongBinPut: keep(number<uint32_t>()); break;
      default: return false;
    }
    return true;
  }

  bool run_object(PickleOp op) {
    switch (op) {
      case PickleOp::Global: {
        const std::string module(bytes_.line());
        const std::string name(bytes_.line());
        push(model_.global(module, name));
        break;
      }
      case PickleOp::Reduce: {
        Slot arguments = pop(), function = pop();
        push(model_.reduce(function.object, arguments.object), arguments.depth + 1);
        break;
      }
      case PickleOp::NewObj: {
        Slot arguments = pop(), type = pop();
        push(model_.make(type.object, arguments.object), arguments.depth + 1);
        break;
      }
      case PickleOp::Build: {
        Slot state = pop();
        model_.build(top().object, state.object);
        deepen(top(), state.depth);
        break;
      }
      case PickleOp::BinPersId: {
        Slot id = pop();
        push(model_.persistent(id.object));
        break;
      }
      default: return false;
    }
    return true;
  }

  ByteReader& bytes_;
  Model& model_;
  std::vector<Slot> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, Slot> memo_;
};

}  // namespace taeda::serialization
