// SPDX-License-Identifier: MIT
// Sine and cosine for every argument: x/pi modulo 2, then one odd polynomial on half a period.
//
// x/pi = n + f; sin x = (-1)^n sin(pi f). The cosine takes n + 1/2 + f and -(-1)^n sin(pi f), so
// its zeros are as exact as the sine's. Large arguments need other bits of 1/pi: as they are
// multiples of a power of two, the leading bits of 1/pi give even n and are left out. Which bits is
// a choice of constants, not of code: no branch, and one evaluation. Tables:
// tools/minimax/minimax.py.
#include <algorithm>

#include "compiler/lower/decompose_ops.h"
#include "compiler/lower/decompose_tables.h"

namespace tiny::lower {

namespace {

enum class Wave { sine, cosine };

/// x/pi, or x/pi - 1/2, modulo 2: `parity` has its low bit set where n is odd.
struct HalfTurns {
  Pair f;
  Value parity;
};

/// sin(pi f) with the sign that n and x give it.
Value with_wave_sign(Value s, Value x, Value parity, Wave wave) {
  const int top = format_of(s).mantissa_bits == 23 ? 31 : 63;
  const Value flip = parity << top;
  if (wave == Wave::cosine) return with_sign(s, flip ^ format_of(s).sign_bit());
  return with_sign(s, flip ^ sign_of(x));
}

/// f in f64 for |x| < 2^128 that has 24 significant bits. For a = 50, 76, 102: |x| in [2^a,
/// 2^(a+26)) takes 1/pi modulo 2^(24-a), at most 2^(23-a) after centring, so |x/pi| < 2^49.
HalfTurns half_turns_single(Value size, Wave wave) {
  Value hi = size.like(kInversePiSingle[0]), lo = size.like(kInversePiSingle[1]);
  constexpr double kStarts[] = {0x1p50, 0x1p76, 0x1p102};
  for (int i = 0; i < 3; ++i) {
    const Value beyond = size < kStarts[i];
    hi = select(beyond, hi, size.like(kInversePiSingle[2 * i + 2]));
    lo = select(beyond, lo, size.like(kInversePiSingle[2 * i + 3]));
  }
  const Value half = size.like(wave == Wave::cosine ? 0.5 : 0);
  const Value turns = wave == Wave::cosine ? mul_add(size, hi, -half) : size * hi;
  const Nearest n = nearest(turns, 1);
  const Value whole = wave == Wave::cosine ? n.value + half : n.value;
  // size * hi has 77 bits; what is left of them fits f64.
  Value f;
  if (size.builder->target.has_fma) {
    f = mul_add(size, hi, -whole);
  } else {
    const Value head = float_of(bits_of(hi) & ~((uint64_t{1} << 24) - 1));  // 29 bits
    f = (size * head - whole) + size * (hi - head);
  }
  return {{mul_add(size, lo, f), f.like(0)}, n.bits & 1};
}

Value wave_single(Value x, Wave wave) {
  const HalfTurns turns = half_turns_single(cast(magnitude(x), DType::f64), wave);
  const Value f = turns.f.hi;
  const Value s = f * polynomial(f * f, kSinSingle);
  const Value flipped = with_sign(s, turns.parity << 63);
  const Value result = cast(flipped, DType::f32);
  if (wave == Wave::cosine) return -result;
  return with_sign(result, sign_of(x));
}

/// words[k] to words[k + count - 1], k a runtime integer: one level of choices for each bit of k.
std::vector<Value> window_at(std::vector<Value> words, Value k, size_t count) {
  for (size_t step = std::bit_floor(words.size() - count); step > 0; step /= 2) {
    const Value taken = (k & step) != 0;
    const size_t needed = count + step - 1;  // the lower bits of k reach this far
    for (size_t i = 0; i + step < words.size() && i < needed; ++i)
      words[i] = select(taken, words[i + step], words[i]);
    words.resize(std::min(words.size(), needed));
  }
  return words;
}

/// v modulo 2, exactly.
Value modulo_two(Value v) { return sub_rounded(v, trunc(v * 0.5) * 2); }

/// Sums whose terms are first cut at one binary place, so that the upper parts add without error.
class SplitSum {
 public:
  /// Cuts at 2^place; the sum of the upper parts stays below 2^(place + 52).
  explicit SplitSum(int place) : round_(std::ldexp(1.5, place + 52)) {}
  void add(Value v) {
    const Value upper = add_rounded(v, v.like(round_)) - round_;
    sum_ = sum_.node ? sum_ + upper : upper;
    rest_.push_back(sub_rounded(v, upper));
  }
  Value sum() const { return sum_; }
  const std::vector<Value>& rest() const { return rest_; }

 private:
  double round_;
  Value sum_;
  std::vector<Value> rest_;
};

/// Which chunk the first useful bits of 1/pi are in, and |x| scaled to it: below 2^106.
struct Scaled {
  Value size, chunk;
};
Scaled scale_to_chunk(Value size) {
  // 2^a <= |x| is a multiple of 2^(a-52); times chunk j that is even where a >= 106 + 53 j.
  const Value bits = bits_of(size);
  const Value field = bits >> 52;
  const Value past = select(field < 1023 + 106, field.like(0), field - (1023 + 53));
  const Value chunk = (past * 1237) >> 16;  // past / 53 for past < 972
  return {float_of(bits - ((chunk * 53) << 52)), chunk};
}

/// Largest terms first: |products| are below 2^105, 2^52, 2^-1, 2^-54 and 2^-107, their rounding
/// errors 2^-53 of that. f may be as small as 2^-62; the sum's error is below 2^-140.
HalfTurns half_turns_double(Value size, Wave wave) {
  const Scaled scaled = scale_to_chunk(size);
  std::vector<Value> table;
  for (int i = 0; i < 23; ++i) table.push_back(size.like(kInversePiDouble[i]));
  const std::vector<Value> chunks = window_at(std::move(table), scaled.chunk, 5);  // chunk < 19
  std::vector<Pair> p;
  for (int i = 0; i < 4; ++i)
    p.push_back(two_product(scaled.size, chunks[i] * std::ldexp(1.0, -53 * i)));
  const Value last = scaled.size * (chunks[4] * 0x1p-212);

  SplitSum top(-46);
  for (const Value& v : {p[0].hi, p[0].lo, p[1].hi}) top.add(modulo_two(v));
  for (const Value& v : {p[1].lo, p[2].hi}) top.add(v);
  Value sum = top.sum();
  if (wave == Wave::cosine) sum = sum - 0.5;
  const Nearest n = nearest(sum, 1);

  SplitSum middle(-92);
  for (const Value& v : top.rest()) middle.add(v);
  for (const Value& v : {p[2].lo, p[3].hi}) middle.add(v);
  Value bottom = p[3].lo + last;
  for (const Value& v : middle.rest()) bottom = bottom + v;
  const Pair head = two_sum(sum - n.value, middle.sum());
  return {fast_two_sum(head.hi, head.lo + bottom), n.bits & 1};
}

/// sin(pi f), f a pair with |f| <= 1/2.
Value sine_of_half_turns(Pair f) {
  const bool wide = f.hi.dtype() == DType::f64;
  const std::span<const double> pi = wide ? kPiDouble : kPiSingle;
  const std::span<const double> table =
      wide ? std::span<const double>(kSinDouble) : kSinRadiansSingle;
  const Pair product = two_product(f.hi, f.hi.like(pi[0]));
  const Value r = product.hi;
  const Value low = product.lo + mul_add(f.hi, pi[1], f.lo * pi[0]);
  const Value z = r * r;
  const Value slope = mul_add(z, polynomial(z, kCosRough), z.like(1));  // cos r, for `low` only
  return add_rounded(r, mul_add(r * z, polynomial(z, table), low * slope));
}

Value wave_double(Value x, Wave wave) {
  const Value size = magnitude(x);
  const HalfTurns turns = half_turns_double(size, wave);
  const Value s = with_wave_sign(sine_of_half_turns(turns.f), x, turns.parity, wave);
  const Value finite = select(size < HUGE_VAL, s, x.like(NAN));
  // The products' errors underflow here.
  return wave == Wave::sine ? select(size < 0x1p-27, x, finite) : finite;
}

/// The 96 bits of 1/pi that start 2^(26-s), s = field - 124 for |x| of exponent field `field`: what
/// is above contributes even n, what is below less than 2^-64. Highest word first.
std::vector<Value> inverse_pi_bits(Value s) {
  std::vector<Value> words{s.like(0)};  // 32 bits above the binary point
  for (uint32_t w : kInversePiWords) words.push_back(s.like(w));
  const Value offset = s + 5, shift = offset & 31;
  const std::vector<Value> v = window_at(std::move(words), offset >> 5, 4);
  std::vector<Value> aligned;
  for (int i = 0; i < 3; ++i)
    aligned.push_back((v[i] << shift) | (v[i + 1] >> (shift.like(32) - shift)));  // 0 for 32
  return aligned;
}

/// Without f64: x/pi modulo 2 as a 64-bit fraction, by integer multiplication.
HalfTurns half_turns_integer(Value size, Wave wave) {
  const Value bits = bits_of(size), field = bits >> 23;
  const Value small = field < 124;
  // Bits below the fraction's reach are dropped: a small cosine is near 1, a small sine not asked.
  const Value drop = select(small, field.like(124) - field, field.like(0));
  const Value integer = ((bits & 0x7fffff) | 0x800000) >> drop;
  const std::vector<Value> inverse = inverse_pi_bits(select(small, field.like(0), field - 124));
  auto times = [&](Value w) { return cast(integer, DType::u64) * cast(w, DType::u64); };
  Value turns = (times(inverse[0]) << 32) + times(inverse[1]) + (times(inverse[2]) >> 32);
  if (wave == Wave::cosine) turns = turns - (uint64_t{1} << 62);
  const Value parity = (turns + (uint64_t{1} << 62)) >> 63;
  const Value rest = bitcast(turns - (parity << 63), DType::i64);
  const Value hi = cast(rest, DType::f32), lo = cast(rest - cast(hi, DType::i64), DType::f32);
  return {{hi * 0x1p-63, lo * 0x1p-63}, cast(parity, DType::u32)};
}

/// Within 2 ulp, where f64 gives half of one.
Value wave_without_double(Value x, Wave wave) {
  const Value size = magnitude(x);
  const HalfTurns turns = half_turns_integer(size, wave);
  const Value s = with_wave_sign(sine_of_half_turns(turns.f), x, turns.parity, wave);
  const Value finite = select(size < HUGE_VAL, s, x.like(NAN));
  if (wave == Wave::cosine) return finite;
  const Value square = x * x;  // below 1/8 the argument is its own reduction
  const Value direct = mul_add(x * square, polynomial(square, kSinRadiansSingle), x);
  return select(size < 0.125, direct, finite);
}

Value wave_of(Value x, Wave wave) {
  if (x.dtype() == DType::f64) return wave_double(x, wave);
  return x.builder->target.has_f64 ? wave_single(x, wave) : wave_without_double(x, wave);
}

}  // namespace

Value sin(Value x) { return wave_of(x, Wave::sine); }
Value cos(Value x) { return wave_of(x, Wave::cosine); }

}  // namespace tiny::lower
