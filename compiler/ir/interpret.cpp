// SPDX-License-Identifier: MIT
#include "compiler/ir/interpret.h"

#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace tiny::ir {

namespace {

using Position = std::vector<int64_t>;

/// A tensor while it is computed.
struct Values {
  DType dtype;
  Shape shape;
  std::vector<Scalar> elements;
};

int64_t flat(const Position& p, const Shape& shape) {
  int64_t index = 0;
  for (size_t i = 0; i < shape.size(); ++i) index = index * shape[i] + p[i];
  return index;
}

/// Calls visit(position) for every position of a shape in row-major order.
template <class Visit>
void for_each(const Shape& shape, Visit visit) {
  Position p(shape.size(), 0);
  for (int64_t n = element_count(shape); n > 0; --n) {
    visit(static_cast<const Position&>(p));
    for (size_t i = shape.size(); i-- > 0;) {
      if (++p[i] < shape[i]) break;
      p[i] = 0;
    }
  }
}

Values empty_like(const Node* n) { return {n->dtype(), n->shape(), {}}; }

Scalar at(const Values& x, const Position& p) {
  return x.elements[static_cast<size_t>(flat(p, x.shape))];
}

/// Result elements by position from one source: `where` turns a result position into a source
/// position, or returns false for `fill`.
template <class Where>
Values rearranged(const Node* n, const Values& x, Where where, Scalar fill = {}) {
  Values out = empty_like(n);
  out.elements.reserve(static_cast<size_t>(element_count(out.shape)));
  Position from(x.shape.size());
  for_each(out.shape,
           [&](const Position& p) { out.elements.push_back(where(p, from) ? at(x, from) : fill); });
  return out;
}

Values permute(const Node* n, const Values& x) {
  return rearranged(n, x, [&](const Position& p, Position& from) {
    for (size_t i = 0; i < p.size(); ++i) from[static_cast<size_t>(n->arg().list[i])] = p[i];
    return true;
  });
}

Values expand(const Node* n, const Values& x) {
  return rearranged(n, x, [&](const Position& p, Position& from) {
    for (size_t i = 0; i < p.size(); ++i) from[i] = x.shape[i] == 1 ? 0 : p[i];
    return true;
  });
}

Values shrink(const Node* n, const Values& x) {
  const auto& list = n->arg().list;
  const size_t rank = x.shape.size();
  return rearranged(n, x, [&](const Position& p, Position& from) {
    for (size_t i = 0; i < rank; ++i) from[i] = list[i] + p[i] * list[2 * rank + i];
    return true;
  });
}

Values pad(const Node* n, const Values& x) {
  const auto& list = n->arg().list;
  const size_t rank = x.shape.size();
  Arg fill;
  fill.value = n->arg().value;
  fill.real = n->arg().real;
  fill = normal_constant(n->dtype(), fill);
  return rearranged(n, x,
                    [&](const Position& p, Position& from) {
                      for (size_t i = 0; i < rank; ++i) {
                        const int64_t offset = p[i] - list[i], step = list[2 * rank + i] + 1;
                        from[i] = offset / step;
                        if (offset < 0 || offset % step != 0 || from[i] >= x.shape[i]) return false;
                      }
                      return true;
                    },
                    {fill.value, fill.real});
}

Values flip(const Node* n, const Values& x) {
  return rearranged(n, x, [&](const Position& p, Position& from) {
    for (size_t i = 0; i < p.size(); ++i) from[i] = n->arg().list[i] ? x.shape[i] - 1 - p[i] : p[i];
    return true;
  });
}

Values window(const Node* n, const Values& x) {
  const size_t axis = static_cast<size_t>(n->arg().value);
  const int64_t stride = n->arg().list[1], dilation = n->arg().list[2];
  return rearranged(n, x, [&](const Position& p, Position& from) {
    for (size_t i = 0; i < from.size(); ++i) from[i] = p[i < axis ? i : i + 1];
    from[axis] = p[axis] * stride + p[axis + 1] * dilation;
    return true;
  });
}

Values unwindow(const Node* n, const Values& x) {
  const size_t axis = static_cast<size_t>(n->arg().value);
  const int64_t stride = n->arg().list[1], dilation = n->arg().list[2];
  return rearranged(n, x, [&](const Position& p, Position& from) {
    from = p;
    const int64_t offset = p[axis] - p[axis + 1] * dilation;
    from[axis] = offset / stride;
    return offset >= 0 && offset % stride == 0 && from[axis] < x.shape[axis];
  });
}

Values elementwise(const Node* n, std::span<const Values* const> x) {
  Values out = empty_like(n);
  const size_t count = x[0]->elements.size();
  const DType operand = x.back()->dtype;
  out.elements.reserve(count);
  Scalar operands[3];
  for (size_t i = 0; i < count; ++i) {
    for (size_t s = 0; s < x.size(); ++s) operands[s] = x[s]->elements[i];
    out.elements.push_back(evaluate(n->op(), operand, n->dtype(), {operands, x.size()}));
  }
  return out;
}

Scalar greatest(DType t) {
  if (is_float(t)) return {0, std::numeric_limits<double>::infinity()};
  if (t == DType::u64) return {-1, 0};
  return {full_interval(t).hi, 0};
}

Scalar least(DType t) {
  if (is_float(t)) return {0, -std::numeric_limits<double>::infinity()};
  return {full_interval(t).lo, 0};
}

/// What folds to itself with anything: the value of an empty reduction.
Scalar identity(ReduceOp op, DType t) {
  switch (op) {
    case ReduceOp::sum:
      return {0, 0};
    case ReduceOp::prod:
      return {1, 1};
    case ReduceOp::max:
      return least(t);
    default:
      return greatest(t);
  }
}

Values reduce(const Node* n, const Values& x) {
  const auto op = static_cast<ReduceOp>(n->arg().value);
  const bool wide = n->dtype() == DType::f16 || n->dtype() == DType::bf16;
  const DType accumulator = wide ? DType::f32 : n->dtype();
  std::vector<bool> folded(x.shape.size());
  for (int64_t axis : n->arg().list) folded[static_cast<size_t>(axis)] = true;
  Values out = empty_like(n);
  out.elements.assign(static_cast<size_t>(element_count(out.shape)), identity(op, n->dtype()));
  Position kept;
  for_each(x.shape, [&](const Position& p) {
    kept.clear();
    for (size_t i = 0; i < p.size(); ++i)
      if (!folded[i]) kept.push_back(p[i]);
    Scalar& sum = out.elements[static_cast<size_t>(flat(kept, out.shape))];
    const Scalar operands[] = {sum, at(x, p)};
    sum = evaluate(fold_op(op), accumulator, accumulator, operands);
  });
  if (wide)
    for (Scalar& v : out.elements) v.real = round_to(n->dtype(), v.real);
  return out;
}

Values gather(const Node* n, const Values& x, const Values& index) {
  const size_t axis = static_cast<size_t>(n->arg().value);
  return rearranged(n, x, [&](const Position& p, Position& from) {
    from = p;
    from[axis] = at(index, p).integer;
    return from[axis] >= 0 && from[axis] < x.shape[axis];
  });
}

Values scatter(const Node* n, const Values& base, const Values& index, const Values& update) {
  const size_t axis = static_cast<size_t>(n->arg().value);
  const bool adds = !n->arg().list.empty() && n->arg().list[0] == 1;
  Values out = base;
  for_each(index.shape, [&](const Position& p) {
    Position to = p;
    to[axis] = at(index, p).integer;
    if (to[axis] < 0 || to[axis] >= out.shape[axis]) return;
    Scalar& element = out.elements[static_cast<size_t>(flat(to, out.shape))];
    const Scalar operands[] = {element, at(update, p)};
    element = adds ? evaluate(Op::ADD, n->dtype(), n->dtype(), operands) : operands[1];
  });
  return out;
}

Values stored(const Node* n, const BufferReader& buffers) {
  Values out = empty_like(n);
  const size_t count = static_cast<size_t>(element_count(out.shape)), size = size_B(n->dtype());
  const auto bytes = buffers(n);
  if (bytes.size() < count * size)
    throw std::out_of_range(fmt::format("[interpret] {} bytes for a {} of shape {}", bytes.size(),
                                        name(n->dtype()), to_string(out.shape)));
  out.elements.reserve(count);
  for (size_t i = 0; i < count; ++i)
    out.elements.push_back(load_scalar(n->dtype(), bytes.data() + i * size));
  return out;
}

Values iota(const Node* n) {
  Values out = empty_like(n);
  for (int64_t i = 0; i < n->arg().list[0]; ++i) out.elements.push_back({wrap(n->dtype(), i), 0});
  return out;
}

Values same_elements(const Node* n, const Values& x) {
  return {n->dtype(), n->shape(), x.elements};
}

Values compute(const Node* n, std::span<const Values* const> x, const BufferReader& buffers) {
  switch (n->op()) {
    case Op::CONST:
      return {n->dtype(), {}, {{n->arg().value, n->arg().real}}};
    case Op::BUFFER:
    case Op::PARAM:
      return stored(n, buffers);
    case Op::IOTA:
      return iota(n);
    case Op::PERMUTE:
      return permute(n, *x[0]);
    case Op::EXPAND:
      return expand(n, *x[0]);
    case Op::SHRINK:
      return shrink(n, *x[0]);
    case Op::PAD:
      return pad(n, *x[0]);
    case Op::FLIP:
      return flip(n, *x[0]);
    case Op::WINDOW:
      return window(n, *x[0]);
    case Op::UNWINDOW:
      return unwindow(n, *x[0]);
    case Op::REDUCE:
      return reduce(n, *x[0]);
    case Op::GATHER:
      return gather(n, *x[0], *x[1]);
    case Op::SCATTER:
      return scatter(n, *x[0], *x[1], *x[2]);
    case Op::RESHAPE:
    case Op::CONTIGUOUS:
    case Op::DETACH:
    case Op::COPY:
      return same_elements(n, *x[0]);
    case Op::ASSIGN:
      return same_elements(n, *x[1]);
    case Op::VAR:
    case Op::RANGE:
    case Op::LOAD:
    case Op::STAGE:
      CHECK_INVARIANT(false,
                      std::string("[interpret] kernel op ") + std::string(info(n->op()).name));
      return empty_like(n);
    default:
      return elementwise(n, x);
  }
}

HostTensor to_host(const Values& x) {
  const size_t size = size_B(x.dtype);
  HostTensor out{x.dtype, x.shape, std::vector<std::byte>(x.elements.size() * size)};
  for (size_t i = 0; i < x.elements.size(); ++i)
    store_scalar(x.dtype, x.elements[i], out.bytes.data() + i * size);
  return out;
}

Scalar load(const Node* n, std::span<const Scalar> x, const BufferReader& buffers) {
  if (x.size() == 2 && !x[1].integer) return {};
  const auto bytes = buffers(n);
  const size_t size = size_B(n->dtype());
  const int64_t index = x[0].integer;
  if (index < 0 || static_cast<uint64_t>(index) >= bytes.size() / size)
    throw std::out_of_range(fmt::format("[LOAD] index {} outside buffer {} of {} elements", index,
                                        n->arg().value, bytes.size() / size));
  return load_scalar(n->dtype(), bytes.data() + static_cast<size_t>(index) * size);
}

Scalar scalar_value(const Node* n, std::span<const Scalar> x, const ScalarEnvironment& env) {
  switch (n->op()) {
    case Op::CONST:
      return {n->arg().value, n->arg().real};
    case Op::RANGE:
      return {env.axes.at(n->arg().value), 0};
    case Op::VAR:
      return {env.variables.at(n->arg().value), 0};
    case Op::LOAD:
      return load(n, x, env.buffers);
    case Op::STAGE:
      return env.stages(n, x);
    default:
      return evaluate(n->op(), n->sources().back()->dtype(), n->dtype(), x);
  }
}

}  // namespace

std::vector<HostTensor> interpret(std::span<const Node* const> roots, const BufferReader& buffers) {
  const auto order = topological_order(roots);
  std::unordered_map<const Node*, size_t> uses;
  for (const Node* n : order)
    for (const Node* s : n->sources()) ++uses[s];
  for (const Node* n : roots) ++uses[n];
  std::unordered_map<const Node*, Values> values;
  for (const Node* n : order) {
    std::vector<const Values*> x;
    for (const Node* s : n->sources()) x.push_back(&values.at(s));
    Values result = compute(n, x, buffers);
    for (const Node* s : n->sources())
      if (--uses[s] == 0) values.erase(s);
    values.emplace(n, std::move(result));
  }
  std::vector<HostTensor> out;
  for (const Node* n : roots) out.push_back(to_host(values.at(n)));
  return out;
}

Scalar eval_scalar(const Node* root, const ScalarEnvironment& env) {
  const Node* roots[] = {root};
  std::unordered_map<const Node*, Scalar> values;
  std::vector<Scalar> operands;
  for (const Node* n : topological_order(roots)) {
    operands.clear();
    for (const Node* s : n->sources()) operands.push_back(values.at(s));
    values.emplace(n, scalar_value(n, operands, env));
  }
  return values.at(root);
}

}  // namespace tiny::ir
