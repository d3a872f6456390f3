// SPDX-License-Identifier: MIT
// Linear code: what lowering makes of a kernel and a renderer turns into text. Nested blocks of
// typed instructions in single assignment; knows vectors, loops and addresses, but no axes.
#pragma once

#include "compiler/schedule/kernel.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tiny::lower {

using Id = int32_t;  ///< index into Function::values; -1: none

struct LinearValue {
  enum class Kind : uint8_t { computed, constant, address };
  Kind kind = Kind::computed;
  DType dtype = DType::i64;  ///< of the element pointed to, for addresses
  int lanes = 1;             ///< 1: scalar
  int64_t integer = 0;       ///< constants: the value, for integers and bool
  int64_t stride = 0;        ///< integer constants: lane k is integer + k * stride
  double real = 0;           ///< constants: the value, for floats
  bool in_local = false;     ///< addresses: into one of Function::locals
};

enum class Code : uint8_t {
  alu,         ///< result = op(args); lanes agree; CAST and BITCAST too
  splat,       ///< args[0] in every lane
  extract,     ///< lane `offset` of args[0]
  pack,        ///< lanes from scalars args
  fold,        ///< horizontal: op over the lanes of args[0]
  group_fold,  ///< op over args[0] of all work-items of the group, for each of them
  barrier,     ///< all work-items of the group come here, and then see each other's `locals`
  variable,    ///< launch variable `offset`
  address,     ///< args[0] + args[1] elements
  choose,      ///< address: args[0] ? args[1] + offset elements : args[2]
  load,        ///< *(args[0] + offset); args[1]: lanes to read, others are 0
  store,       ///< *(args[0] + offset) = args[1]; args[2]: lanes to write
  loop,        ///< Instruction::loop
  branch,      ///< if (args[0]) loop->body
};

struct Loop;
struct Instruction {
  Code code = Code::alu;
  ir::Op op = ir::Op::ADD;
  Id result = -1;
  std::vector<Id> args;
  int64_t offset = 0;
  std::unique_ptr<Loop> loop;
};

using Block = std::vector<Instruction>;

/// for (index = begin; index < end; ++index) body, handing `carried` from turn to turn.
struct Loop {
  struct Carried {
    Id init, current, next, result;
  };
  Id index = -1, begin = -1, end = -1;
  bool nonempty = false;  ///< begin < end is known
  Block body;
  std::vector<Carried> carried;
};

/// The code of one piece: a function of its buffers, the variables and its group number.
struct Function {
  std::vector<LinearValue> values;
  Block body;
  Id group = -1;  ///< i64 value: number of this group, below `groups`
  int64_t groups = 1;
  /// i64 value: number of this work-item in its group, below `items`. Without one a GPU's groups
  /// number single work-items.
  Id item = -1;
  int64_t items = 1;
  std::vector<int> buffers;  ///< kernel buffers it uses, ascending
  std::vector<Id> bases;     ///< their addresses, alike
  struct Local {
    Id base;
    int64_t offset_B;  ///< a multiple of 64
  };
  /// Arrays in the group's memory, a CPU thread's scratch; nothing else points into them.
  std::vector<Local> locals;
  int64_t local_B = 0;  ///< that the arrays take
};

struct LinearCode {
  std::string name;
  std::vector<KernelBuffer> buffers;
  int variables = 0;
  int64_t group_size = 1;        ///< work-items of a group; 1: a CPU's groups, without items
  std::vector<Function> pieces;  ///< each takes the next `groups_of` numbers, unless `together`
  /// No piece is cut into groups: one group runs all of them, as no thread is worth waking.
  bool together() const;
  /// Groups that the device starts for a piece, for the kernel.
  int64_t groups_of(const Function&) const;
  int64_t groups() const;
  int64_t local_B() const;  ///< of one group: its pieces run one after the other
};

std::string print(const LinearCode&);
/// Every value is defined once, before use and in an enclosing block, with types that fit; aborts
/// with the printed code where not.
void verify(const LinearCode&);

}  // namespace tiny::lower
