// SPDX-License-Identifier: MIT
// Atomic operations on values, and the LDS of one workgroup.
#include "models/amd/isa/memory.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace tiny::models::amd {

const char* atomic_name(AtomicOp op) {
  static constexpr const char* kNames[] = {
      "swap", "cmpswap", "add", "sub", "csub", "rsub", "smin", "umin",     "smax",  "umax", "and",
      "or",   "xor",     "inc", "dec", "fadd", "fmin", "fmax", "fcmpswap", "mskor", "wrap"};
  return kNames[static_cast<unsigned>(op)];
}

namespace {

template <class U, class S, class F>
U atomic_value(AtomicOp op, U old, U source, U compare) {
  const auto f = [](U bits) { return std::bit_cast<F>(bits); };
  const auto u = [](F value) { return std::bit_cast<U>(value); };
  const auto pick = [&](bool take) { return take ? source : old; };
  switch (op) {
    case AtomicOp::swap:
      return source;
    case AtomicOp::cmpswap:
      return pick(old == compare);
    case AtomicOp::add:
      return old + source;
    case AtomicOp::sub:
      return old - source;
    case AtomicOp::csub:
      return old < source ? 0 : old - source;
    case AtomicOp::rsub:
      return source - old;
    case AtomicOp::smin:
      return pick(S(source) < S(old));
    case AtomicOp::umin:
      return pick(source < old);
    case AtomicOp::smax:
      return pick(S(source) > S(old));
    case AtomicOp::umax:
      return pick(source > old);
    case AtomicOp::and_:
      return old & source;
    case AtomicOp::or_:
      return old | source;
    case AtomicOp::xor_:
      return old ^ source;
    case AtomicOp::inc:
      return old >= source ? 0 : old + 1;
    case AtomicOp::dec:
      return old == 0 || old > source ? source : old - 1;
    case AtomicOp::fadd:
      return u(f(old) + f(source));
    case AtomicOp::fmin:
      return std::isnan(f(old)) ? source : pick(f(source) < f(old));
    case AtomicOp::fmax:
      return std::isnan(f(old)) ? source : pick(f(source) > f(old));
    case AtomicOp::fcmpswap:
      return pick(f(old) == f(compare));
    case AtomicOp::mskor:
      return (old & ~source) | compare;
    case AtomicOp::wrap:
      return old >= source ? old - source : old + compare;
  }
  return old;
}

}  // namespace

uint64_t atomic_result(AtomicOp op, unsigned size_B, uint64_t old, uint64_t source,
                       uint64_t compare) {
  if (size_B == 8) return atomic_value<uint64_t, int64_t, double>(op, old, source, compare);
  return atomic_value<uint32_t, int32_t, float>(op, static_cast<uint32_t>(old),
                                                static_cast<uint32_t>(source),
                                                static_cast<uint32_t>(compare));
}

Lds::Lds(unsigned size_B, bool races)
    : bytes_(size_B, 0xcd), poison_(size_B, 1), shadow_(races ? size_B : 0) {}

void Lds::read(unsigned at, unsigned size_B, void* out, uint32_t* poison) const {
  std::memcpy(out, bytes_.data() + at, size_B);
  *poison = 0;
  for (unsigned i = 0; i < size_B; ++i) *poison |= uint32_t(poison_[at + i]) << i;
}

void Lds::write(unsigned at, unsigned size_B, const void* in, uint32_t poison) {
  std::memcpy(bytes_.data() + at, in, size_B);
  for (unsigned i = 0; i < size_B; ++i) poison_[at + i] = poison >> i & 1;
}

int64_t Lds::note(unsigned at, unsigned size_B, uint32_t wave, bool write, bool atomic) {
  if (shadow_.empty()) return -1;
  int64_t other = -1;
  for (unsigned i = at; i < at + size_B; ++i) {
    Shadow& s = shadow_[i];
    if (s.write_epoch == epoch_ && s.write_wave != wave && !(s.write_atomic && atomic))
      other = s.write_wave;
    if (write && !atomic && s.read_epoch == epoch_ && (s.read_wave != wave || s.read_many))
      other = s.read_wave;
    if (write) {
      s.write_epoch = epoch_, s.write_wave = wave, s.write_atomic = atomic;
    } else {
      s.read_many = s.read_epoch == epoch_ && (s.read_many || s.read_wave != wave);
      s.read_epoch = epoch_, s.read_wave = wave;
    }
  }
  return other;
}

}  // namespace tiny::models::amd
