// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/base/launch_expr.h>

#include <rt_tiny/runtime/base/error.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tiny {
namespace {

using Code = LaunchExpr::Code;

bool is_leaf(Code code) { return code == Code::constant || code == Code::variable; }

// Wraps like the generated code does, instead of being undefined.
int64_t wrap(uint64_t bits) { return static_cast<int64_t>(bits); }

int64_t floor_divide(int64_t a, int64_t b) {
  CHECK_INVARIANT(b != 0, "a launch expression divides by zero");
  if (b == -1) return wrap(0 - static_cast<uint64_t>(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t floor_modulo(int64_t a, int64_t b) {
  CHECK_INVARIANT(b != 0, "a launch expression divides by zero");
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t apply(Code code, int64_t a, int64_t b) {
  const uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (code) {
    case Code::add:
      return wrap(ua + ub);
    case Code::sub:
      return wrap(ua - ub);
    case Code::mul:
      return wrap(ua * ub);
    case Code::floordiv:
      return floor_divide(a, b);
    case Code::floormod:
      return floor_modulo(a, b);
    case Code::min:
      return std::min(a, b);
    case Code::max:
      return std::max(a, b);
    case Code::constant:
    case Code::variable:
      break;
  }
  CHECK_INVARIANT(false, "not a binary launch instruction");
  return 0;
}

}  // namespace

LaunchExpr::LaunchExpr(std::vector<Instruction> postfix) : code_(std::move(postfix)) {
  int depth = 0;
  for (const Instruction& in : code_) {
    CHECK_INVARIANT(in.code <= Code::max, "unknown launch instruction");
    CHECK_INVARIANT(is_leaf(in.code) || depth >= 2, "launch expression underflows its stack");
    depth += is_leaf(in.code) ? 1 : -1;
    CHECK_INVARIANT(depth <= kMaxDepth, "launch expression is too deep");
  }
  CHECK_INVARIANT(depth == 1, "launch expression must leave one value");
}

int64_t LaunchExpr::evaluate(std::span<const int64_t> variables) const {
  std::array<int64_t, kMaxDepth> stack;
  size_t top = 0;
  for (const Instruction& in : code_) {
    if (in.code == Code::constant) {
      stack[top++] = in.value;
    } else if (in.code == Code::variable) {
      const bool known = in.value >= 0 && static_cast<size_t>(in.value) < variables.size();
      CHECK_INVARIANT(known, "launch expression names a variable that was not passed");
      stack[top++] = variables[static_cast<size_t>(in.value)];
    } else {
      --top;
      stack[top - 1] = apply(in.code, stack[top - 1], stack[top]);
    }
  }
  return stack[0];
}

}  // namespace tiny
