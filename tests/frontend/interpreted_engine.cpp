// SPDX-License-Identifier: MIT
// The engine's door (engine/realize.h) on a naive element-by-element evaluator: front end tests
// linked with it depend on no schedule, compiler or device, and what the real engine computes has a
// second opinion.
#include "compiler/ir/scalar.h"
#include "engine/realize.h"

#include <rt_tiny/runtime/base/error.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <unordered_map>

namespace tiny::engine {
namespace {

using ir::Node;
using ir::Op;
using ir::Ref;
using Elements = std::vector<ir::Scalar>;

struct Memory final : ir::Object {
  std::vector<std::byte> bytes;
};

template <class T>
T get(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void put(std::byte* p, T v) {
  std::memcpy(p, &v, sizeof v);
}

ir::Scalar load(DType t, const std::byte* p) {
  switch (t) {
    case DType::boolean:
    case DType::u8:
      return {get<uint8_t>(p), 0};
    case DType::u16:
      return {get<uint16_t>(p), 0};
    case DType::u32:
      return {get<uint32_t>(p), 0};
    case DType::u64:
    case DType::i64:
      return {get<int64_t>(p), 0};
    case DType::i8:
      return {get<int8_t>(p), 0};
    case DType::i16:
      return {get<int16_t>(p), 0};
    case DType::i32:
      return {get<int32_t>(p), 0};
    case DType::f16:
      return {0, static_cast<float>(get<Half>(p))};
    case DType::bf16:
      return {0, static_cast<float>(get<BFloat16>(p))};
    case DType::f32:
      return {0, get<float>(p)};
    case DType::f64:
      return {0, get<double>(p)};
  }
  return {};
}

void store(DType t, const ir::Scalar& v, std::byte* p) {
  if (t == DType::f16) return put(p, Half(static_cast<float>(v.real)));
  if (t == DType::bf16) return put(p, BFloat16(static_cast<float>(v.real)));
  if (t == DType::f32) return put(p, static_cast<float>(v.real));
  if (t == DType::f64) return put(p, v.real);
  std::memcpy(p, &v.integer, size_B(t));  // little-endian host
}

/// Visits every index of a shape in row-major order.
void each(const ir::Shape& shape, const std::function<void(const ir::Shape&)>& fn) {
  if (ir::element_count(shape) == 0) return;
  ir::Shape index(shape.size(), 0);
  for (;;) {
    fn(index);
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

size_t flat(const ir::Shape& shape, const ir::Shape& index) {
  int64_t at = 0;
  for (size_t i = 0; i < shape.size(); ++i) at = at * shape[i] + index[i];
  return static_cast<size_t>(at);
}

ir::Scalar fill_of(const Node& n) { return {n.arg().value, n.arg().real}; }

/// Index of the source element that an element of a movement op shows; false: the fill.
bool source_index(const Node& n, const ir::Shape& out, ir::Shape& in) {
  const auto& list = n.arg().list;
  const ir::Shape& from = n.source(0)->shape();
  const size_t rank = from.size(), axis = static_cast<size_t>(n.arg().value);
  switch (n.op()) {
    case Op::PERMUTE:
      for (size_t i = 0; i < rank; ++i) in[static_cast<size_t>(list[i])] = out[i];
      return true;
    case Op::EXPAND:
      for (size_t i = 0; i < rank; ++i) in[i] = from[i] == 1 ? 0 : out[i];
      return true;
    case Op::SHRINK:
      for (size_t i = 0; i < rank; ++i) in[i] = list[i] + out[i] * list[2 * rank + i];
      return true;
    case Op::FLIP:
      for (size_t i = 0; i < rank; ++i) in[i] = list[i] ? from[i] - 1 - out[i] : out[i];
      return true;
    case Op::PAD:
      for (size_t i = 0; i < rank; ++i) {
        const int64_t at = out[i] - list[i], gap = list[2 * rank + i] + 1;
        if (at < 0 || at % gap != 0 || at / gap >= from[i]) return false;
        in[i] = at / gap;
      }
      return true;
    case Op::WINDOW:
      for (size_t i = 0; i < rank; ++i) in[i] = out[i <= axis ? i : i + 1];
      in[axis] = out[axis] * list[1] + out[axis + 1] * list[2];
      return true;
    case Op::UNWINDOW: {
      in = out;
      const int64_t at = out[axis] - out[axis + 1] * list[2];
      in[axis] = at / list[1];
      return at >= 0 && at % list[1] == 0 && in[axis] < from[axis];
    }
    default:
      CHECK_INVARIANT(false, "not a movement op");
  }
}

Elements move(const Node& n, const Elements& x) {
  if (n.op() == Op::RESHAPE) return x;
  Elements out;
  ir::Shape in(n.source(0)->shape().size());
  const ir::Scalar fill = n.op() == Op::PAD ? fill_of(n) : ir::Scalar{};
  each(n.shape(), [&](const ir::Shape& index) {
    out.push_back(source_index(n, index, in) ? x[flat(n.source(0)->shape(), in)] : fill);
  });
  return out;
}

ir::Scalar identity(ir::ReduceOp op, DType t) {
  const auto range = ir::full_interval(t);
  switch (op) {
    case ir::ReduceOp::sum:
      return {0, 0};
    case ir::ReduceOp::prod:
      return {1, 1};
    case ir::ReduceOp::max:
      return {range.lo, -HUGE_VAL};
    case ir::ReduceOp::min:
      return {range.hi, HUGE_VAL};
  }
  return {};
}

Elements fold(const Node& n, const Elements& x) {
  const auto op = static_cast<ir::ReduceOp>(n.arg().value);
  const DType t = n.dtype();
  const bool adds = op == ir::ReduceOp::sum || op == ir::ReduceOp::prod;
  const DType inner = adds && is_float(t) ? DType::f64 : t;  // sums in f64: close to any order
  Elements out(static_cast<size_t>(ir::element_count(n.shape())), identity(op, t));
  const ir::Shape& from = n.source(0)->shape();
  each(from, [&](const ir::Shape& index) {
    ir::Shape kept;
    size_t k = 0;
    for (size_t i = 0; i < from.size(); ++i) {
      if (k < n.arg().list.size() && n.arg().list[k] == static_cast<int64_t>(i))
        ++k;
      else
        kept.push_back(index[i]);
    }
    ir::Scalar& sum = out[flat(n.shape(), kept)];
    const ir::Scalar pair[] = {sum, x[flat(from, index)]};
    sum = ir::evaluate(ir::fold_op(op), inner, inner, pair);
  });
  if (inner != t)
    for (ir::Scalar& s : out) s.real = ir::round_to(t, s.real);
  return out;
}

Elements gather(const Node& n, const Elements& x, const Elements& index) {
  const ir::Shape& from = n.source(0)->shape();
  const size_t axis = static_cast<size_t>(n.arg().value);
  Elements out;
  each(n.shape(), [&](const ir::Shape& at) {
    ir::Shape in = at;
    in[axis] = index[out.size()].integer;
    out.push_back(in[axis] >= 0 && in[axis] < from[axis] ? x[flat(from, in)] : ir::Scalar{});
  });
  return out;
}

Elements scatter(const Node& n, Elements base, const Elements& index, const Elements& update) {
  const size_t axis = static_cast<size_t>(n.arg().value);
  const bool adds = !n.arg().list.empty() && n.arg().list[0] == 1;
  size_t k = 0;
  each(n.source(1)->shape(), [&](const ir::Shape& at) {
    ir::Shape to = at;
    to[axis] = index[k].integer;
    const ir::Scalar value = update[k++];
    if (to[axis] < 0 || to[axis] >= n.shape()[axis]) return;
    ir::Scalar& place = base[flat(n.shape(), to)];
    const ir::Scalar pair[] = {place, value};
    place = adds ? ir::evaluate(Op::ADD, n.dtype(), n.dtype(), pair) : value;
  });
  return base;
}

Elements elementwise(const Node& n, const std::vector<const Elements*>& x) {
  const DType operand = n.op() == Op::WHERE ? n.dtype() : n.source(0)->dtype();
  Elements out(x[0]->size());
  std::vector<ir::Scalar> row(x.size());
  for (size_t i = 0; i < out.size(); ++i) {
    for (size_t k = 0; k < x.size(); ++k) row[k] = (*x[k])[i];
    out[i] = ir::evaluate(n.op(), operand, n.dtype(), row);
  }
  return out;
}

Elements leaf(const Node& n) {
  Elements out;
  if (n.op() == Op::CONST) out.push_back(fill_of(n));
  if (n.op() == Op::IOTA)
    for (int64_t i = 0; i < n.arg().list[0]; ++i) out.push_back({ir::wrap(n.dtype(), i), 0});
  if (n.op() == Op::BUFFER) {
    const auto& bytes = dynamic_cast<const Memory&>(*n.arg().object).bytes;
    for (size_t at = 0; at < bytes.size(); at += size_B(n.dtype()))
      out.push_back(load(n.dtype(), &bytes[at]));
  }
  return out;
}

Elements evaluate(const Node& n, const std::vector<const Elements*>& x) {
  switch (ir::info(n.op()).kind) {
    case ir::OpKind::leaf:
      return leaf(n);
    case ir::OpKind::movement:
      return move(n, *x[0]);
    case ir::OpKind::tensor:
      break;
    default:
      return elementwise(n, x);
  }
  switch (n.op()) {
    case Op::REDUCE:
      return fold(n, *x[0]);
    case Op::GATHER:
      return gather(n, *x[0], *x[1]);
    case Op::SCATTER:
      return scatter(n, *x[0], *x[1], *x[2]);
    case Op::ASSIGN:
      return *x[1];
    default:
      return *x[0];
  }
}

const Node* resolved(const Node* n) { return n->realized() ? n->realized() : n; }

/// What must be computed, sources first; iterative.
std::vector<const Node*> order_of(const Node* root) {
  std::unordered_map<const Node*, bool> done;
  std::vector<std::pair<const Node*, size_t>> stack{{resolved(root), 0}};
  std::vector<const Node*> order;
  while (!stack.empty()) {
    const Node* node = stack.back().first;
    if (size_t& next = stack.back().second; !done[node] && next < node->sources().size()) {
      const Node* source = resolved(node->source(next++));
      if (!done[source]) stack.emplace_back(source, 0);
      continue;
    }
    if (!std::exchange(done[node], true)) order.push_back(node);
    stack.pop_back();
  }
  return order;
}

Ref compute(const Ref& root) {
  std::unordered_map<const Node*, Elements> values;
  for (const Node* n : order_of(root.get())) {
    std::vector<const Elements*> x;
    for (const Node* source : n->sources()) x.push_back(&values.at(resolved(source)));
    values.emplace(n, evaluate(*n, x));
  }
  std::vector<std::byte> bytes;
  for (const ir::Scalar& s : values.at(resolved(root.get()))) {
    bytes.resize(bytes.size() + size_B(root->dtype()));
    store(root->dtype(), s, &bytes[bytes.size() - size_B(root->dtype())]);
  }
  return buffer_node(root->dtype(), root->shape(), bytes);
}

}  // namespace

Ref buffer_node(DType t, const ir::Shape& shape, std::span<const std::byte> data,
                std::string_view) {
  auto memory = std::make_shared<Memory>();
  memory->bytes.assign(data.begin(), data.end());
  ir::Arg arg;
  arg.list = shape;
  arg.object = std::move(memory);
  return ir::make(Op::BUFFER, t, {}, std::move(arg));
}

void realize(std::span<Ref* const> roots) {
  std::vector<Ref> results;
  for (const Ref* root : roots) {
    const Node* n = resolved(root->get());
    if (n->op() == Op::BUFFER) {
      results.emplace_back(n);
      continue;
    }
    results.push_back(compute(*root));
    n->set_realized(results.back());
  }
  for (size_t i = 0; i < roots.size(); ++i) *roots[i] = results[i];
}

std::vector<std::byte> read(const Ref& buffer) {
  return dynamic_cast<const Memory&>(*buffer->arg().object).bytes;
}

bool tracing() { return false; }
Ref copy_node(const Ref& source, std::string_view) { return source; }
std::string device_name(const Ref&) { return "INTERPRETER"; }

}  // namespace tiny::engine
