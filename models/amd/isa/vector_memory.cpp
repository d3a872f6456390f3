// SPDX-License-Identifier: MIT
// Global, flat, scratch and buffer instructions.
#include "models/amd/isa/decode.h"
#include "models/amd/isa/lanes.h"
#include "models/amd/isa/space.h"

#include <fmt/format.h>

#include <bit>

namespace tiny::models::amd {
namespace {

enum class Space : uint8_t { global, lds, scratch, nowhere };

/// Where each active lane's access goes. `nowhere`: a buffer access out of bounds, which loads 0
/// and stores nothing.
struct Target {
  Space space = Space::global;
  uint64_t address = 0;  ///< scratch: the offset in the lane's segment
};

Addressing form(const Op& op) { return static_cast<Addressing>(op.addressing); }
bool is_flat(const Op& op) { return form(op) == Addressing::flat; }

bool known_scalar(Wave& w, const Source& s) {
  uint64_t p = 0;
  if (s.dwords >= 2) {
    read64(w, s, &p);
  } else {
    uint32_t p32 = 0;
    read32(w, s, &p32);
    p = p32;
  }
  if (!p || !w.policy.poison_address) return true;
  w.fail(FaultKind::uninitialized, fmt::format("the address in s{} is uninitialised", s.reg));
  return false;
}

uint64_t pair(const Wave& w, unsigned reg, unsigned lane) {
  return w.vreg(reg)[lane] | uint64_t(w.vreg(reg + 1)[lane]) << 32;
}

Target route(const Wave& w, uint64_t address) {
  constexpr uint64_t kHigh = ~0xffffffffull;
  if (w.config.shared_base && (address & kHigh) == w.config.shared_base)
    return {Space::lds, address & ~kHigh};
  if (w.config.private_base && (address & kHigh) == w.config.private_base)
    return {Space::scratch, address & ~kHigh};
  return {Space::global, address};
}

/// The fields of a buffer resource descriptor (RDNA2/RDNA3 "Buffer Resource").
struct Buffer {
  uint64_t base;
  uint32_t stride, records, index_stride, element_B, bounds;
  bool swizzle, add_lane;
  Buffer(const Wave& w, const Op& op) {
    const unsigned r = op.src[2].reg;
    const uint32_t w1 = w.sgpr(r + 1), w3 = w.sgpr(r + 3);
    base = w.sgpr(r) | uint64_t(w1 & 0xffff) << 32;
    stride = w1 >> 16 & 0x3fff;
    records = w.sgpr(r + 2);
    const unsigned swizzle_bits = op.gfx11 ? w1 >> 30 & 3 : w1 >> 31;
    swizzle = swizzle_bits != 0;
    element_B = op.gfx11 && swizzle_bits ? 2u << swizzle_bits : 4;
    index_stride = 8u << (w3 >> 21 & 3);
    add_lane = w3 >> 23 & 1;
    bounds = w3 >> 28 & 3;
  }
  bool inside(uint32_t index, uint32_t offset, unsigned size_B) const {
    switch (bounds) {
      case 0:
        return index < records && (stride == 0 || offset + size_B <= stride);
      case 1:
        return index < records;
      case 2:
        return records != 0;
      default:
        return uint64_t(offset) + size_B <= records;
    }
  }
  uint64_t at(uint32_t index, uint32_t offset) const {
    if (!swizzle) return uint64_t(index) * stride + offset;
    const uint64_t high = index / index_stride, low = index % index_stride;
    return (high * stride + offset / element_B * element_B) * index_stride + low * element_B +
           offset % element_B;
  }
};

/// Resolves the lanes' addresses; false if the wave failed.
class Resolver {
 public:
  Resolver(Wave& wave, const Op& op, unsigned size_B) : w(wave), op(op), size_B_(size_B) {
    ok = check();
  }
  bool ok;
  Target lane(unsigned l) const;

 private:
  bool check() const;
  Target buffer(unsigned l) const;
  Wave& w;
  const Op& op;
  unsigned size_B_;
};

bool Resolver::check() const {
  const unsigned v = op.src[0].reg;
  switch (form(op)) {
    case Addressing::flat:
    case Addressing::global:
      return known_address(w, v, "address") && known_address(w, v + 1, "address");
    case Addressing::global_saddr:
    case Addressing::scratch_both:
      return known_address(w, v, "address offset") && known_scalar(w, op.src[2]);
    case Addressing::scratch_vaddr:
      return known_address(w, v, "scratch address");
    case Addressing::scratch_saddr:
      return known_scalar(w, op.src[2]);
    case Addressing::scratch_none:
      return true;
    default:
      break;
  }
  Source srd = op.src[2];
  srd.dwords = 2;
  Source srd_high = srd;
  srd_high.reg = static_cast<uint16_t>(srd.reg + 2);
  if (!known_scalar(w, srd) || !known_scalar(w, srd_high) || !known_scalar(w, op.src[3]))
    return false;
  const bool one = form(op) == Addressing::buffer_offen || form(op) == Addressing::buffer_idxen;
  const bool two = form(op) == Addressing::buffer_both;
  return (!(one || two) || known_address(w, v, "buffer offset")) &&
         (!two || known_address(w, v + 1, "buffer offset"));
}

Target Resolver::buffer(unsigned l) const {
  const Buffer b(w, op);
  const uint32_t v0 = form(op) != Addressing::buffer_offset ? w.vreg(op.src[0].reg)[l] : 0;
  const bool both = form(op) == Addressing::buffer_both;
  uint32_t index = both || form(op) == Addressing::buffer_idxen ? v0 : 0;
  uint32_t offset = both                                   ? w.vreg(op.src[0].reg + 1)[l]
                    : form(op) == Addressing::buffer_offen ? v0
                                                           : 0;
  offset += static_cast<uint32_t>(op.offset);
  if (b.add_lane) index += l;
  // Bounds of a swizzled buffer (scratch on gfx10) are those of the whole allocation: left to
  // Memory.
  if (!b.swizzle && !b.inside(index, offset, size_B_)) return {Space::nowhere, 0};
  return {Space::global, b.base + read32(w, op.src[3]) + b.at(index, offset)};
}

Target Resolver::lane(unsigned l) const {
  const uint64_t offset = static_cast<uint64_t>(int64_t(op.offset));
  const unsigned v = op.src[0].reg;
  switch (form(op)) {
    case Addressing::flat:
      return route(w, pair(w, v, l) + offset);
    case Addressing::global:
      return {Space::global, pair(w, v, l) + offset};
    case Addressing::global_saddr:
      return {Space::global, read64(w, op.src[2]) + w.vreg(v)[l] + offset};
    case Addressing::scratch_vaddr:
      return {Space::scratch, static_cast<uint32_t>(w.vreg(v)[l] + offset)};
    case Addressing::scratch_saddr:
      return {Space::scratch, static_cast<uint32_t>(read32(w, op.src[2]) + offset)};
    case Addressing::scratch_both:
      return {Space::scratch, static_cast<uint32_t>(w.vreg(v)[l] + read32(w, op.src[2]) + offset)};
    case Addressing::scratch_none:
      return {Space::scratch, static_cast<uint32_t>(offset)};
    default:
      return buffer(l);
  }
}

Access make_access(const Wave& w, const Op& op, unsigned lane, uint64_t address, unsigned size_B) {
  Access a;
  a.wave = w.config.id;
  a.pc = op.pc;
  a.sequence = w.store_sequence;
  a.lane = lane;
  a.address = address;
  a.size_B = size_B;
  a.policy = op.policy;
  return a;
}

bool check_result(Wave& w, unsigned lane, const MemoryResult& r) {
  if (!r.ok) w.fail(FaultKind::memory, r.reason, lane, r.address);
  return r.ok;
}

// ---- scratch: a lane's dwords are `lanes` dwords apart

bool scratch_range(Wave& w, unsigned lane, uint64_t at, unsigned size_B) {
  if (at + size_B <= w.config.scratch_lane_B) return true;
  w.fail(FaultKind::scratch_range,
         fmt::format("{} bytes at {} of {} a lane", size_B, at, w.config.scratch_lane_B), lane, at);
  return false;
}

/// Calls f(address, first byte, bytes) for the pieces of a scratch access that are contiguous.
template <class F>
bool scratch_pieces(const Wave& w, unsigned lane, uint64_t at, unsigned size_B, F f) {
  for (unsigned done = 0; done < size_B;) {
    const uint64_t offset = at + done;
    const unsigned piece = std::min(size_B - done, 4 - static_cast<unsigned>(offset % 4));
    const uint64_t address = w.flat_scratch + offset / 4 * 4 * w.lanes + lane * 4 + offset % 4;
    if (!f(address, done, piece)) return false;
    done += piece;
  }
  return true;
}

bool read_cell(Wave& w, const Op& op, unsigned lane, const Target& t, unsigned size_B, Cell& cell) {
  switch (t.space) {
    case Space::nowhere:
      return true;
    case Space::lds:
      return lds_read(w, lane, t.address, size_B, cell);
    case Space::global:
      return check_result(
          w, lane,
          w.memory->load(make_access(w, op, lane, t.address, size_B), cell.bytes, &cell.poison));
    case Space::scratch:
      break;
  }
  if (!scratch_range(w, lane, t.address, size_B)) return false;
  return scratch_pieces(
      w, lane, t.address, size_B, [&](uint64_t address, unsigned first, unsigned n) {
        Access a = make_access(w, op, lane, address, n);
        a.scratch = true;
        uint32_t poison = 0;
        const bool ok = check_result(w, lane, w.memory->load(a, cell.bytes + first, &poison));
        cell.poison |= poison << first;
        return ok;
      });
}

bool write_cell(Wave& w, const Op& op, unsigned lane, const Target& t, unsigned size_B,
                const Cell& cell) {
  switch (t.space) {
    case Space::nowhere:
      return true;
    case Space::lds:
      return lds_write(w, lane, t.address, size_B, cell);
    case Space::global:
      if (cell.poison && w.policy.poison_store) {
        w.fail(FaultKind::uninitialized, "stores bytes that were never written", lane, t.address);
        return false;
      }
      return check_result(
          w, lane,
          w.memory->store(make_access(w, op, lane, t.address, size_B), cell.bytes, cell.poison));
    case Space::scratch:
      break;
  }
  if (!scratch_range(w, lane, t.address, size_B)) return false;
  return scratch_pieces(
      w, lane, t.address, size_B, [&](uint64_t address, unsigned first, unsigned n) {
        Access a = make_access(w, op, lane, address, n);
        a.scratch = true;
        return check_result(w, lane, w.memory->store(a, cell.bytes + first, cell.poison >> first));
      });
}

/// Does a flat access go to LDS in any lane? What the others ask for does not wait for LDS.
bool any_in_lds(const Wave& w, const Op& op, const Resolver& addresses) {
  for (unsigned l = 0; is_flat(op) && l < w.lanes; ++l)
    if ((w.exec >> l & 1) && addresses.lane(l).space == Space::lds) return true;
  return false;
}

void issue_load(Wave& w, const Op& op, unsigned registers, bool lds) {
  Outstanding o{};
  o.kind = lds ? Outstanding::Kind::flat_load : Outstanding::Kind::vector_load;
  o.vm = true;
  o.lgkm = is_flat(op);
  o.vgpr = op.dst.reg;
  o.vgprs = static_cast<uint16_t>(registers);
  w.issue(o);
}

void issue_store(Wave& w, const Op& op, bool lds) {
  Outstanding o{};
  o.kind = lds ? Outstanding::Kind::flat_store : Outstanding::Kind::vector_store;
  o.vs = true;
  o.lgkm = is_flat(op);
  o.sequence = w.store_sequence;
  w.issue(o);
}

bool no_tfe(Wave& w, const Op& op) {
  if (op.tfe) w.fail(FaultKind::unsupported, "the tfe bit is not modelled");
  return !op.tfe;
}

/// One load for the lanes from `first` on that read the same or adjoining bytes. Returns which it
/// served: none if there is but one, or if a byte cannot be read, which then the lane itself tells.
uint64_t load_joined(Wave& w, const Op& op, const Shape& shape, const Target* targets,
                     unsigned first) {
  constexpr unsigned kJoined_B = 32;
  const auto offset = [&](unsigned l) { return targets[l].address - targets[first].address; };
  uint64_t lanes = 0;
  unsigned span_B = 0;
  for (unsigned l = first; l < w.lanes; ++l) {
    if (!(w.exec >> l & 1)) continue;
    const bool adjoins = targets[l].space == Space::global && offset(l) <= span_B;
    if (!adjoins || offset(l) + shape.size_B > kJoined_B) break;
    span_B = std::max(span_B, static_cast<unsigned>(offset(l)) + shape.size_B);
    lanes |= uint64_t{1} << l;
  }
  if (std::popcount(lanes) < 2) return 0;
  uint8_t bytes[kJoined_B];
  uint32_t poison = 0;
  const Access access = make_access(w, op, first, targets[first].address, span_B);
  if (!w.memory->load(access, bytes, &poison).ok) return 0;
  for (unsigned l = first; l < w.lanes; ++l) {
    if (!(lanes >> l & 1)) continue;
    Cell cell;
    std::memcpy(cell.bytes, bytes + offset(l), shape.size_B);
    cell.poison = poison >> offset(l) & ((1u << shape.size_B) - 1);
    unpack(w, shape, op.dst.reg, l, cell);
  }
  return lanes;
}

void load(Wave& w, const Op& op) {
  const Shape shape(op.param);
  const Resolver addresses(w, op, shape.size_B);
  if (!addresses.ok || !no_tfe(w, op)) return;
  // The destination may overlap the address.
  const bool lds = any_in_lds(w, op, addresses);
  Target targets[kMaxLanes];
  for (unsigned l = 0; l < w.lanes; ++l)
    if (w.exec >> l & 1) targets[l] = addresses.lane(l);
  // What goes past the caches may change while it is read: each lane for itself.
  const bool joins = w.memory->joins_lanes() && !op.policy.glc;
  uint64_t done = ~w.exec;
  for (unsigned l = 0; l < w.lanes && !w.stopped; ++l) {
    if (done >> l & 1) continue;
    if (joins && targets[l].space == Space::global) {
      const uint64_t served = load_joined(w, op, shape, targets, l);
      done |= served;
      if (served) continue;
    }
    Cell cell;
    if (read_cell(w, op, l, targets[l], shape.size_B, cell)) unpack(w, shape, op.dst.reg, l, cell);
  }
  issue_load(w, op, shape.registers, lds);
}

void store(Wave& w, const Op& op) {
  const Shape shape(op.param);
  const Resolver addresses(w, op, shape.size_B);
  if (!addresses.ok || !no_tfe(w, op)) return;
  ++w.store_sequence;
  for (unsigned l = 0; l < w.lanes && !w.stopped; ++l)
    if (w.exec >> l & 1)
      write_cell(w, op, l, addresses.lane(l), shape.size_B, pack(w, shape, op.src[1].reg, l));
  issue_store(w, op, any_in_lds(w, op, addresses));
}

uint64_t data64(const Wave& w, unsigned reg, unsigned lane, unsigned size_B) {
  uint64_t v = w.vreg(reg)[lane];
  if (size_B == 8) v |= uint64_t(w.vreg(reg + 1)[lane]) << 32;
  return v;
}

bool known_data(Wave& w, const Op& op, unsigned registers) {
  if (!w.policy.poison_store) return true;
  for (unsigned r = 0; r < registers; ++r)
    if (const uint64_t bad = w.vpoison[op.src[1].reg + r].any() & w.exec) {
      w.fail(FaultKind::uninitialized, fmt::format("v{} is uninitialised", op.src[1].reg + r),
             static_cast<unsigned>(std::countr_zero(bad)));
      return false;
    }
  return true;
}

bool atomic_cell(Wave& w, const Op& op, unsigned l, const Target& t, unsigned size_B, AtomicOp what,
                 uint64_t source, uint64_t compare, Cell& old) {
  if (t.space == Space::nowhere) return true;
  if (t.space == Space::lds) return lds_atomic(w, l, t.address, size_B, what, source, compare, old);
  uint64_t address = t.address;
  if (t.space == Space::scratch) {
    if (!scratch_range(w, l, t.address, size_B)) return false;
    if (size_B == 8) {
      w.fail(FaultKind::unsupported, "a 64-bit atomic in scratch, where lanes interleave by dwords",
             l);
      return false;
    }
    address = w.flat_scratch + t.address / 4 * 4 * w.lanes + l * 4;
  }
  if (t.address % size_B) {
    w.fail(FaultKind::misaligned, fmt::format("an atomic of {} bytes", size_B), l, t.address);
    return false;
  }
  Access a = make_access(w, op, l, address, size_B);
  a.scratch = t.space == Space::scratch;
  uint64_t value = 0;
  if (!check_result(w, l, w.memory->atomic(a, what, source, compare, &value, &old.poison)))
    return false;
  std::memcpy(old.bytes, &value, size_B);
  return true;
}

void atomic(Wave& w, const Op& op) {
  const AtomicOp what = static_cast<AtomicOp>(op.param & 0xff);
  const unsigned size_B = op.param >> 8;
  const bool compares = what == AtomicOp::cmpswap || what == AtomicOp::fcmpswap;
  const Shape shape(access_param(Element::dwords, size_B / 4));
  const Resolver addresses(w, op, size_B);
  if (!addresses.ok || !known_data(w, op, shape.registers * (compares ? 2 : 1))) return;
  if (!op.returns) ++w.store_sequence;
  Cell old[kMaxLanes];
  for (unsigned l = 0; l < w.lanes && !w.stopped; ++l) {
    if (!(w.exec >> l & 1)) continue;
    const uint64_t source = data64(w, op.src[1].reg, l, size_B);
    const uint64_t compare = compares ? data64(w, op.src[1].reg + size_B / 4, l, size_B) : 0;
    atomic_cell(w, op, l, addresses.lane(l), size_B, what, source, compare, old[l]);
  }
  const bool lds = any_in_lds(w, op, addresses);
  if (w.stopped || !op.returns) return w.stopped ? void() : issue_store(w, op, lds);
  for (unsigned l = 0; l < w.lanes; ++l)
    if (w.exec >> l & 1) unpack(w, shape, op.dst.reg, l, old[l]);
  issue_load(w, op, shape.registers, lds);
}

template <CacheControl kWhat>
void cache(Wave& w, const Op&) {
  w.memory->cache_control(w.config.id, kWhat);
}

#define LOADS(space)                                                             \
  {space "_LOAD_DWORD", load, 0, access_param(Element::dwords, 1)},              \
      {space "_LOAD_DWORDX2", load, 0, access_param(Element::dwords, 2)},        \
      {space "_LOAD_DWORDX3", load, 0, access_param(Element::dwords, 3)},        \
      {space "_LOAD_DWORDX4", load, 0, access_param(Element::dwords, 4)},        \
      {space "_LOAD_UBYTE", load, 0, access_param(Element::u8)},                 \
      {space "_LOAD_SBYTE", load, 0, access_param(Element::i8)},                 \
      {space "_LOAD_USHORT", load, 0, access_param(Element::u16)},               \
      {space "_LOAD_SSHORT", load, 0, access_param(Element::i16)},               \
      {space "_LOAD_UBYTE_D16", load, 0, access_param(Element::d16_u8)},         \
      {space "_LOAD_SBYTE_D16", load, 0, access_param(Element::d16_i8)},         \
      {space "_LOAD_SHORT_D16", load, 0, access_param(Element::d16_b16)},        \
      {space "_LOAD_UBYTE_D16_HI", load, 0, access_param(Element::d16_hi_u8)},   \
      {space "_LOAD_SBYTE_D16_HI", load, 0, access_param(Element::d16_hi_i8)}, { \
    space "_LOAD_SHORT_D16_HI", load, 0, access_param(Element::d16_hi_b16)       \
  }
#define STORES(space)                                                             \
  {space "_STORE_BYTE", store, 0, access_param(Element::u8)},                     \
      {space "_STORE_SHORT", store, 0, access_param(Element::u16)},               \
      {space "_STORE_BYTE_D16_HI", store, 0, access_param(Element::d16_hi_u8)},   \
      {space "_STORE_SHORT_D16_HI", store, 0, access_param(Element::d16_hi_b16)}, \
      {space "_STORE_DWORD", store, 0, access_param(Element::dwords, 1)},         \
      {space "_STORE_DWORDX2", store, 0, access_param(Element::dwords, 2)},       \
      {space "_STORE_DWORDX3", store, 0, access_param(Element::dwords, 3)}, {     \
    space "_STORE_DWORDX4", store, 0, access_param(Element::dwords, 4)            \
  }
#define ATOMIC(space, name, what)                                           \
  {space "_ATOMIC_" name, atomic, 0, atomic_param(AtomicOp::what, 4)}, {    \
    space "_ATOMIC_" name "_X2", atomic, 0, atomic_param(AtomicOp::what, 8) \
  }
#define ATOMICS(space)                                                                       \
  ATOMIC(space, "SWAP", swap), ATOMIC(space, "CMPSWAP", cmpswap), ATOMIC(space, "ADD", add), \
      ATOMIC(space, "SUB", sub), ATOMIC(space, "SMIN", smin), ATOMIC(space, "UMIN", umin),   \
      ATOMIC(space, "SMAX", smax), ATOMIC(space, "UMAX", umax), ATOMIC(space, "AND", and_),  \
      ATOMIC(space, "OR", or_), ATOMIC(space, "XOR", xor_), ATOMIC(space, "INC", inc),       \
      ATOMIC(space, "DEC", dec), ATOMIC(space, "FMIN", fmin), ATOMIC(space, "FMAX", fmax),   \
      ATOMIC(space, "FCMPSWAP", fcmpswap),                                                   \
      {space "_ATOMIC_CSUB", atomic, 0, atomic_param(AtomicOp::csub, 4)}, {                  \
    space "_ATOMIC_ADD_F32", atomic, 0, atomic_param(AtomicOp::fadd, 4)                      \
  }

const Row kRows[] = {
    LOADS("GLOBAL"),
    STORES("GLOBAL"),
    ATOMICS("GLOBAL"),
    LOADS("FLAT"),
    STORES("FLAT"),
    ATOMICS("FLAT"),
    LOADS("SCRATCH"),
    STORES("SCRATCH"),
    LOADS("BUFFER"),
    STORES("BUFFER"),
    ATOMICS("BUFFER"),
    {"BUFFER_GL0_INV", cache<CacheControl::gl0_inv>},
    {"BUFFER_GL1_INV", cache<CacheControl::gl1_inv>},
};

}  // namespace

std::span<const Row> vector_memory_rows() { return kRows; }

}  // namespace tiny::models::amd
