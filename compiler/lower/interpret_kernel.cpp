// SPDX-License-Identifier: MIT
#include "compiler/lower/interpret_kernel.h"

#include <rt_tiny/runtime/base/error.h>

#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <unordered_map>

#include "compiler/ir/scalar.h"

namespace tiny::lower {

namespace {

using ir::Node;
using ir::Op;
using ir::Scalar;

template <class T>
T read_as(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

/// By way of the bits, which BITCAST of the shared scalar semantics turns into a value.
Scalar read(DType t, const uint8_t* p) {
  switch (size_B(t)) {
    case 1: {
      const uint8_t v = read_as<uint8_t>(p);
      return t == DType::i8 ? Scalar{static_cast<int8_t>(v), 0} : Scalar{v, 0};
    }
    case 2: {
      const Scalar bits{read_as<uint16_t>(p), 0};
      return ir::evaluate(Op::BITCAST, DType::u16, t, {&bits, 1});
    }
    case 4: {
      const Scalar bits{read_as<uint32_t>(p), 0};
      return ir::evaluate(Op::BITCAST, DType::u32, t, {&bits, 1});
    }
    default: {
      const Scalar bits{read_as<int64_t>(p), 0};
      return ir::evaluate(Op::BITCAST, DType::u64, t, {&bits, 1});
    }
  }
}

void write(DType t, uint8_t* p, Scalar v) {
  constexpr DType by_size[] = {DType::u8, DType::u16, DType::u32, DType::u64};
  const size_t size = size_B(t);
  int64_t bits = v.integer;
  if (is_float(t)) {
    const DType u = by_size[std::countr_zero(size)];
    bits = ir::evaluate(Op::BITCAST, t, u, {&v, 1}).integer;
  }
  std::memcpy(p, &bits, size);  // little-endian
}

Scalar identity(const Stage& s) {
  const double inf = std::numeric_limits<double>::infinity();
  const ir::Interval full = ir::full_interval(s.accumulator);
  switch (s.op) {
    case ir::ReduceOp::sum:
      return {0, 0};
    case ir::ReduceOp::prod:
      return {1, 1};
    case ir::ReduceOp::max:
      return {full.lo, -inf};
    default:
      return {s.accumulator == DType::u64 ? -1 : full.hi, inf};
  }
}

class Interpreter {
 public:
  Interpreter(const Kernel& k, const Piece& p, std::span<std::vector<uint8_t>> buffers,
              std::span<const int64_t> variables, AccessTrace* trace)
      : trace_(trace),
        k_(k),
        p_(p),
        buffers_(buffers),
        variables_(variables),
        position_(p.axes.size(), 0) {}

  void run() {
    walk(p_.domain, 0, [&] { store_all(); });
  }

 private:
  AccessTrace* trace_;

  void walk(const std::vector<int>& axes, size_t i, const std::function<void()>& body) {
    if (i == axes.size()) return body();
    const size_t a = static_cast<size_t>(axes[i]);
    for (int64_t x = 0; x < p_.axes[a].extent; ++x) {
      position_[a] = x;
      walk(axes, i + 1, body);
    }
  }

  uint8_t* element(int64_t buffer, int64_t index) {
    const KernelBuffer& b = k_.buffers[static_cast<size_t>(buffer)];
    CHECK_INVARIANT(index >= 0 && index < b.elements,
                    "index " + std::to_string(index) + " of buffer " + std::to_string(buffer));
    return buffers_[static_cast<size_t>(buffer)].data() +
           static_cast<size_t>(index) * size_B(b.dtype);
  }

  void store_all() {
    std::vector<std::pair<const Store*, Scalar>> values;
    for (const Store& s : p_.stores)
      if (!s.valid || value(s.valid).integer) values.emplace_back(&s, value(s.value));
    for (auto& [s, v] : values) {
      const DType t = k_.buffers[static_cast<size_t>(s->buffer)].dtype;
      const int64_t index = value(s->index).integer;
      uint8_t* p = element(s->buffer, index);
      if (trace_) ++trace_->stores[{s->buffer, index}];
      if (s->accumulate) {
        const Scalar pair[] = {read(t, p), v};
        v = ir::evaluate(Op::ADD, t, t, pair);
      }
      write(t, p, v);
    }
  }

  Scalar value(const Node* root) {
    std::unordered_map<const Node*, Scalar> known;
    std::vector<const Node*> todo{root};
    while (!todo.empty()) {
      const Node* n = todo.back();
      if (known.count(n)) {
        todo.pop_back();
        continue;
      }
      const size_t before = todo.size();
      for (const Node* s : n->sources())
        if (!known.count(s)) todo.push_back(s);
      if (todo.size() > before) continue;
      known[n] = compute(n, known);
      todo.pop_back();
    }
    return known.at(root);
  }

  Scalar compute(const Node* n, const std::unordered_map<const Node*, Scalar>& known) {
    switch (n->op()) {
      case Op::CONST:
        return {n->arg().value, n->arg().real};
      case Op::RANGE:
        return {position_[static_cast<size_t>(n->arg().value)], 0};
      case Op::VAR:
        return {variables_[static_cast<size_t>(n->arg().value)], 0};
      case Op::LOAD:
        if (n->sources().size() > 1 && !known.at(n->source(1)).integer) return {0, 0};
        if (trace_)
          trace_->loads.emplace(static_cast<int>(n->arg().value), known.at(n->source(0)).integer);
        return read(n->dtype(), element(n->arg().value, known.at(n->source(0)).integer));
      case Op::STAGE:
        return stage(p_.stages[static_cast<size_t>(n->arg().value)]);
      default:
        break;
    }
    std::vector<Scalar> args;
    for (const Node* s : n->sources()) args.push_back(known.at(s));
    const DType operand = n->sources().back()->dtype();
    return ir::evaluate(n->op(), operand, n->dtype(), args);
  }

  Scalar stage(const Stage& s) {
    Scalar acc = identity(s);
    const std::vector<int64_t> saved = position_;
    walk(s.reduce_axes, 0, [&] {
      const Scalar pair[] = {acc, value(s.value)};
      acc = ir::evaluate(ir::fold_op(s.op), s.accumulator, s.accumulator, pair);
    });
    position_ = saved;
    return acc;
  }

  const Kernel& k_;
  const Piece& p_;
  std::span<std::vector<uint8_t>> buffers_;
  std::span<const int64_t> variables_;
  std::vector<int64_t> position_;
};

}  // namespace

void interpret_kernel(const Kernel& k, std::span<std::vector<uint8_t>> buffers,
                      std::span<const int64_t> variables, AccessTrace* trace) {
  for (const Piece& p : k.pieces) Interpreter(k, p, buffers, variables, trace).run();
}

}  // namespace tiny::lower
