// SPDX-License-Identifier: MIT
#include "tests/compiler/lane_evaluator.h"

#include <rt_tiny/runtime/base/error.h>

#include <cmath>
#include <limits>

#include "compiler/ir/scalar.h"

namespace tiny::test {

namespace {

using ir::Node;
using ir::Op;

template <class T>
constexpr bool kReal = std::is_floating_point_v<T>;
template <class T>
constexpr bool kHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
constexpr bool kInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// Calls f with a value of the C++ type of the dtype.
template <class F>
void with_type(DType t, F f) {
  switch (t) {
    case DType::boolean:
      return f(bool{});
    case DType::u8:
      return f(uint8_t{});
    case DType::u16:
      return f(uint16_t{});
    case DType::u32:
      return f(uint32_t{});
    case DType::u64:
      return f(uint64_t{});
    case DType::i8:
      return f(int8_t{});
    case DType::i16:
      return f(int16_t{});
    case DType::i32:
      return f(int32_t{});
    case DType::i64:
      return f(int64_t{});
    case DType::f16:
      return f(Half{});
    case DType::bf16:
      return f(BFloat16{});
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
  }
}

template <class T, class R, class F>
void map1(const Lanes& a, Lanes& out, F f) {
  const T* x = a.data<T>();
  R* r = out.data<R>();
  for (size_t i = 0; i < out.count; ++i) r[i] = static_cast<R>(f(x[i]));
}

template <class T, class R, class F>
void map2(const Lanes& a, const Lanes& b, Lanes& out, F f) {
  const T *x = a.data<T>(), *y = b.data<T>();
  R* r = out.data<R>();
  for (size_t i = 0; i < out.count; ++i) r[i] = static_cast<R>(f(x[i], y[i]));
}

/// Anything rare, one element at a time through the reference.
void by_reference(const Node* n, const std::vector<const Lanes*>& s, Lanes& out) {
  auto scalar = [](const Lanes& l, size_t i) {
    const ir::Scalar bits{static_cast<int64_t>(l.bits(i)), 0};
    const DType raw = size_B(l.dtype) == 1   ? DType::u8
                      : size_B(l.dtype) == 2 ? DType::u16
                      : size_B(l.dtype) == 4 ? DType::u32
                                             : DType::u64;
    if (l.dtype == DType::boolean) return bits;
    return ir::evaluate(Op::BITCAST, raw, l.dtype, std::span(&bits, 1));
  };
  for (size_t i = 0; i < out.count; ++i) {
    ir::Scalar operands[3];
    for (size_t j = 0; j < s.size(); ++j) operands[j] = scalar(*s[j], i);
    const ir::Scalar v =
        ir::evaluate(n->op(), n->sources().back()->dtype(), n->dtype(), {operands, s.size()});
    if (!is_float(out.dtype)) {
      out.set_bits(i, static_cast<uint64_t>(v.integer));
      continue;
    }
    with_type(out.dtype, [&](auto t) {
      using T = decltype(t);
      if constexpr (kReal<T>) out.data<T>()[i] = static_cast<T>(v.real);
      if constexpr (kHalf<T>) out.data<T>()[i] = T(static_cast<float>(v.real));
    });
  }
}

template <class T>
bool real_op(const Node* n, const std::vector<const Lanes*>& s, Lanes& out) {
  switch (n->op()) {
    case Op::NEG:
      map1<T, T>(*s[0], out, [](T a) { return -a; });
      return true;
    case Op::SQRT:
      map1<T, T>(*s[0], out, [](T a) { return std::sqrt(a); });
      return true;
    case Op::TRUNC:
      map1<T, T>(*s[0], out, [](T a) { return std::trunc(a); });
      return true;
    case Op::ADD:
      map2<T, T>(*s[0], *s[1], out, [](T a, T b) { return a + b; });
      return true;
    case Op::SUB:
      map2<T, T>(*s[0], *s[1], out, [](T a, T b) { return a - b; });
      return true;
    case Op::MUL:
      map2<T, T>(*s[0], *s[1], out, [](T a, T b) { return a * b; });
      return true;
    case Op::FDIV:
      map2<T, T>(*s[0], *s[1], out, [](T a, T b) { return a / b; });
      return true;
    default:
      return false;
  }
}

template <class T>
bool integer_op(const Node* n, const std::vector<const Lanes*>& s, Lanes& out) {
  using U = std::make_unsigned_t<T>;
  using W = std::conditional_t<sizeof(T) < 4, uint32_t, U>;  // no promotion to signed int
  constexpr W kBits = sizeof(T) * 8;
  switch (n->op()) {
    case Op::ADD:
      map2<T, T>(*s[0], *s[1], out, [](T a, T b) { return T(W(a) + W(b)); });
      return true;
    case Op::SUB:
      map2<T, T>(*s[0], *s[1], out, [](T a, T b) { return T(W(a) - W(b)); });
      return true;
    case Op::MUL:
      map2<T, T>(*s[0], *s[1], out, [](T a, T b) { return T(W(a) * W(b)); });
      return true;
    case Op::AND:
      map2<T, T>(*s[0], *s[1], out, [](T a, T b) { return T(a & b); });
      return true;
    case Op::OR:
      map2<T, T>(*s[0], *s[1], out, [](T a, T b) { return T(a | b); });
      return true;
    case Op::XOR:
      map2<T, T>(*s[0], *s[1], out, [](T a, T b) { return T(a ^ b); });
      return true;
    case Op::SHL:
      map2<T, T>(*s[0], *s[1], out,
                 [](T a, T b) { return W(U(b)) < kBits ? T(W(a) << U(b)) : T(0); });
      return true;
    case Op::SHR:
      map2<T, T>(*s[0], *s[1], out,
                 [](T a, T b) { return W(U(b)) < kBits ? T(a >> U(b)) : T(a < 0 ? -1 : 0); });
      return true;
    default:
      return false;
  }
}

template <class T>
bool comparison(const Node* n, const std::vector<const Lanes*>& s, Lanes& out) {
  switch (n->op()) {
    case Op::CMPLT:
      map2<T, bool>(*s[0], *s[1], out, [](T a, T b) { return a < b; });
      return true;
    case Op::CMPEQ:
      map2<T, bool>(*s[0], *s[1], out, [](T a, T b) { return a == b; });
      return true;
    case Op::CMPNE:
      map2<T, bool>(*s[0], *s[1], out, [](T a, T b) { return a != b; });
      return true;
    default:
      return false;
  }
}

template <class T>
void choose(const std::vector<const Lanes*>& s, Lanes& out) {
  const bool* c = s[0]->data<bool>();
  const T *a = s[1]->data<T>(), *b = s[2]->data<T>();
  T* r = out.data<T>();
  for (size_t i = 0; i < out.count; ++i) r[i] = c[i] ? a[i] : b[i];
}

template <class T>
void multiply_add(const Lanes& a, const Lanes& b, const Lanes& c, T sign_ab, T sign_c, bool fused,
                  Lanes& out) {
  const T *x = a.data<T>(), *y = b.data<T>(), *z = c.data<T>();
  T* r = out.data<T>();
  if (fused) {
    for (size_t i = 0; i < out.count; ++i) r[i] = std::fma(sign_ab * x[i], y[i], sign_c * z[i]);
  } else {
    for (size_t i = 0; i < out.count; ++i) r[i] = sign_ab * x[i] * y[i] + sign_c * z[i];
  }
}

/// Casts that need no care; the reference does the others.
bool plain_cast(const Node* n, const Lanes& a, Lanes& out) {
  bool done = false;
  with_type(a.dtype, [&](auto from) {
    with_type(out.dtype, [&](auto to) {
      using F = decltype(from);
      using T = decltype(to);
      if constexpr ((kReal<F> && kReal<T>) || (kInteger<F> && kInteger<T>) ||
                    (kHalf<F> && std::is_same_v<T, float>) ||
                    (kHalf<T> && std::is_same_v<F, float>) || (kInteger<F> && kReal<T>)) {
        map1<F, T>(a, out, [](F v) { return static_cast<T>(v); });
        done = n->op() == Op::CAST;
      }
    });
  });
  return done;
}

class Run {
 public:
  Run(const std::vector<Lanes>& inputs, Products products)
      : inputs_(inputs), products_(products), count_(inputs.at(0).count) {}

  void step(const Node* n) {
    Lanes out(n->dtype(), count_);
    if (n->op() == Op::CONST)
      fill(n, out);
    else if (n->op() == Op::LOAD)
      out = inputs_.at(static_cast<size_t>(n->arg().value));
    else
      compute(n, out);
    values_.emplace(n, std::move(out));
  }
  const Lanes& value(const Node* n) const { return values_.at(n); }

 private:
  static void fill(const Node* n, Lanes& out) {
    with_type(n->dtype(), [&](auto t) {
      using T = decltype(t);
      T v{};
      if constexpr (kReal<T>)
        v = static_cast<T>(n->arg().real);
      else if constexpr (kHalf<T>)
        v = T(static_cast<float>(n->arg().real));
      else
        v = static_cast<T>(n->arg().value);
      for (size_t i = 0; i < out.count; ++i) out.data<T>()[i] = v;
    });
  }

  /// ADD and SUB of a product, and MULACC, as the machine at hand rounds them.
  template <class T>
  bool accumulate(const Node* n, const std::vector<const Lanes*>& s, Lanes& out) {
    const bool fused = products_ != Products::separate;
    if (n->op() == Op::MULACC) {
      multiply_add<T>(*s[0], *s[1], *s[2], 1, 1, fused, out);
      return true;
    }
    if (products_ != Products::contracted || (n->op() != Op::ADD && n->op() != Op::SUB))
      return false;
    for (size_t side : {size_t{1}, size_t{0}}) {
      const Node* m = n->source(side);
      if (m->op() != Op::MUL) continue;
      const T minus = n->op() == Op::SUB ? T(-1) : T(1);
      multiply_add<T>(value(m->source(0)), value(m->source(1)), *s[1 - side], side == 1 ? minus : 1,
                      side == 0 ? minus : 1, true, out);
      return true;
    }
    return false;
  }

  void compute(const Node* n, Lanes& out) {
    CHECK_INVARIANT(ir::info(n->op()).required, std::string(ir::info(n->op()).name));
    std::vector<const Lanes*> s;
    for (const Node* source : n->sources()) s.push_back(&value(source));
    if (n->op() == Op::BITCAST && n->dtype() != DType::boolean) {
      out.bytes = s[0]->bytes;
      return;
    }
    if (n->op() == Op::CAST && plain_cast(n, *s[0], out)) return;
    bool done = false;
    with_type(s.back()->dtype, [&](auto t) {
      using T = decltype(t);
      if (n->op() == Op::WHERE) {
        choose<T>(s, out);
        done = true;
        return;
      }
      if constexpr (!kHalf<T>) done = comparison<T>(n, s, out);
      if constexpr (kReal<T>) done = done || accumulate<T>(n, s, out) || real_op<T>(n, s, out);
      if constexpr (kInteger<T>) done = done || integer_op<T>(n, s, out);
    });
    if (!done) by_reference(n, s, out);
  }

  const std::vector<Lanes>& inputs_;
  Products products_;
  size_t count_;
  std::unordered_map<const Node*, Lanes> values_;
};

}  // namespace

const Node* lane_input(ir::Arena& arena, DType t, int slot) {
  ir::Arg arg;
  arg.value = slot;
  return arena.make(Op::LOAD, t, {arena.integer(0)}, arg);
}

Lanes evaluate_lanes(const Node* root, const std::vector<Lanes>& inputs, Products products) {
  Run run(inputs, products);
  for (const Node* n : ir::topological_order(std::span(&root, 1))) run.step(n);
  return run.value(root);
}

}  // namespace tiny::test
