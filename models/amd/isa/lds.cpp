// SPDX-License-Identifier: MIT
// LDS instructions: loads, stores, atomics, and the lane permutations that go through its crossbar.
#include "models/amd/isa/lanes.h"
#include "models/amd/isa/space.h"

#include <fmt/format.h>

#include <bit>

namespace tiny::models::amd {

unsigned element_size(Element e) {
  switch (e) {
    case Element::dwords:
      return 0;
    case Element::u8:
    case Element::i8:
    case Element::d16_u8:
    case Element::d16_i8:
    case Element::d16_hi_u8:
    case Element::d16_hi_i8:
      return 1;
    default:
      return 2;
  }
}

Shape::Shape(uint32_t param) : element(static_cast<Element>(param & 0xff)) {
  const unsigned dwords = param >> 8;
  size_B = element == Element::dwords ? 4 * dwords : element_size(element);
  registers = element == Element::dwords ? dwords : 1;
}

namespace {

uint32_t extended(const Shape& shape, const Cell& cell) {
  uint32_t raw = cell.bytes[0] | uint32_t(shape.size_B == 2 ? cell.bytes[1] : 0) << 8;
  switch (shape.element) {
    case Element::i8:
    case Element::d16_i8:
    case Element::d16_hi_i8:
      return static_cast<uint32_t>(static_cast<int8_t>(raw));
    case Element::i16:
      return static_cast<uint32_t>(static_cast<int16_t>(raw));
    default:
      return raw;
  }
}

void set_poison(uint64_t& mask, unsigned lane, bool on) {
  mask = (mask & ~(1ull << lane)) | uint64_t(on) << lane;
}

}  // namespace

void unpack(Wave& w, const Shape& shape, unsigned reg, unsigned lane, const Cell& cell) {
  if (shape.element == Element::dwords) {
    for (unsigned r = 0; r < shape.registers; ++r) {
      std::memcpy(&w.vreg(reg + r)[lane], cell.bytes + 4 * r, 4);
      set_poison(w.vpoison[reg + r].lo, lane, cell.poison >> (4 * r) & 3);
      set_poison(w.vpoison[reg + r].hi, lane, cell.poison >> (4 * r + 2) & 3);
    }
    return;
  }
  const uint32_t value = extended(shape, cell);
  uint32_t& d = w.vreg(reg)[lane];
  Poison& p = w.vpoison[reg];
  const bool bad = cell.poison != 0;
  if (shape.element >= Element::d16_hi_u8) {
    d = (d & 0xffffu) | value << 16;
    set_poison(p.hi, lane, bad);
  } else if (shape.element >= Element::d16_u8) {
    d = (d & 0xffff0000u) | (value & 0xffffu);
    set_poison(p.lo, lane, bad);
  } else {
    d = value;
    set_poison(p.lo, lane, bad);
    set_poison(p.hi, lane, bad && (shape.element == Element::i8 || shape.element == Element::i16));
  }
}

Cell pack(const Wave& w, const Shape& shape, unsigned reg, unsigned lane) {
  Cell cell;
  const unsigned shift = shape.element >= Element::d16_hi_u8 ? 16 : 0;
  for (unsigned r = 0; r < shape.registers; ++r) {
    const uint32_t word = w.vreg(reg + r)[lane] >> shift;
    std::memcpy(cell.bytes + 4 * r, &word, 4);
    const Poison& p = w.vpoison[reg + r];
    uint32_t bytes = (p.lo >> lane & 1 ? 3u : 0) | (p.hi >> lane & 1 ? 12u : 0);
    bytes >>= shift / 8;
    cell.poison |= bytes << (4 * r);
  }
  cell.poison &= (1u << shape.size_B) - 1;
  return cell;
}

bool known_address(Wave& w, unsigned reg, const char* what) {
  const uint64_t bad = w.vpoison[reg].any() & w.exec;
  if (!bad || !w.policy.poison_address) return true;
  w.fail(FaultKind::uninitialized, fmt::format("v{} is an uninitialised {}", reg, what),
         static_cast<unsigned>(std::countr_zero(bad)));
  return false;
}

namespace {

bool lds_range(Wave& w, unsigned lane, uint64_t at, unsigned size_B, bool write, bool atomic) {
  const unsigned size = w.lds ? w.lds->size_B() : 0;
  if (at + size_B > size) {
    w.fail(FaultKind::lds_range, fmt::format("{} bytes at {} of {} allocated", size_B, at, size),
           lane, at);
    return false;
  }
  const int64_t other = w.lds->note(static_cast<unsigned>(at), size_B,
                                    static_cast<uint32_t>(w.config.id), write, atomic);
  if (other < 0) return true;
  w.fail(FaultKind::race,
         fmt::format("wave {} and wave {} access it with no barrier between", w.config.id, other),
         lane, at);
  return false;
}

}  // namespace

bool lds_read(Wave& w, unsigned lane, uint64_t at, unsigned size_B, Cell& cell) {
  if (!lds_range(w, lane, at, size_B, false, false)) return false;
  w.lds->read(static_cast<unsigned>(at), size_B, cell.bytes, &cell.poison);
  return true;
}

bool lds_write(Wave& w, unsigned lane, uint64_t at, unsigned size_B, const Cell& cell) {
  if (!lds_range(w, lane, at, size_B, true, false)) return false;
  w.lds->write(static_cast<unsigned>(at), size_B, cell.bytes, cell.poison);
  return true;
}

bool lds_atomic(Wave& w, unsigned lane, uint64_t at, unsigned size_B, AtomicOp op, uint64_t source,
                uint64_t compare, Cell& old) {
  if (at % size_B) {
    w.fail(FaultKind::misaligned, fmt::format("an atomic of {} bytes", size_B), lane, at);
    return false;
  }
  if (!lds_range(w, lane, at, size_B, true, true)) return false;
  w.lds->read(static_cast<unsigned>(at), size_B, old.bytes, &old.poison);
  if (old.poison && w.policy.poison_store) {
    w.fail(FaultKind::uninitialized, "an atomic on LDS that was never written", lane, at);
    return false;
  }
  uint64_t value = 0;
  std::memcpy(&value, old.bytes, size_B);
  value = atomic_result(op, size_B, value, source, compare);
  w.lds->write(static_cast<unsigned>(at), size_B, &value, 0);
  return true;
}

namespace {

void issue(Wave& w, const Op& op, unsigned registers, bool write) {
  Outstanding o{};
  o.kind = Outstanding::Kind::lds;
  o.lgkm = true;
  o.lds_write = write;
  o.vgpr = op.dst.reg;
  o.vgprs = static_cast<uint16_t>(registers);
  w.issue(o);
}

template <class F>
void each_lane(const Wave& w, F f) {
  for (unsigned l = 0; l < w.lanes; ++l)
    if ((w.exec >> l & 1) && !w.stopped) f(l);
}

/// Modulo 2^32: compilers fold constants that bring an address back from below zero (LLVM's
/// SITargetLowering keeps off that on Southern Islands only).
uint32_t address(const Wave& w, const Op& op, unsigned lane, uint32_t offset) {
  return w.vreg(op.src[0].reg)[lane] + offset;
}

void load(Wave& w, const Op& op) {
  const Shape shape(op.param);
  if (!known_address(w, op.src[0].reg, "LDS address")) return;
  each_lane(w, [&](unsigned l) {
    Cell cell;
    const uint32_t at = address(w, op, l, static_cast<uint32_t>(op.offset));
    if (lds_read(w, l, at, shape.size_B, cell)) unpack(w, shape, op.dst.reg, l, cell);
  });
  issue(w, op, shape.registers, false);
}

void store(Wave& w, const Op& op) {
  const Shape shape(op.param);
  if (!known_address(w, op.src[0].reg, "LDS address")) return;
  each_lane(w, [&](unsigned l) {
    const uint32_t at = address(w, op, l, static_cast<uint32_t>(op.offset));
    lds_write(w, l, at, shape.size_B, pack(w, shape, op.src[1].reg, l));
  });
  issue(w, op, 0, true);
}

/// param: dwords of an element, bit 8: offsets count 64 elements.
unsigned pair_offset(const Op& op, unsigned which) {
  const unsigned dwords = op.param & 0xff, stride = op.param >> 8 ? 64 : 1;
  return (which ? op.offset1 : op.offset0) * dwords * 4 * stride;
}

void load_pair(Wave& w, const Op& op) {
  const unsigned dwords = op.param & 0xff;
  const Shape shape(access_param(Element::dwords, dwords));
  if (!known_address(w, op.src[0].reg, "LDS address")) return;
  each_lane(w, [&](unsigned l) {
    Cell cells[2];
    for (unsigned i = 0; i < 2; ++i) {
      const uint32_t at = address(w, op, l, pair_offset(op, i));
      if (!lds_read(w, l, at, shape.size_B, cells[i])) return;
    }
    for (unsigned i = 0; i < 2; ++i) unpack(w, shape, op.dst.reg + i * dwords, l, cells[i]);
  });
  issue(w, op, 2 * dwords, false);
}

void store_pair(Wave& w, const Op& op) {
  const Shape shape(access_param(Element::dwords, op.param & 0xff));
  if (!known_address(w, op.src[0].reg, "LDS address")) return;
  each_lane(w, [&](unsigned l) {
    for (unsigned i = 0; i < 2; ++i) {
      const uint32_t at = address(w, op, l, pair_offset(op, i));
      if (!lds_write(w, l, at, shape.size_B, pack(w, shape, op.src[1 + i].reg, l))) return;
    }
  });
  issue(w, op, 0, true);
}

constexpr uint32_t kSwapOperands = 1u << 16;  ///< the first data operand is what is compared with

uint64_t data64(const Wave& w, unsigned reg, unsigned lane, unsigned size_B) {
  uint64_t v = w.vreg(reg)[lane];
  if (size_B == 8) v |= uint64_t(w.vreg(reg + 1)[lane]) << 32;
  return v;
}

bool uses_second(AtomicOp op) {
  return op == AtomicOp::cmpswap || op == AtomicOp::fcmpswap || op == AtomicOp::mskor ||
         op == AtomicOp::wrap;
}

void atomic(Wave& w, const Op& op) {
  const AtomicOp what = static_cast<AtomicOp>(op.param & 0xff);
  const unsigned size_B = op.param >> 8 & 0xff;
  const Shape shape(access_param(Element::dwords, size_B / 4));
  if (!known_address(w, op.src[0].reg, "LDS address")) return;
  each_lane(w, [&](unsigned l) {
    const uint32_t at = address(w, op, l, static_cast<uint32_t>(op.offset));
    uint64_t source = data64(w, op.src[1].reg, l, size_B);
    uint64_t second = uses_second(what) ? data64(w, op.src[2].reg, l, size_B) : 0;
    if (op.param & kSwapOperands) std::swap(source, second);
    Cell old;
    if (lds_atomic(w, l, at, size_B, what, source, second, old) && op.returns)
      unpack(w, shape, op.dst.reg, l, old);
  });
  issue(w, op, op.returns ? size_B / 4 : 0, true);
}

// ---- permutations

/// Lane l receives source lane from[l]; −1 (or an inactive lane) gives 0.
void gather(Wave& w, const Op& op, const Source& source, const int* from) {
  const uint32_t* words = w.vreg(source.reg);
  const Poison p = w.vpoison[source.reg];
  uint32_t out[kMaxLanes];
  Poison moved;
  for (unsigned l = 0; l < w.lanes; ++l) {
    const bool real = from[l] >= 0 && (w.exec >> from[l] & 1);
    out[l] = real ? words[from[l]] : 0;
    moved.lo |= real ? (p.lo >> from[l] & 1) << l : 0;
    moved.hi |= real ? (p.hi >> from[l] & 1) << l : 0;
  }
  Op plain = op;
  plain.form = Form::plain;
  commit_words(w, plain, op.dst, 0, out, Active(w, plain), moved);
  issue(w, op, 1, false);
}

/// Both permutations work on halves of 32 lanes.
void backward_permute(Wave& w, const Op& op) {
  if (!known_address(w, op.src[0].reg, "lane address")) return;
  int from[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) {
    const uint32_t at = (w.vreg(op.src[0].reg)[l] + static_cast<uint32_t>(op.offset)) >> 2;
    from[l] = static_cast<int>((l & ~31u) | (at & 31));
  }
  gather(w, op, op.src[1], from);
}

void forward_permute(Wave& w, const Op& op) {
  if (!known_address(w, op.src[0].reg, "lane address")) return;
  int from[kMaxLanes];
  std::fill_n(from, kMaxLanes, -1);
  for (unsigned l = 0; l < w.lanes; ++l) {
    if (!(w.exec >> l & 1)) continue;
    const uint32_t at = (w.vreg(op.src[0].reg)[l] + static_cast<uint32_t>(op.offset)) >> 2;
    from[(l & ~31u) | (at & 31)] = static_cast<int>(l);
  }
  gather(w, op, op.src[1], from);
}

/// Modes by the offset: quad permute (bit 15), rotate (0xc000 up), else and/or/xor masks.
void swizzle(Wave& w, const Op& op) {
  const uint32_t v = static_cast<uint32_t>(op.offset) & 0xffff;
  if (v >= 0xe000) return w.fail(FaultKind::unsupported, "the FFT mode of ds_swizzle");
  int from[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l) {
    unsigned at;
    if (v >= 0xc000) {
      const unsigned keep = v & 31, by = v >> 5 & 31;
      const unsigned turned = (v & 0x400 ? l - by : l + by) & 31;
      at = (l & keep) | (turned & ~keep & 31);
    } else if (v & 0x8000) {
      at = (l & 28) | (v >> (2 * (l & 3)) & 3);
    } else {
      at = (((l & v) | (v >> 5)) ^ (v >> 10)) & 31;
    }
    from[l] = static_cast<int>((l & 32) | at);
  }
  Op plain = op;
  gather(w, plain, op.src[0], from);
}

#define DS_ATOMIC(name, what)                                      \
  {"DS_" name "32", atomic, 0, atomic_param(AtomicOp::what, 4)}, { \
    "DS_" name "64", atomic, 0, atomic_param(AtomicOp::what, 8)    \
  }
#define DS_INTEGER(name, type, what)                                                \
  DS_ATOMIC(name "_" type, what),                                                   \
      {"DS_" name "_RTN_" type "32", atomic, 0, atomic_param(AtomicOp::what, 4)}, { \
    "DS_" name "_RTN_" type "64", atomic, 0, atomic_param(AtomicOp::what, 8)        \
  }
#define DS_COMPARE(name, what, flags)                                        \
  {"DS_" name "32", atomic, 0, atomic_param(AtomicOp::what, 4) | (flags)}, { \
    "DS_" name "64", atomic, 0, atomic_param(AtomicOp::what, 8) | (flags)    \
  }

const Row kRows[] = {
    {"DS_NOP", [](Wave&, const Op&) {}, 0},
    {"DS_READ_B32", load, 0, access_param(Element::dwords, 1)},
    {"DS_READ_B64", load, 0, access_param(Element::dwords, 2)},
    {"DS_READ_B96", load, 0, access_param(Element::dwords, 3)},
    {"DS_READ_B128", load, 0, access_param(Element::dwords, 4)},
    {"DS_READ_U8", load, 0, access_param(Element::u8)},
    {"DS_READ_I8", load, 0, access_param(Element::i8)},
    {"DS_READ_U16", load, 0, access_param(Element::u16)},
    {"DS_READ_I16", load, 0, access_param(Element::i16)},
    {"DS_READ_U8_D16", load, 0, access_param(Element::d16_u8)},
    {"DS_READ_I8_D16", load, 0, access_param(Element::d16_i8)},
    {"DS_READ_U16_D16", load, 0, access_param(Element::d16_b16)},
    {"DS_READ_U8_D16_HI", load, 0, access_param(Element::d16_hi_u8)},
    {"DS_READ_I8_D16_HI", load, 0, access_param(Element::d16_hi_i8)},
    {"DS_READ_U16_D16_HI", load, 0, access_param(Element::d16_hi_b16)},
    {"DS_WRITE_B8", store, 0, access_param(Element::u8)},
    {"DS_WRITE_B16", store, 0, access_param(Element::u16)},
    {"DS_WRITE_B8_D16_HI", store, 0, access_param(Element::d16_hi_u8)},
    {"DS_WRITE_B16_D16_HI", store, 0, access_param(Element::d16_hi_b16)},
    {"DS_WRITE_B32", store, 0, access_param(Element::dwords, 1)},
    {"DS_WRITE_B64", store, 0, access_param(Element::dwords, 2)},
    {"DS_WRITE_B96", store, 0, access_param(Element::dwords, 3)},
    {"DS_WRITE_B128", store, 0, access_param(Element::dwords, 4)},
    {"DS_READ2_B32", load_pair, 0, 1},
    {"DS_READ2_B64", load_pair, 0, 2},
    {"DS_READ2ST64_B32", load_pair, 0, 1 | 256},
    {"DS_READ2ST64_B64", load_pair, 0, 2 | 256},
    {"DS_WRITE2_B32", store_pair, 0, 1},
    {"DS_WRITE2_B64", store_pair, 0, 2},
    {"DS_WRITE2ST64_B32", store_pair, 0, 1 | 256},
    {"DS_WRITE2ST64_B64", store_pair, 0, 2 | 256},
    DS_INTEGER("ADD", "U", add),
    DS_INTEGER("SUB", "U", sub),
    DS_INTEGER("RSUB", "U", rsub),
    DS_INTEGER("INC", "U", inc),
    DS_INTEGER("DEC", "U", dec),
    DS_INTEGER("MIN", "I", smin),
    DS_INTEGER("MAX", "I", smax),
    DS_INTEGER("MIN", "U", umin),
    DS_INTEGER("MAX", "U", umax),
    DS_INTEGER("AND", "B", and_),
    DS_INTEGER("OR", "B", or_),
    DS_INTEGER("XOR", "B", xor_),
    DS_INTEGER("MIN", "F", fmin),
    DS_INTEGER("MAX", "F", fmax),
    {"DS_ADD_F32", atomic, 0, atomic_param(AtomicOp::fadd, 4)},
    {"DS_ADD_RTN_F32", atomic, 0, atomic_param(AtomicOp::fadd, 4)},
    DS_ATOMIC("WRXCHG_RTN_B", swap),
    DS_COMPARE("CMPST_B", cmpswap, kSwapOperands),
    DS_COMPARE("CMPST_RTN_B", cmpswap, kSwapOperands),
    DS_COMPARE("CMPST_F", fcmpswap, kSwapOperands),
    DS_COMPARE("CMPST_RTN_F", fcmpswap, kSwapOperands),
    DS_COMPARE("CMPSTORE_B", cmpswap, 0),
    DS_COMPARE("CMPSTORE_RTN_B", cmpswap, 0),
    DS_COMPARE("CMPSTORE_F", fcmpswap, 0),
    DS_COMPARE("CMPSTORE_RTN_F", fcmpswap, 0),
    DS_COMPARE("MSKOR_B", mskor, 0),
    DS_COMPARE("MSKOR_RTN_B", mskor, 0),
    {"DS_WRAP_RTN_B32", atomic, 0, atomic_param(AtomicOp::wrap, 4)},
    {"DS_BPERMUTE_B32", backward_permute},
    {"DS_PERMUTE_B32", forward_permute},
    {"DS_SWIZZLE_B32", swizzle},
};

}  // namespace

std::span<const Row> lds_rows() { return kRows; }

}  // namespace tiny::models::amd
