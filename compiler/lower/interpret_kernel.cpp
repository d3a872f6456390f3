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

  /// An expression as a list, sources before users.
  struct Steps {
    std::vector<const Node*> nodes;
    std::vector<std::vector<size_t>> sources;
  };

  const Steps& steps(const Node* root) {
    auto [it, fresh] = steps_.try_emplace(root);
    if (!fresh) return it->second;
    it->second.nodes = ir::topological_order({&root, 1});
    std::unordered_map<const Node*, size_t> place;
    for (const Node* n : it->second.nodes) {
      it->second.sources.emplace_back();
      for (const Node* s : n->sources()) it->second.sources.back().push_back(place.at(s));
      place.emplace(n, place.size());
    }
    return it->second;
  }

  Scalar value(const Node* root) {
    const Steps& list = steps(root);
    std::vector<Scalar> values(list.nodes.size());
    for (size_t i = 0; i < list.nodes.size(); ++i) {
      Scalar args[3];
      for (size_t k = 0; k < list.sources[i].size(); ++k) args[k] = values[list.sources[i][k]];
      values[i] = compute(list.nodes[i], {args, list.sources[i].size()});
    }
    return values.back();
  }

  Scalar compute(const Node* n, std::span<const Scalar> args) {
    switch (n->op()) {
      case Op::CONST:
        return {n->arg().value, n->arg().real};
      case Op::RANGE:
        return {position_[static_cast<size_t>(n->arg().value)], 0};
      case Op::VAR:
        return {variables_[static_cast<size_t>(n->arg().value)], 0};
      case Op::LOAD:
        if (args.size() > 1 && !args[1].integer) return {0, 0};
        if (trace_) trace_->loads.emplace(static_cast<int>(n->arg().value), args[0].integer);
        return read(n->dtype(), element(n->arg().value, args[0].integer));
      case Op::STAGE:
        return args.empty() ? stage(n) : element_of(n, args);
      default:
        return ir::evaluate(n->op(), n->sources().back()->dtype(), n->dtype(), args);
    }
  }

  /// Computed once for each position of the axes it depends on.
  Scalar stage(const Node* n) {
    std::vector<int64_t> key{n->arg().value};
    for (int64_t a : n->arg().list) key.push_back(position_[static_cast<size_t>(a)]);
    if (auto it = stages_.find(key); it != stages_.end()) return it->second;
    const Stage& s = p_.stages[static_cast<size_t>(n->arg().value)];
    Scalar acc = identity(s);
    const std::vector<int64_t> saved = position_;
    walk(s.reduce_axes, 0, [&] {
      const Scalar pair[] = {acc, value(s.value)};
      acc = ir::evaluate(ir::fold_op(s.op), s.accumulator, s.accumulator, pair);
    });
    position_ = saved;
    return stages_[key] = acc;
  }

  struct LocalArray {
    std::vector<Scalar> values;
    std::vector<char> filled;
  };

  /// A read of a local stage's array, which is filled once for each position of the axes around.
  Scalar element_of(const Node* n, std::span<const Scalar> args) {
    if (args.size() > 1 && !args[1].integer) return {0, 0};
    std::vector<int64_t> key{n->arg().value};
    for (int64_t a : n->arg().list) key.push_back(position_[static_cast<size_t>(a)]);
    auto it = arrays_.find(key);
    if (it == arrays_.end()) {
      LocalArray array = filled_array(p_.stages[static_cast<size_t>(n->arg().value)]);
      it = arrays_.emplace(std::move(key), std::move(array)).first;
    }
    const int64_t index = args[0].integer;
    const LocalArray& array = it->second;
    CHECK_INVARIANT(index >= 0 && index < static_cast<int64_t>(array.values.size()) &&
                        array.filled[static_cast<size_t>(index)],
                    "index " + std::to_string(index) + " of stage " +
                        std::to_string(n->arg().value) + " is not kept");
    return array.values[static_cast<size_t>(index)];
  }

  LocalArray filled_array(const Stage& s) {
    const size_t count = static_cast<size_t>(s.elements);
    LocalArray array{std::vector<Scalar>(count), std::vector<char>(count, 0)};
    const std::vector<int64_t> saved = position_;
    walk(s.own_axes, 0, [&] {
      if (s.valid && !value(s.valid).integer) return;
      const size_t index = static_cast<size_t>(value(s.index).integer);
      CHECK_INVARIANT(index < count && !array.filled[index],
                      "element " + std::to_string(index) + " of a local stage is kept twice");
      array.values[index] = value(s.value);
      array.filled[index] = 1;
    });
    position_ = saved;
    return array;
  }

  std::unordered_map<const Node*, Steps> steps_;
  std::map<std::vector<int64_t>, LocalArray> arrays_;
  std::map<std::vector<int64_t>, Scalar> stages_;
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
