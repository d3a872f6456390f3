// SPDX-License-Identifier: MIT
// From a function of one lane to a micro-op of all lanes: the parameter types say how the sources
// are read (modifiers, denormals, halves, DPP, SDWA), the result type how the destination is
// written.
#pragma once

#include "models/amd/isa/number.h"
#include "models/amd/isa/op.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tiny::models::amd {

inline constexpr unsigned kMaxLanes = 64;

/// A dword of every lane.
struct alignas(64) LaneWords {
  uint32_t at[kMaxLanes];
};

/// Which lanes an instruction writes: EXEC, narrowed by DPP.
struct Active {
  uint64_t mask;
  uint64_t source_ok = ~0ull;  ///< lanes whose DPP source exists; the others read 0
  Active(const Wave& wave, const Op& op);
};
bool is_dpp(const Op& op);

/// One dword (0 = low) of a source for all lanes, before floating-point modifiers; a pointer into
/// the register file where possible, else into `space`. Adds the poison of its halves.
const uint32_t* fetch_words(const Wave& wave, const Op& op, unsigned index, unsigned dword,
                            const Active& active, LaneWords& space, Poison& poison);

/// The same, with the common case in line: a vector register, all lanes as they are.
inline const uint32_t* fetch_lanes(const Wave& wave, const Op& op, unsigned index, unsigned dword,
                                   const Active& active, LaneWords& space, Poison& poison) {
  const Source& s = op.src[index];
  if (s.kind != Operand::Kind::vgpr || op.form > Form::e64)
    return fetch_words(wave, op, index, dword, active, space, poison);
  const Poison& own = wave.vpoison[s.reg + dword];
  poison.lo |= own.lo;
  poison.hi |= own.hi;
  return wave.vreg(s.reg + dword);
}

/// What a lane function may ask of its instruction.
struct Context {
  bool clamp, ieee, dx10_clamp;
  unsigned round32, round64;
  const Op& op;
  const Wave& wave;
  Context(const Wave& w, const Op& o)
      : clamp(o.clamp),
        ieee(w.mode.ieee),
        dx10_clamp(w.mode.dx10_clamp),
        round32(w.mode.round32),
        round64(w.mode.round64),
        op(o),
        wave(w) {}
};

struct InputArguments {
  const Wave& wave;
  const Op& op;
  unsigned index;
  const Active& active;
  Poison& poison;
};

/// A source as an array over lanes of type T.
template <class T>
class Input {
 public:
  Input(const InputArguments& a) { load(a); }  // NOLINT: implicit, for std::tuple
  T operator[](unsigned lane) const { return p_[lane]; }
  /// Replaces uninitialised halves by `pattern`.
  void spoil(uint32_t pattern);

 private:
  void load(const InputArguments& a);
  const T* p_ = nullptr;
  Poison own_;
  unsigned lanes_ = 0;
  union Space {
    LaneWords words[2];
    T values[kMaxLanes];
    Space() {}
  } space_;
};

/// The half a 16-bit operand reads: VOP3's op_sel.
inline bool reads_high(const Op& op, const Source& source) {
  return op.form != Form::sdwa && (source.mods & 4);
}

inline void add_half_poison(Poison& sum, const Poison& word, bool high) {
  const uint64_t p = high ? word.hi : word.lo;
  sum.lo |= p;
  sum.hi |= p;
}
inline void add_word_poison(Poison& sum, const Poison& word) {
  sum.lo |= word.any();
  sum.hi |= word.any();
}

template <class T>
void Input<T>::load(const InputArguments& a) {
  const Source& s = a.op.src[a.index];
  Poison poison;
  LaneWords* w = space_.words;
  const unsigned n = a.wave.lanes;
  const uint32_t* words = fetch_lanes(a.wave, a.op, a.index, 0, a.active, w[0], poison);
  own_ = poison;
  lanes_ = n;
  if constexpr (std::is_same_v<T, uint32_t> || std::is_same_v<T, int32_t>) {
    p_ = reinterpret_cast<const T*>(words);
    add_word_poison(a.poison, poison);
  } else if constexpr (std::is_same_v<T, float>) {
    p_ = reinterpret_cast<const T*>(words);
    add_word_poison(a.poison, poison);
    const bool flush = !(a.wave.mode.denorm32 & 1);
    if ((s.mods & 3) == 0 && !flush) return;
    const uint32_t keep = s.abs() ? 0x7fffffffu : ~0u, flip = s.neg() ? 0x80000000u : 0;
    for (unsigned l = 0; l < n; ++l) {
      const uint32_t bits = (words[l] & keep) ^ flip;
      w[0].at[l] = flush ? flush32(bits) : bits;
    }
    p_ = reinterpret_cast<const T*>(w[0].at);
  } else if constexpr (sizeof(T) == 8 && !std::is_same_v<T, f16>) {
    const uint32_t* high = fetch_lanes(a.wave, a.op, a.index, 1, a.active, w[1], poison);
    add_word_poison(a.poison, poison);
    uint64_t out[kMaxLanes];
    for (unsigned l = 0; l < n; ++l) out[l] = words[l] | uint64_t(high[l]) << 32;
    if constexpr (std::is_same_v<T, double>) {
      const bool flush = !(a.wave.mode.denorm64 & 1);
      const uint64_t keep = s.abs() ? ~(1ull << 63) : ~0ull, flip = s.neg() ? 1ull << 63 : 0;
      for (unsigned l = 0; l < n; ++l) {
        out[l] = (out[l] & keep) ^ flip;
        if (flush) out[l] = flush64(out[l]);
      }
    }
    std::memcpy(space_.values, out, n * 8);
    p_ = space_.values;
  } else {
    const bool high = reads_high(a.op, s);
    add_half_poison(a.poison, poison, high);
    const bool flush = !(a.wave.mode.denorm64 & 1);
    uint16_t half[kMaxLanes];
    for (unsigned l = 0; l < n; ++l) half[l] = static_cast<uint16_t>(words[l] >> (high ? 16 : 0));
    for (unsigned l = 0; l < n; ++l) {
      if constexpr (std::is_same_v<T, f16>) {
        uint16_t bits = half[l];
        if (s.abs()) bits &= 0x7fff;
        if (s.neg()) bits ^= 0x8000;
        space_.values[l].value = half_to_double(flush ? flush16(bits) : bits);
      } else {
        static_assert(sizeof(T) == 2);
        space_.values[l] = static_cast<T>(half[l]);
      }
    }
    p_ = space_.values;
  }
}

template <class T>
void Input<T>::spoil(uint32_t pattern) {
  if constexpr (sizeof(T) == 4) {
    uint32_t out[kMaxLanes];
    for (unsigned l = 0; l < lanes_; ++l) {
      const uint32_t mask = (own_.lo >> l & 1 ? 0xffffu : 0) | (own_.hi >> l & 1 ? 0xffff0000u : 0);
      uint32_t word;
      std::memcpy(&word, &p_[l], 4);
      out[l] = (word & ~mask) | (pattern & mask);
    }
    std::memcpy(space_.values, out, sizeof(T) * lanes_);
    p_ = space_.values;
  }
}

template <>
class Input<Context> {
 public:
  Input(const InputArguments& a) : context_(a.wave, a.op) {}  // NOLINT
  void spoil(uint32_t) {}
  const Context& operator[](unsigned) const { return context_; }

 private:
  Context context_;
};

// ---- destinations. `poison` is of the sources; it lands on the lanes written.
void commit_words(Wave& wave, const Op& op, const Source& dst, unsigned dword,
                  const uint32_t* values, const Active& active, const Poison& poison);
/// The same, with the common case in line: no partial writes, all lanes active.
inline void commit_lanes(Wave& wave, const Op& op, const Source& dst, const uint32_t* values,
                         const Active& active, const Poison& poison) {
  if (active.mask != wave.lane_mask || op.form == Form::sdwa)
    return commit_words(wave, op, dst, 0, values, active, poison);
  std::memcpy(wave.vreg(dst.reg), values, wave.lanes * 4);
  wave.vpoison[dst.reg] = {poison.lo & active.mask, poison.hi & active.mask};
}
/// 16-bit results keep the other half of the register.
void commit_halves(Wave& wave, const Op& op, const uint16_t* values, const Active& active,
                   const Poison& poison);
void commit_mask(Wave& wave, const Source& dst, uint64_t value, const Active& active,
                 const Poison& poison);
/// Output modifiers, clamp and denormals.
void finish_floats(const Wave& wave, const Op& op, float* values);
void finish_doubles(const Wave& wave, const Op& op, double* values);
void round_halves(const Wave& wave, const Op& op, const f16* values, uint16_t* out);

template <class T>
struct Signature : Signature<decltype(&T::operator())> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> {
  using Result = R;
  using Indices = std::index_sequence_for<A...>;
  static constexpr bool kContext = (std::is_same_v<std::remove_cvref_t<A>, Context> || ...);
  template <auto F, size_t... I>
  static void map(const Wave& wave, const Op& op, const Active& active, Poison& poison, R* out,
                  std::index_sequence<I...>) {
    const std::tuple<Input<std::remove_cvref_t<A>>...> in(
        InputArguments{wave, op, static_cast<unsigned>(kContext ? I - 1 : I), active, poison}...);
    for (unsigned base = 0; base < wave.lanes; base += 32)
      for (unsigned l = 0; l < 32; ++l) out[base + l] = F(std::get<I>(in)[base + l]...);
  }
  /// As map, and the poison of each half of the result: where the value of uninitialised halves
  /// makes a difference, tried with two fillings.
  template <auto F, size_t... I>
  static void map_exact(const Wave& wave, const Op& op, const Active& active, Poison& poison,
                        R* out, std::index_sequence<I...>) {
    static_assert(sizeof(R) == 4);
    std::tuple<Input<std::remove_cvref_t<A>>...> in(
        InputArguments{wave, op, static_cast<unsigned>(kContext ? I - 1 : I), active, poison}...);
    for (unsigned base = 0; base < wave.lanes; base += 32)
      for (unsigned l = 0; l < 32; ++l) out[base + l] = F(std::get<I>(in)[base + l]...);
    if (!(poison.any() & active.mask)) [[likely]]
      return;
    static constexpr uint32_t kFill[] = {0xffffffffu, 0x5ac3a53cu, 0xa53c96c3u};
    (std::get<I>(in).spoil(0), ...);
    R zeros[kMaxLanes];
    for (unsigned l = 0; l < wave.lanes; ++l) zeros[l] = F(std::get<I>(in)[l]...);
    (std::get<I>(in).spoil(kFill[I % 3]), ...);
    Poison exact;
    for (unsigned l = 0; l < wave.lanes; ++l) {
      const uint32_t differ =
          static_cast<uint32_t>(zeros[l]) ^ static_cast<uint32_t>(F(std::get<I>(in)[l]...));
      exact.lo |= uint64_t((differ & 0xffffu) != 0) << l;
      exact.hi |= uint64_t((differ >> 16) != 0) << l;
    }
    poison = exact;
  }
};

template <class R>
void commit(Wave& wave, const Op& op, R* out, const Active& active, const Poison& poison) {
  if constexpr (std::is_same_v<R, float>) {
    finish_floats(wave, op, out);
    commit_lanes(wave, op, op.dst, reinterpret_cast<const uint32_t*>(out), active, poison);
  } else if constexpr (std::is_same_v<R, f16>) {
    uint16_t half[kMaxLanes];
    round_halves(wave, op, out, half);
    commit_halves(wave, op, half, active, poison);
  } else if constexpr (sizeof(R) == 8) {
    if constexpr (std::is_same_v<R, double>) finish_doubles(wave, op, out);
    uint32_t words[2][kMaxLanes];
    for (unsigned l = 0; l < wave.lanes; ++l) {
      uint64_t bits;
      std::memcpy(&bits, &out[l], 8);
      words[0][l] = static_cast<uint32_t>(bits);
      words[1][l] = static_cast<uint32_t>(bits >> 32);
    }
    commit_words(wave, op, op.dst, 0, words[0], active, poison);
    commit_words(wave, op, op.dst, 1, words[1], active, poison);
  } else if constexpr (std::is_same_v<R, bool>) {
    uint64_t mask = 0;
    for (unsigned l = 0; l < wave.lanes; ++l) mask |= uint64_t(out[l]) << l;
    commit_mask(wave, op.sdst, mask, active, poison);
  } else if constexpr (sizeof(R) == 2) {
    commit_halves(wave, op, reinterpret_cast<const uint16_t*>(out), active, poison);
  } else {
    commit_lanes(wave, op, op.dst, reinterpret_cast<const uint32_t*>(out), active, poison);
  }
}

/// The micro-op of a captureless lambda over one lane's values.
template <auto F>
void lanes(Wave& wave, const Op& op) {
  using S = Signature<decltype(F)>;
  const Active active(wave, op);
  Poison poison;
  alignas(64) typename S::Result out[kMaxLanes];
  S::template map<F>(wave, op, active, poison, out, typename S::Indices{});
  commit<typename S::Result>(wave, op, out, active, poison);
}

/// The same for integer functions that move bits, with exact poison.
template <auto F>
void lanes_exact(Wave& wave, const Op& op) {
  using S = Signature<decltype(F)>;
  const Active active(wave, op);
  Poison poison;
  alignas(64) typename S::Result out[kMaxLanes];
  S::template map_exact<F>(wave, op, active, poison, out, typename S::Indices{});
  commit<typename S::Result>(wave, op, out, active, poison);
}

/// Number of source operands of a lane function (its Context is none).
template <auto F>
inline constexpr uint8_t kArity = static_cast<uint8_t>(Signature<decltype(F)>::Indices::size() -
                                                       Signature<decltype(F)>::kContext);

template <auto F>
constexpr Row lane_row(std::string_view name, uint8_t round = 0) {
  return {name, &lanes<F>, kArity<F>, 0, round};
}

template <auto F>
constexpr Row exact_row(std::string_view name) {
  return {name, &lanes_exact<F>, kArity<F>, 0, 0};
}

}  // namespace tiny::models::amd
