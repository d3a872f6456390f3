// SPDX-License-Identifier: MIT
// Two-operand arithmetic, comparison, logic and bits, with PyTorch's promotion and broadcasting.
#include "frontend/cell.h"

#include <fmt/format.h>
#include <cmath>

namespace tiny {

using namespace detail;
using ir::Op;

namespace {

/// What the operands are converted to before the op.
enum class Domain : uint8_t { any, number, real, bits, integer, boolean };

DType combine_categories(DType higher, std::optional<DType> lower) {
  if (!lower || is_float(higher)) return higher;
  if (higher == DType::boolean || is_float(*lower)) return promote(higher, *lower);
  return higher;
}

DType operand_type(std::string_view op, DType t, Domain domain) {
  const auto refuse = [&] { fail(op, fmt::format("is not defined for {}", name(t))); };
  switch (domain) {
    case Domain::any:
      break;
    case Domain::number:
      if (t == DType::boolean) refuse();
      break;
    case Domain::real:
      return is_float(t) ? t : DType::f32;
    case Domain::bits:
      if (is_float(t)) refuse();
      break;
    case Domain::integer:
      if (!is_int(t)) refuse();
      break;
    case Domain::boolean:
      return DType::boolean;
  }
  return t;
}

DType result_of(Op op, DType t) {
  return ir::info(op).dtypes == ir::DTypeRule::compare ? DType::boolean : t;
}

Tensor binary(std::string_view label, Op op, Domain domain, const Tensor& a, const Tensor& b) {
  require_defined(label, a);
  require_defined(label, b);
  const Shape shape = broadcast_shapes(label, a.shape(), b.shape());
  const DType t = operand_type(label, result_type(a, b), domain);
  const DType out = result_of(op, t);
  return make_tensor(
      ir::make(op, out, {expanded(casted(use(a), t), shape), expanded(casted(use(b), t), shape)}),
      carries(out, a, b));
}

Tensor binary(std::string_view label, Op op, Domain domain, const Tensor& a, Scalar b,
              bool swapped = false) {
  require_defined(label, a);
  const DType t = operand_type(label, result_type(a, b), domain);
  const DType out = result_of(op, t);
  ir::Ref x = casted(use(a), t), y = expanded(constant(t, b), a.shape());
  if (swapped) std::swap(x, y);
  return make_tensor(ir::make(op, out, {std::move(x), std::move(y)}), carries(out, a));
}

/// The quotient rounded down, as PyTorch computes it from the exact remainder.
Tensor float_floordiv(const Tensor& a, const Tensor& b) {
  const Tensor mod = fmod(a, b);
  const Tensor exact = (a - mod) / b;
  const Tensor lowered = where((mod != 0).logical_and((b < 0) != (mod < 0)), exact - 1, exact);
  const Tensor down = lowered.floor();
  const Tensor nearest = where(lowered - down > 0.5, down + 1, down);
  return where(b == 0, a / b, where(lowered != 0, nearest, a / b * 0)).detach();
}

Tensor remainder_of(const Tensor& a, const Tensor& b) {
  const Tensor mod = fmod(a, b);
  return where((mod != 0).logical_and((b < 0) != (mod < 0)), mod + b, mod);
}

Tensor scalar_like(const Tensor& x, Scalar s) {
  const DType t = result_type(x, s);
  return constant_tensor({}, t, s);
}

}  // namespace

DType result_type(const Tensor& a, const Tensor& b) {
  const bool a_weak = a.ndim() == 0, b_weak = b.ndim() == 0;
  if (a_weak == b_weak) return promote(a.dtype(), b.dtype());
  return a_weak ? combine_categories(b.dtype(), a.dtype())
                : combine_categories(a.dtype(), b.dtype());
}

DType result_type(const Tensor& a, Scalar s) { return combine_categories(a.dtype(), s.dtype()); }

#define TINY_BINARY(symbol, label, OP, domain)                \
  Tensor operator symbol(const Tensor& a, const Tensor& b) {  \
    return binary(label, Op::OP, Domain::domain, a, b);       \
  }                                                           \
  Tensor operator symbol(const Tensor& a, Scalar b) {         \
    return binary(label, Op::OP, Domain::domain, a, b);       \
  }                                                           \
  Tensor operator symbol(Scalar a, const Tensor& b) {         \
    return binary(label, Op::OP, Domain::domain, b, a, true); \
  }
TINY_BINARY(+, "add", ADD, any)
TINY_BINARY(-, "sub", SUB, number)
TINY_BINARY(*, "mul", MUL, any)
TINY_BINARY(/, "div", FDIV, real)
TINY_BINARY(&, "bitwise_and", AND, bits)
TINY_BINARY(|, "bitwise_or", OR, bits)
TINY_BINARY(^, "bitwise_xor", XOR, bits)
TINY_BINARY(<<, "shift_left", SHL, integer)
TINY_BINARY(>>, "shift_right", SHR, integer)
TINY_BINARY(==, "eq", CMPEQ, any)
TINY_BINARY(!=, "ne", CMPNE, any)
TINY_BINARY(<, "lt", CMPLT, any)
TINY_BINARY(<=, "le", CMPLE, any)
#undef TINY_BINARY

Tensor operator>(const Tensor& a, const Tensor& b) {
  return binary("gt", Op::CMPLT, Domain::any, b, a);
}
Tensor operator>(const Tensor& a, Scalar b) {
  return binary("gt", Op::CMPLT, Domain::any, a, b, true);
}
Tensor operator>(Scalar a, const Tensor& b) { return binary("gt", Op::CMPLT, Domain::any, b, a); }
Tensor operator>=(const Tensor& a, const Tensor& b) {
  return binary("ge", Op::CMPLE, Domain::any, b, a);
}
Tensor operator>=(const Tensor& a, Scalar b) {
  return binary("ge", Op::CMPLE, Domain::any, a, b, true);
}
Tensor operator>=(Scalar a, const Tensor& b) { return binary("ge", Op::CMPLE, Domain::any, b, a); }

Tensor operator%(const Tensor& a, const Tensor& b) {
  require_defined("remainder", a);
  require_defined("remainder", b);
  if (!is_float(result_type(a, b))) return binary("remainder", Op::FLOORMOD, Domain::integer, a, b);
  return remainder_of(a, b);
}

Tensor operator%(const Tensor& a, Scalar b) {
  require_defined("remainder", a);
  return a % scalar_like(a, b);
}

Tensor operator%(Scalar a, const Tensor& b) {
  require_defined("remainder", b);
  return scalar_like(b, a) % b;
}

Tensor Tensor::floordiv(const Tensor& o) const {
  require_defined("floordiv", *this);
  require_defined("floordiv", o);
  const DType t = result_type(*this, o);
  if (!is_float(t)) return binary("floordiv", Op::FLOORDIV, Domain::integer, *this, o);
  return float_floordiv(cast(t), o.cast(t));
}

Tensor Tensor::floordiv(Scalar o) const {
  require_defined("floordiv", *this);
  return floordiv(scalar_like(*this, o));
}

Tensor fmod(const Tensor& a, const Tensor& b) {
  require_defined("fmod", a);
  require_defined("fmod", b);
  const bool real = is_float(result_type(a, b));
  return binary("fmod", real ? Op::FMOD : Op::IMOD, real ? Domain::real : Domain::integer, a, b);
}

Tensor fmod(const Tensor& a, Scalar b) {
  require_defined("fmod", a);
  return fmod(a, scalar_like(a, b));
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return binary("maximum", Op::MAX, Domain::any, a, b);
}
Tensor maximum(const Tensor& a, Scalar b) { return binary("maximum", Op::MAX, Domain::any, a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) {
  return binary("minimum", Op::MIN, Domain::any, a, b);
}
Tensor minimum(const Tensor& a, Scalar b) { return binary("minimum", Op::MIN, Domain::any, a, b); }

Tensor Tensor::pow(const Tensor& e) const {
  return binary("pow", Op::POW, Domain::number, *this, e);
}

Tensor Tensor::pow(Scalar e) const {
  require_defined("pow", *this);
  const DType t = result_type(*this, e);
  if (is_int(t) && e.integer() < 0)
    fail("pow", fmt::format("{} to the power {}: integers need a non-negative exponent", name(t),
                            e.integer()));
  const Tensor x = cast(t);
  if (is_float(t)) {
    if (e.real() == 0.5) return x.sqrt();
    if (e.real() == 1) return x;
    if (e.real() == 2) return x * x;
    if (e.real() == 3) return x * x * x;
    if (e.real() == -0.5) return x.rsqrt();
    if (e.real() == -1) return x.reciprocal();
    if (e.real() == -2) return (x * x).reciprocal();
  }
  return binary("pow", Op::POW, Domain::number, x, e);
}

Tensor pow(Scalar base, const Tensor& e) {
  return binary("pow", Op::POW, Domain::number, e, base, true);
}

Tensor Tensor::operator-() const {
  require_defined("neg", *this);
  if (dtype() == DType::boolean) fail("neg", "is not defined for bool; use logical_not");
  return build(Op::NEG, dtype(), *this);
}

Tensor Tensor::operator~() const {
  require_defined("bitwise_not", *this);
  return dtype() == DType::boolean ? *this ^ true : *this ^ -1;
}

Tensor Tensor::logical_not() const {
  require_defined("logical_not", *this);
  return *this == 0;
}

Tensor Tensor::logical_and(const Tensor& o) const {
  return binary("logical_and", Op::AND, Domain::boolean, *this, o);
}
Tensor Tensor::logical_or(const Tensor& o) const {
  return binary("logical_or", Op::OR, Domain::boolean, *this, o);
}
Tensor Tensor::logical_xor(const Tensor& o) const {
  return binary("logical_xor", Op::XOR, Domain::boolean, *this, o);
}

Tensor Tensor::isnan() const {
  require_defined("isnan", *this);
  return is_float(dtype()) ? *this != *this : constant_tensor(shape(), DType::boolean, false);
}

Tensor Tensor::isinf() const {
  require_defined("isinf", *this);
  return is_float(dtype()) ? abs() == HUGE_VAL : constant_tensor(shape(), DType::boolean, false);
}

Tensor Tensor::isfinite() const {
  require_defined("isfinite", *this);
  return is_float(dtype()) ? abs() < HUGE_VAL : constant_tensor(shape(), DType::boolean, true);
}

namespace {

/// Shared end of the four `where`s: all operands have their dtype, shapes broadcast.
Tensor choose(const Tensor& condition, const Tensor& yes, const Tensor& no, DType t) {
  require_defined("where", condition);
  if (condition.dtype() != DType::boolean)
    fail("where", fmt::format("condition must be bool, got {} {}", name(condition.dtype()),
                              text(condition.shape())));
  Shape shape = broadcast_shapes("where", condition.shape(), yes.shape());
  shape = broadcast_shapes("where", shape, no.shape());
  return make_tensor(
      ir::make(Op::WHERE, t,
               {expanded(use(condition), shape), expanded(casted(use(yes), t), shape),
                expanded(casted(use(no), t), shape)}),
      carries(t, yes, no));
}

}  // namespace

Tensor where(const Tensor& condition, const Tensor& yes, const Tensor& no) {
  require_defined("where", yes);
  require_defined("where", no);
  return choose(condition, yes, no, result_type(yes, no));
}

Tensor where(const Tensor& condition, const Tensor& yes, Scalar no) {
  require_defined("where", yes);
  const DType t = result_type(yes, no);
  return choose(condition, yes, constant_tensor({}, t, no), t);
}

Tensor where(const Tensor& condition, Scalar yes, const Tensor& no) {
  require_defined("where", no);
  const DType t = result_type(no, yes);
  return choose(condition, constant_tensor({}, t, yes), no, t);
}

Tensor where(const Tensor& condition, Scalar yes, Scalar no) {
  const DType t = promote(yes.dtype(), no.dtype());
  return choose(condition, constant_tensor({}, t, yes), constant_tensor({}, t, no), t);
}

Tensor Tensor::masked_fill(const Tensor& mask, Scalar v) const {
  require_defined("masked_fill", *this);
  return choose(mask, constant_tensor({}, dtype(), v), *this, dtype());
}

namespace {

/// x op= y keeps x's type, so the result's kind must not be above it.
Tensor& in_place(Tensor& x, std::string_view op, const Tensor& result) {
  if (is_float(result.dtype()) && !is_float(x.dtype()))
    fail(op, fmt::format("{} results do not fit a tensor of {}", name(result.dtype()),
                         name(x.dtype())));
  return x.assign(result);
}

}  // namespace

Tensor& Tensor::operator+=(const Tensor& o) { return in_place(*this, "add", *this + o); }
Tensor& Tensor::operator-=(const Tensor& o) { return in_place(*this, "sub", *this - o); }
Tensor& Tensor::operator*=(const Tensor& o) { return in_place(*this, "mul", *this * o); }
Tensor& Tensor::operator/=(const Tensor& o) { return in_place(*this, "div", *this / o); }
Tensor& Tensor::operator+=(Scalar o) { return in_place(*this, "add", *this + o); }
Tensor& Tensor::operator-=(Scalar o) { return in_place(*this, "sub", *this - o); }
Tensor& Tensor::operator*=(Scalar o) { return in_place(*this, "mul", *this * o); }
Tensor& Tensor::operator/=(Scalar o) { return in_place(*this, "div", *this / o); }

}  // namespace tiny
