// SPDX-License-Identifier: MIT
// A kernel as a tree of stages over named axes (docs/architecture.md): what `schedule` makes, `opt`
// rewrites and `lower` turns into code. Plain data; expressions are interned in `arena`.
#pragma once

#include "compiler/ir/arena.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tiny {

/// How an axis is iterated. An axis is a reduce axis iff it is in some Stage::reduce_axes.
enum class AxisKind : uint8_t {
  loop,    ///< a loop in this thread
  thread,  ///< CPU: blocks of its iterations go to groups; GPU: each goes to its own item or group
  vector,  ///< lanes of one register
  unroll,  ///< copies of the body, one per position
  local,   ///< GPU: one work-item of the group per position; a loop on a CPU
};

/// Work-items that run in lockstep, and the most of a group that every GPU can run.
inline constexpr int64_t kWaveItems = 32, kMaxGroupItems = 256;

/// One axis of a piece; its position is the node RANGE(index in Piece::axes, extent).
struct Axis {
  int64_t extent = 1;
  AxisKind kind = AxisKind::loop;
  /// Axes of different stages that walk the same tensor dimension in step share a class; an action
  /// names a class and so treats all of them alike. Initially: dimension i of the store's domain
  /// is class i, a reduce axis joins the class of a domain axis of equal role, or opens its own.
  int axis_class = 0;
  /// A split that does not divide leaves a ragged last block: positions of this (outer) axis below
  /// `full` are whole, the guard node is true there. full == extent: nothing is ragged.
  int64_t full = -1;
  std::string name;  ///< for printing: "m", "k.o"
};

/// Where a stage's value lives. Global stages are kernels of their own (see Plan).
enum class Placement : uint8_t {
  reg,    ///< one value, known at the positions of the axes it depends on
  local,  ///< an array in the group's local memory: thread scratch on a CPU, shared on a GPU
};

/// In a register: the fold of `value` over `reduce_axes`, for each position of the other axes it
/// depends on. In local memory: local[index] = `value` wherever `valid` holds, for each position of
/// `own_axes`; an array for each position of the other axes, complete before anybody reads it.
/// Referred to by ir::Op::STAGE nodes (arg.value = index in Piece::stages, arg.list = those other
/// axes; for a stage in local memory the sources are, as of a LOAD, an index and maybe a validity).
struct Stage {
  ir::ReduceOp op = ir::ReduceOp::sum;
  DType accumulator =
      DType::f32;  ///< wider than the result for f16/bf16; STAGE nodes have this type
  const ir::Node* value = nullptr;  ///< of dtype `accumulator`
  std::vector<int> reduce_axes;     ///< outer to inner; none for a local stage
  Placement placement = Placement::reg;
  // Of a local stage; the expressions depend on its own axes only.
  std::vector<int> own_axes{};  ///< outer to inner; no other stage's
  const ir::Node* index = nullptr;
  const ir::Node* valid = nullptr;  ///< nullptr: everywhere
  int64_t elements = 0;             ///< every index is below this
};

/// buffer[index] = value (or += value) wherever `valid` holds, for each position of the domain.
struct Store {
  int buffer = 0;
  const ir::Node* index = nullptr;
  const ir::Node* valid = nullptr;  ///< nullptr: everywhere
  const ir::Node* value = nullptr;
  bool accumulate = false;  ///< add to what is there; positions may repeat
};

/// Stores that share one domain, and the stages they read. All values of a position are computed
/// before any store of that position, so a buffer may be read at the very index it is written.
struct Piece {
  std::vector<Axis> axes;
  std::vector<int> domain;    ///< axes of the stores, outer to inner
  std::vector<Stage> stages;  ///< a stage reads only earlier ones
  std::vector<Store> stores;
  /// Axes that must run in order in one thread (a scatter's index axis).
  std::vector<int> sequential;
};

struct KernelBuffer {
  DType dtype = DType::f32;
  int64_t elements = 0;  ///< every access is below this
  bool read = false, written = false;
};

struct Kernel {
  std::shared_ptr<ir::Arena> arena;
  std::string name;                   ///< "softmax_r512_c10": letters, digits, underscores
  std::vector<KernelBuffer> buffers;  ///< LOAD arg.value and Store::buffer index this
  int variables = 0;          ///< VAR slots below this are kernel arguments after the buffers
  std::vector<Piece> pieces;  ///< independent of each other
};

/// A read of memory, the kernel's buffers or a stage's array: an index, maybe a validity.
bool is_access(const ir::Node*);
/// Is the axis (or class) in a list of them?
bool contains(const std::vector<int>& list, int axis);

/// The notation of docs/architecture.md, one stage a line. Also the kernel's identity: equal text,
/// equal kernel.
std::string print(const Kernel&);
/// Everything a piece computes with, each stage's expressions in order, then each store's.
std::vector<const ir::Node*> expressions(const Piece&);
/// The places of the same.
std::vector<const ir::Node**> expression_places(Piece&);
/// Checks what must hold between passes; aborts with the printed kernel where something does not.
void verify(const Kernel&);

}  // namespace tiny
