// SPDX-License-Identifier: MIT
#include "compiler/ir/node.h"

#include <rt_tiny/runtime/base/error.h>

#include <array>
#include <bit>
#include <cstring>
#include <unordered_set>

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "compiler/ir/scalar.h"

namespace tiny::ir {

namespace {

constexpr std::array kOps = {
#define OP(name, kind, sources, dtypes, required, meaning) \
  OpInfo{#name, OpKind::kind, sources, DTypeRule::dtypes, required != 0, meaning},
#include "compiler/ir/ops.def"
#undef OP
};

/// Which element types an op takes, beyond the agreement its DTypeRule asks for.
enum class Family : uint8_t { any, number, floating, integer, bits, u64 };

Family family(Op op) {
  switch (op) {
    case Op::SQRT:
    case Op::EXP:
    case Op::EXP2:
    case Op::LOG:
    case Op::LOG2:
    case Op::SIN:
    case Op::COS:
    case Op::TANH:
    case Op::ERF:
    case Op::TRUNC:
    case Op::FLOOR:
    case Op::CEIL:
    case Op::ROUND:
    case Op::FDIV:
    case Op::FMOD:
      return Family::floating;
    case Op::IDIV:
    case Op::IMOD:
    case Op::FLOORDIV:
    case Op::FLOORMOD:
    case Op::SHL:
    case Op::SHR:
    case Op::IOTA:
      return Family::integer;
    case Op::AND:
    case Op::OR:
    case Op::XOR:
      return Family::bits;
    case Op::NEG:
    case Op::ABS:
    case Op::SUB:
    case Op::POW:
    case Op::MULACC:
      return Family::number;
    case Op::THREEFRY:
      return Family::u64;
    default:
      return Family::any;
  }
}

bool member(DType t, Family f) {
  switch (f) {
    case Family::any:
      return true;
    case Family::number:
      return t != DType::boolean;
    case Family::floating:
      return is_float(t);
    case Family::integer:
      return is_int(t);
    case Family::bits:
      return !is_float(t);
    case Family::u64:
      return t == DType::u64;
  }
  return false;
}

std::string describe(Op op, DType dtype, std::span<const Node* const> sources) {
  std::string s = fmt::format("[{}] result {}, sources", info(op).name, name(dtype));
  for (const Node* n : sources)
    s += n ? fmt::format(" {} {}{}", info(n->op()).name, name(n->dtype()), to_string(n->shape()))
           : " null";
  return s;
}

bool arity_ok(Op op, std::span<const Node* const> sources) {
  for (const Node* n : sources)
    if (!n) return false;
  if (op == Op::LOAD) return sources.size() == 1 || sources.size() == 2;
  if (op == Op::STAGE) return sources.size() <= 2;
  return static_cast<int>(sources.size()) == info(op).sources;
}

bool index_dtypes_ok(Op op, DType dtype, std::span<const Node* const> s) {
  switch (op) {
    case Op::GATHER:
      return s[0]->dtype() == dtype && is_int(s[1]->dtype());
    case Op::SCATTER:
      return s[0]->dtype() == dtype && is_int(s[1]->dtype()) && s[2]->dtype() == dtype;
    default:  // LOAD, STAGE: index, then validity
      return (s.size() < 1 || s[0]->dtype() == DType::i64) &&
             (s.size() < 2 || s[1]->dtype() == DType::boolean);
  }
}

bool all_of(std::span<const Node* const> sources, DType dtype) {
  for (const Node* n : sources)
    if (n->dtype() != dtype) return false;
  return true;
}

bool dtypes_ok(Op op, DType dtype, std::span<const Node* const> s) {
  switch (info(op).dtypes) {
    case DTypeRule::leaf:
      return (op != Op::VAR && op != Op::RANGE) || dtype == DType::i64;
    case DTypeRule::same:
      return all_of(s, dtype);
    case DTypeRule::compare:
      return dtype == DType::boolean && s[0]->dtype() == s[1]->dtype();
    case DTypeRule::where:
      return s[0]->dtype() == DType::boolean && all_of(s.subspan(1), dtype);
    case DTypeRule::cast:
      return op != Op::BITCAST || size_B(s[0]->dtype()) == size_B(dtype);
    case DTypeRule::index:
      return index_dtypes_ok(op, dtype, s);
  }
  return false;
}

AxisSet infer_axes(Op op, std::span<const Node* const> sources, const Arg& arg) {
  AxisSet axes;
  if (op == Op::RANGE) axes.add(arg.value);
  if (op == Op::STAGE)
    for (int64_t a : arg.list) axes.add(a);
  for (const Node* n : sources) axes = axes | n->axes();
  return axes;
}

uint64_t mix(uint64_t h, uint64_t v) {
  uint64_t pair[2] = {h, v};
  return XXH3_64bits(pair, sizeof pair);
}

/// Drops one reference; true when it was the last.
bool drop(std::atomic<uint32_t>& references) {
  if (references.fetch_sub(1, std::memory_order_release) != 1) return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

}  // namespace

const OpInfo& info(Op op) { return kOps[static_cast<size_t>(op)]; }
int op_count() { return static_cast<int>(kOps.size()); }

std::string_view name(ReduceOp op) {
  constexpr std::string_view names[] = {"sum", "prod", "max", "min"};
  return names[static_cast<size_t>(op)];
}

Op fold_op(ReduceOp op) {
  constexpr Op ops[] = {Op::ADD, Op::MUL, Op::MAX, Op::MIN};
  return ops[static_cast<size_t>(op)];
}

bool Arg::operator==(const Arg& o) const {
  return value == o.value && std::bit_cast<uint64_t>(real) == std::bit_cast<uint64_t>(o.real) &&
         list == o.list && object == o.object;
}

std::vector<int> AxisSet::list() const {
  std::vector<int> axes;
  for (int w = 0; w < 2; ++w)
    for (uint64_t bits = words[w]; bits; bits &= bits - 1)
      axes.push_back(w * 64 + std::countr_zero(bits));
  return axes;
}

std::string broken_rule(Op op, DType dtype, std::span<const Node* const> sources) {
  const auto broken = [&](const char* rule) { return rule + describe(op, dtype, sources); };
  if (!arity_ok(op, sources)) return broken("number of sources: ");
  if (!dtypes_ok(op, dtype, sources)) return broken("dtypes: ");
  if (!member(dtype, family(op))) return broken("dtype not taken: ");
  return {};
}

Arg normal_constant(DType dtype, Arg arg) {
  if (is_float(dtype)) {
    arg.real = round_to(dtype, arg.real);
    arg.value = 0;
  } else {
    arg.value = wrap(dtype, arg.value);
    arg.real = 0;
  }
  return arg;
}

void require_rules(Op op, DType dtype, std::span<const Node* const> sources) {
  const bool kept =
      arity_ok(op, sources) && dtypes_ok(op, dtype, sources) && member(dtype, family(op));
  CHECK_INVARIANT(kept, broken_rule(op, dtype, sources));
}

uint64_t Node::hash_of(Op op, DType dtype, std::span<const Node* const> sources, const Arg& arg) {
  uint64_t words[3 + 4];
  words[0] = static_cast<uint64_t>(op) | static_cast<uint64_t>(dtype) << 8 |
             static_cast<uint64_t>(sources.size()) << 16 |
             static_cast<uint64_t>(arg.list.size()) << 32;
  words[1] = static_cast<uint64_t>(arg.value);
  words[2] = std::bit_cast<uint64_t>(arg.real);
  size_t count = 3;
  for (const Node* n : sources) words[count++] = n->hash();  // at most three sources
  uint64_t h = XXH3_64bits(words, count * sizeof(uint64_t));
  if (!arg.list.empty())
    h = mix(h, XXH3_64bits(arg.list.data(), arg.list.size() * sizeof(int64_t)));
  return h;
}

Node::Node(Op op, DType dtype, std::vector<const Node*> sources, Arg arg, uint64_t hash)
    : op_(op), dtype_(dtype), sources_(std::move(sources)), arg_(std::move(arg)), hash_(hash) {
  shape_ = infer_shape(op_, sources_, arg_);
  interval_ = infer_interval(op_, dtype_, sources_, arg_);
  axes_ = infer_axes(op_, sources_, arg_);
}

Ref make(Op op, DType dtype, std::vector<Ref> sources, Arg arg) {
  std::vector<const Node*> raw;
  raw.reserve(sources.size());
  for (const Ref& r : sources) raw.push_back(r.get());
  if (op == Op::CONST) arg = normal_constant(dtype, std::move(arg));
  require_rules(op, dtype, raw);
  const uint64_t hash = Node::hash_of(op, dtype, raw, arg);
  const Node* node = new Node(op, dtype, std::move(raw), std::move(arg), hash);
  for (const Node* n : node->sources()) retain(n);
  return Ref(node);
}

void retain(const Node* n) { n->references_.fetch_add(1, std::memory_order_relaxed); }

void release(const Node* n) {
  if (!drop(n->references_)) return;
  std::vector<const Node*> dead;
  for (;;) {
    for (const Node* s : n->sources_)
      if (drop(s->references_)) dead.push_back(s);
    if (const Node* buffer = n->realized_.load(std::memory_order_acquire))
      if (drop(buffer->references_)) dead.push_back(buffer);
    delete n;
    if (dead.empty()) return;
    n = dead.back();
    dead.pop_back();
  }
}

void Node::set_realized(const Ref& buffer) const {
  const Node* none = nullptr;
  retain(buffer.get());
  if (!realized_.compare_exchange_strong(none, buffer.get(), std::memory_order_acq_rel))
    release(buffer.get());
}

std::vector<const Node*> topological_order(std::span<const Node* const> roots,
                                           const Node* (*resolve)(const Node*)) {
  struct Frame {
    const Node* node;
    size_t next;
  };
  std::vector<const Node*> order;
  std::unordered_set<const Node*> seen;
  std::vector<Frame> stack;
  for (const Node* root : roots) {
    if (!seen.insert(root).second) continue;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.node->sources().size()) {
        const Node* s = top.node->source(top.next++);
        if (resolve) s = resolve(s);
        if (seen.insert(s).second) stack.push_back({s, 0});
      } else {
        order.push_back(top.node);
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace tiny::ir
