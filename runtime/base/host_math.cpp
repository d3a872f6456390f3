// SPDX-License-Identifier: MIT
// The functions generated code may call. Anything else undefined in an object is refused.
#include <rt_tiny/runtime/base/dtype.h>
#include <rt_tiny/runtime/base/elf.h>

#include <math.h>
#include <string.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace tiny {
namespace {

// LLVM calls these where the host has no instruction. Their half-width arguments and results sit
// in the low 16 bits of a vector register on x86-64 and AArch64 alike, so float carries them.
float carry(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
uint16_t carried(float f) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(f)); }

Half half_of_bits(uint16_t bits) {
  Half h;
  h.bits = bits;
  return h;
}

/// double → float rounded to odd, so that a second rounding to fewer bits is exact.
float round_to_odd(double d) {
  const float f = static_cast<float>(d);
  const double back = f;
  uint32_t bits = std::bit_cast<uint32_t>(f);
  if (!(back != d) || d != d || (bits & 1)) return f;  // exact, NaN, or odd already
  // The nearest float is even: take its odd neighbour on the other side of d.
  const bool away = fabs(back) > fabs(d);
  return std::bit_cast<float>(away ? bits - 1 : bits + 1);
}

float float_to_half(float f) { return carry(Half(f).bits); }
float double_to_half(double d) { return carry(Half(round_to_odd(d)).bits); }
float half_to_float(float h) { return static_cast<float>(half_of_bits(carried(h))); }
double half_to_double(float h) { return half_to_float(h); }
float float_to_bfloat(float f) { return carry(BFloat16(f).bits); }
float double_to_bfloat(double d) { return carry(BFloat16(round_to_odd(d)).bits); }

template <class F>
const void* address(F* function) {
  return reinterpret_cast<const void*>(function);
}

std::vector<HostSymbol> make_table() {
  std::vector<HostSymbol> table;
#define UNARY(name)                                                         \
  table.push_back({#name, address(static_cast<double (*)(double)>(name))}); \
  table.push_back({#name "f", address(static_cast<float (*)(float)>(name##f))});
#define BINARY(name)                                                                \
  table.push_back({#name, address(static_cast<double (*)(double, double)>(name))}); \
  table.push_back({#name "f", address(static_cast<float (*)(float, float)>(name##f))});
  // clang-format off: these are lists
  UNARY(acos) UNARY(acosh) UNARY(asin) UNARY(asinh) UNARY(atan) UNARY(atanh) UNARY(cbrt)
  UNARY(ceil) UNARY(cos) UNARY(cosh) UNARY(erf) UNARY(erfc) UNARY(exp) UNARY(exp10) UNARY(exp2)
  UNARY(expm1) UNARY(fabs) UNARY(floor) UNARY(lgamma) UNARY(log) UNARY(log10) UNARY(log1p)
  UNARY(log2) UNARY(nearbyint) UNARY(rint) UNARY(round) UNARY(roundeven) UNARY(sin) UNARY(sinh)
  UNARY(sqrt) UNARY(tan) UNARY(tanh) UNARY(tgamma) UNARY(trunc)
  BINARY(atan2) BINARY(copysign) BINARY(fdim) BINARY(fmax) BINARY(fmin) BINARY(fmod)
  BINARY(hypot) BINARY(pow) BINARY(remainder)
  // clang-format on
#undef UNARY
#undef BINARY
                      table.push_back(
                          {"fma", address(static_cast<double (*)(double, double, double)>(fma))});
  table.push_back({"fmaf", address(static_cast<float (*)(float, float, float)>(fmaf))});
  table.push_back({"ldexp", address(static_cast<double (*)(double, int)>(ldexp))});
  table.push_back({"ldexpf", address(static_cast<float (*)(float, int)>(ldexpf))});
  table.push_back({"sincos", address(static_cast<void (*)(double, double*, double*)>(sincos))});
  table.push_back({"sincosf", address(static_cast<void (*)(float, float*, float*)>(sincosf))});
  table.push_back({"memcpy", address(static_cast<void* (*)(void*, const void*, size_t)>(memcpy))});
  table.push_back(
      {"memmove", address(static_cast<void* (*)(void*, const void*, size_t)>(memmove))});
  table.push_back({"memset", address(static_cast<void* (*)(void*, int, size_t)>(memset))});
  table.push_back({"__truncsfhf2", address(float_to_half)});
  table.push_back({"__gnu_f2h_ieee", address(float_to_half)});
  table.push_back({"__truncdfhf2", address(double_to_half)});
  table.push_back({"__extendhfsf2", address(half_to_float)});
  table.push_back({"__gnu_h2f_ieee", address(half_to_float)});
  table.push_back({"__extendhfdf2", address(half_to_double)});
  table.push_back({"__truncsfbf2", address(float_to_bfloat)});
  table.push_back({"__truncdfbf2", address(double_to_bfloat)});
  std::sort(table.begin(), table.end(),
            [](const HostSymbol& a, const HostSymbol& b) { return a.name < b.name; });
  return table;
}

}  // namespace

std::span<const HostSymbol> host_math_symbols() {
  static const std::vector<HostSymbol>* const table = new std::vector(make_table());
  return *table;
}

}  // namespace tiny
