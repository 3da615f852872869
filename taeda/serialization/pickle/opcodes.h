// The instructions of pickles of protocol 2, those that a restricted reader knows.
#pragma once

#include <cstdint>

namespace taeda::serialization {

enum class PickleOp : uint8_t {
  Mark = '(',
  Stop = '.',
  BinInt = 'J',
  BinInt1 = 'K',
  BinInt2 = 'M',
  BinFloat = 'G',
  None = 'N',
  BinPersId = 'Q',
  Reduce = 'R',
  BinUnicode = 'X',
  ShortBinString = 'U',
  Append = 'a',
  Build = 'b',
  Global = 'c',
  EmptyDict = '}',
  Appends = 'e',
  BinGet = 'h',
  LongBinGet = 'j',
  EmptyList = ']',
  BinPut = 'q',
  LongBinPut = 'r',
  SetItem = 's',
  Tuple = 't',
  EmptyTuple = ')',
  SetItems = 'u',
  Proto = 0x80,
  NewObj = 0x81,
  Tuple1 = 0x85,
  Tuple2 = 0x86,
  Tuple3 = 0x87,
  NewTrue = 0x88,
  NewFalse = 0x89,
  Long1 = 0x8a,
  EmptySet = 0x8f,
};

constexpr uint8_t kPickleProtocol = 2;

}  // namespace taeda::serialization
