// SPDX-License-Identifier: MIT
// Sine and cosine for every argument: x/pi modulo 2, then one odd polynomial on half a period.
//
// x/pi = n + f; sin x = (-1)^n sin(pi f). The cosine takes n + 1/2 + f and -(-1)^n sin(pi f), so
// its zeros are as exact as the sine's. Large arguments need other bits of 1/pi: as they are
// multiples of a power of two, the leading bits of 1/pi give even n and are left out. Which bits is
// a choice of constants, not of code: no branch, and one evaluation. Tables:
// tools/minimax/minimax.py.
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

/// The 5 chunks of 1/pi from chunk k on, k < 19: one level of choices for each bit of k.
std::vector<Value> chunks_from(Value size, Value k) {
  std::vector<Value> window;
  for (size_t i = 0; i < 23; ++i) window.push_back(size.like(kInversePiDouble[i]));
  for (size_t step = 16; step > 0; step /= 2) {
    const Value taken = (k & step) != 0;
    const size_t needed = 5 + step - 1;  // the lower bits of k reach this far
    for (size_t i = 0; i + step < window.size() && i < needed; ++i)
      window[i] = select(taken, window[i + step], window[i]);
    window.resize(std::min(window.size(), needed));
  }
  return window;
}

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
  const std::vector<Value> chunks = chunks_from(size, scaled.chunk);
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
  const Pair product = two_product(f.hi, f.hi.like(kPiDouble[0]));
  const Value r = product.hi;
  const Value low = product.lo + mul_add(f.hi, kPiDouble[1], f.lo * kPiDouble[0]);
  const Value z = r * r;
  const Value slope = mul_add(z, polynomial(z, kCosRough), z.like(1));  // cos r, for `low` only
  return add_rounded(r, mul_add(r * z, polynomial(z, kSinDouble), low * slope));
}

Value wave_double(Value x, Wave wave) {
  const Value size = magnitude(x);
  const HalfTurns turns = half_turns_double(size, wave);
  const Value s = with_wave_sign(sine_of_half_turns(turns.f), x, turns.parity, wave);
  const Value finite = select(size < HUGE_VAL, s, x.like(NAN));
  // The products' errors underflow here.
  return wave == Wave::sine ? select(size < 0x1p-27, x, finite) : finite;
}

}  // namespace

Value sin(Value x) {
  return x.dtype() == DType::f64 ? wave_double(x, Wave::sine) : wave_single(x, Wave::sine);
}

Value cos(Value x) {
  return x.dtype() == DType::f64 ? wave_double(x, Wave::cosine) : wave_single(x, Wave::cosine);
}

}  // namespace tiny::lower
