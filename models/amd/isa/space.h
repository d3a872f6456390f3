// SPDX-License-Identifier: MIT
// What LDS and vector memory instructions share: one lane's access to LDS or scratch, elements in
// registers, and the table parameter that describes an access. Private to this folder.
#pragma once

#include "models/amd/isa/op.h"

#include <cstdint>

namespace tiny::models::amd {

/// How a loaded or stored element sits in registers.
enum class Element : uint8_t {
  dwords,  ///< size_B / 4 registers
  u8,
  i8,
  u16,
  i16,  ///< loads: extended to a dword; stores: the low bits
  d16_u8,
  d16_i8,
  d16_b16,  ///< loads: the low half only
  d16_hi_u8,
  d16_hi_i8,
  d16_hi_b16  ///< loads: the high half only; stores: from the high half
};
unsigned element_size(Element e);  ///< bytes; 0 for dwords

/// Row::param of loads and stores.
constexpr uint32_t access_param(Element e, unsigned dwords = 1) {
  return static_cast<uint32_t>(e) | dwords << 8;
}
/// Row::param of atomics.
constexpr uint32_t atomic_param(AtomicOp op, unsigned size_B) {
  return static_cast<uint32_t>(op) | size_B << 8;
}

struct Shape {
  Element element;
  unsigned size_B, registers;
  explicit Shape(uint32_t param);
};

/// Up to 16 bytes with their poison.
struct Cell {
  uint8_t bytes[16] = {};
  uint32_t poison = 0;
};

/// Puts a loaded cell into the registers of one lane.
void unpack(Wave& w, const Shape& shape, unsigned reg, unsigned lane, const Cell& cell);
/// Takes what a store writes from the registers of one lane.
Cell pack(const Wave& w, const Shape& shape, unsigned reg, unsigned lane);

/// Fails the wave and returns false if any active lane's address dword is uninitialised.
bool known_address(Wave& w, unsigned reg, const char* what);

/// One lane's LDS access. False (and the wave failed) if out of range or racing.
bool lds_read(Wave& w, unsigned lane, uint64_t at, unsigned size_B, Cell& cell);
bool lds_write(Wave& w, unsigned lane, uint64_t at, unsigned size_B, const Cell& cell);
bool lds_atomic(Wave& w, unsigned lane, uint64_t at, unsigned size_B, AtomicOp op, uint64_t source,
                uint64_t compare, Cell& old);

}  // namespace tiny::models::amd
