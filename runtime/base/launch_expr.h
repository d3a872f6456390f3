// SPDX-License-Identifier: MIT
// An integer expression over launch variables as a few bytecodes: how many groups to launch when a
// dimension is a bounded variable. Evaluated on every submit, so it allocates nothing.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <cstdint>
#include <span>
#include <vector>

namespace tiny {

class TINY_API LaunchExpr {
 public:
  enum class Code : uint8_t { constant, variable, add, sub, mul, floordiv, floormod, min, max };
  struct Instruction {
    Code code;
    int64_t value = 0;
  };  ///< value: the constant, or the variable's slot

  LaunchExpr() : LaunchExpr(1) {}
  LaunchExpr(int64_t constant) : code_{{Code::constant, constant}} {}
  /// Postfix code. Aborts if it would underflow the stack or leave other than one value.
  explicit LaunchExpr(std::vector<Instruction> postfix);

  int64_t evaluate(std::span<const int64_t> variables) const;
  bool is_constant() const { return code_.size() == 1 && code_[0].code == Code::constant; }
  const std::vector<Instruction>& code() const { return code_; }
  static constexpr int kMaxDepth = 16;

 private:
  std::vector<Instruction> code_;
};

}  // namespace tiny
