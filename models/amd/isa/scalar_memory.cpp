// SPDX-License-Identifier: MIT
// Scalar loads through the constant cache.
#include "models/amd/isa/op.h"

#include <fmt/format.h>

#include <cstring>

namespace tiny::models::amd {
namespace {

bool known(Wave& w, uint64_t poison, const char* what) {
  if (!poison || !w.policy.poison_address) return true;
  w.fail(FaultKind::uninitialized, fmt::format("the {} is uninitialised", what));
  return false;
}

void issue(Wave& w, const Op& op, unsigned dwords) {
  Outstanding o{};
  o.kind = Outstanding::Kind::scalar;
  o.lgkm = true;
  o.sgpr = op.dst.reg;
  o.sgprs = static_cast<uint16_t>(op.dst.reg == kNull ? 0 : dwords);
  w.issue(o);
}

void load_dwords(Wave& w, const Op& op, uint64_t address, unsigned dwords, unsigned inside) {
  Access a;
  a.wave = w.config.id;
  a.pc = op.pc;
  a.address = address & ~3ull;
  a.size_B = 4 * inside;
  a.policy = op.policy;
  uint32_t data[16] = {};
  uint64_t poison = 0;
  if (inside) {
    const MemoryResult r = w.memory->scalar_load(a, data, &poison);
    if (!r.ok) return w.fail(FaultKind::memory, r.reason, 0, r.address);
  }
  for (unsigned i = 0; i < dwords; ++i) {
    uint32_t bits = 0;
    for (unsigned b = 0; b < 4; ++b)
      if (poison >> (4 * i + b) & 1) bits |= 0xffu << (8 * b);
    if (op.dst.reg != kNull) w.set_sgpr(op.dst.reg + i, data[i], bits);
  }
  issue(w, op, dwords);
}

uint64_t register_offset(Wave& w, const Op& op, uint32_t* poison) {
  *poison = 0;
  return op.source_count > 1 ? read32(w, op.src[1], poison) : 0;
}

void load(Wave& w, const Op& op) {
  uint64_t p = 0;
  uint32_t p_offset = 0;
  const uint64_t base = read64(w, op.src[0], &p);
  const uint64_t address =
      base + register_offset(w, op, &p_offset) + static_cast<uint64_t>(int64_t(op.offset));
  if (known(w, p | p_offset, "address")) load_dwords(w, op, address, op.param, op.param);
}

/// Dwords outside the buffer read as 0.
void buffer_load(Wave& w, const Op& op) {
  const unsigned r = op.src[0].reg;
  uint32_t p_offset = 0;
  const uint64_t offset =
      (register_offset(w, op, &p_offset) + static_cast<uint64_t>(int64_t(op.offset))) & ~3ull;
  const uint32_t w1 = w.sgpr(r + 1), stride = w1 >> 16 & 0x3fff;
  const uint64_t base = w.sgpr(r) | uint64_t(w1 & 0xffff) << 32;
  const uint64_t size = uint64_t(w.sgpr(r + 2)) * (stride ? stride : 1);
  uint32_t p = p_offset;
  for (unsigned i = 0; i < 4; ++i) p |= w.spoison[r + i];
  if (!known(w, p, "buffer descriptor")) return;
  unsigned inside = 0;
  while (inside < op.param && offset + 4 * inside + 4 <= size) ++inside;
  load_dwords(w, op, base + offset, op.param, inside);
}

void memtime(Wave& w, const Op& op) {
  const uint64_t value = op.param ? w.cycles / 20 + 1 : w.cycles;
  w.set_sgpr(op.dst.reg, static_cast<uint32_t>(value));
  w.set_sgpr(op.dst.reg + 1, static_cast<uint32_t>(value >> 32));
  issue(w, op, 2);
}

template <CacheControl kWhat>
void cache(Wave& w, const Op&) {
  w.memory->cache_control(w.config.id, kWhat);
}

const Row kRows[] = {
    {"S_LOAD_DWORD", load, 0, 1},
    {"S_LOAD_DWORDX2", load, 0, 2},
    {"S_LOAD_DWORDX4", load, 0, 4},
    {"S_LOAD_DWORDX8", load, 0, 8},
    {"S_LOAD_DWORDX16", load, 0, 16},
    {"S_LOAD_B32", load, 0, 1},
    {"S_LOAD_B64", load, 0, 2},
    {"S_LOAD_B128", load, 0, 4},
    {"S_LOAD_B256", load, 0, 8},
    {"S_LOAD_B512", load, 0, 16},
    {"S_BUFFER_LOAD_DWORD", buffer_load, 0, 1},
    {"S_BUFFER_LOAD_DWORDX2", buffer_load, 0, 2},
    {"S_BUFFER_LOAD_DWORDX4", buffer_load, 0, 4},
    {"S_BUFFER_LOAD_DWORDX8", buffer_load, 0, 8},
    {"S_BUFFER_LOAD_DWORDX16", buffer_load, 0, 16},
    {"S_BUFFER_LOAD_B32", buffer_load, 0, 1},
    {"S_BUFFER_LOAD_B64", buffer_load, 0, 2},
    {"S_BUFFER_LOAD_B128", buffer_load, 0, 4},
    {"S_BUFFER_LOAD_B256", buffer_load, 0, 8},
    {"S_BUFFER_LOAD_B512", buffer_load, 0, 16},
    {"S_MEMTIME", memtime, 0, 0},
    {"S_MEMREALTIME", memtime, 0, 1},
    {"S_DCACHE_INV", cache<CacheControl::scalar_inv>},
    {"S_DCACHE_WB", cache<CacheControl::scalar_writeback>},
    {"S_GL1_INV", cache<CacheControl::gl1_inv>},
};

}  // namespace

std::span<const Row> scalar_memory_rows() { return kRows; }

}  // namespace tiny::models::amd
