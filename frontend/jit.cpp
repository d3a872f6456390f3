// SPDX-License-Identifier: MIT
#include <rt_tiny/frontend/jit.h>

#include <rt_tiny/frontend/nn/nn.h>
#include <rt_tiny/frontend/random.h>
#include <rt_tiny/runtime/base/knobs.h>

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "engine/capture.h"
#include "engine/realize.h"
#include "engine/trace.h"
#include "frontend/cell.h"

namespace tiny::detail {
namespace {

/// One traced signature.
struct Trace {
  std::optional<engine::Capture> capture;
  std::vector<Tensor> state;           ///< assigned by the function, in root order
  std::vector<size_t> written_inputs;  ///< inputs the function assigns: results after the outputs
  size_t output_count = 0;
  bool draws = false;  ///< the last input is the random counter
  uint64_t drawn = 0;
};

template <class T>
void append(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Bytes, not text: this runs on every call.
std::string signature_of(const std::vector<Tensor>& inputs, const std::string& scalars) {
  std::string key;
  append(key, nn::is_training());
  append(key, gradient_enabled());
  append(key, knobs().noopt);
  for (const Tensor& t : inputs) {
    append(key, t.dtype());
    append(key, t.requires_grad());
    append(key, t.shape().size());
    for (const int64_t extent : t.shape()) append(key, extent);
    key += engine::device_name(value(t));
  }
  return key + scalars;
}

/// The thread's random numbers as a traced counter while it lives.
class RandomTrace {
 public:
  RandomTrace() { random_state().begin_trace(); }
  ~RandomTrace() { end(); }
  uint64_t end() {
    if (std::exchange(ended_, true)) return 0;
    return random_state().end_trace();
  }

 private:
  bool ended_ = false;
};

/// Back to the stored version that an assignment in a trace would replace.
void undo_assign(const Tensor& t) {
  if (value(t)->op() != ir::Op::ASSIGN) return;
  t.cell()->value = ir::Ref(value(t)->source(0));
  t.cell()->marker = {};
}

/// Puts assigned tensors back to their stored versions, whatever happened to the trace.
class Restore {
 public:
  void add(const Tensor& t) { saved_.push_back(t); }
  ~Restore() {
    for (const Tensor& t : saved_) undo_assign(t);
  }

 private:
  std::vector<Tensor> saved_;
};

void drop_traced_gradients() {
  for (const Tensor& t : take_noted_gradients())
    if (t.cell()->grad.defined() && !t.cell()->grad.is_realized()) t.cell()->grad = {};
}

/// Assigned tensors that were not stored when the trace assigned them lose what a replay computes.
void require_stored(const std::vector<Tensor>& assigned) {
  for (const Tensor& t : assigned)
    if (value(t)->op() != ir::Op::ASSIGN)
      fail("jit",
           fmt::format("a tensor {} that was never realized is assigned inside a traced function; "
                       "realize it before",
                       ir::to_string(t.shape())));
}

}  // namespace

struct JitFunction::Impl {
  std::mutex mutex;
  bool warmed_up = false;
  std::map<std::string, Trace> traces;
  size_t kernels = 0;

  std::vector<Tensor> run_eagerly(const std::vector<Tensor>& inputs, const Body& body);
  Trace trace(const std::vector<Tensor>& inputs, const Body& body);
  std::vector<Tensor> replay(Trace& trace, const std::vector<Tensor>& inputs);
};

std::vector<Tensor> JitFunction::Impl::run_eagerly(const std::vector<Tensor>& inputs,
                                                   const Body& body) {
  std::vector<Tensor> results = body(inputs);
  std::vector<Tensor> all = results;
  for (const Tensor& t : take_assigned()) all.push_back(t);
  realize(all);
  return results;
}

Trace JitFunction::Impl::trace(const std::vector<Tensor>& inputs, const Body& body) {
  Trace made;
  Restore restore;
  std::vector<ir::Ref> input_nodes, roots, outputs, written;
  {
    std::vector<Tensor> placeholders;
    for (const Tensor& t : inputs) {
      input_nodes.push_back(engine::placeholder(value(t)));
      placeholders.push_back(make_tensor(input_nodes.back()));
      if (t.requires_grad()) placeholders.back().requires_grad_();
    }
    RandomTrace random;
    const ir::Ref counter = value(random_state().counter());
    take_assigned();
    std::vector<Tensor> results;
    try {
      const engine::TraceScope scope;
      results = body(placeholders);
    } catch (...) {
      for (const Tensor& t : take_assigned()) undo_assign(t);
      take_noted_gradients();
      throw;
    }
    const std::vector<Tensor> assigned = take_assigned();
    made.drawn = random.end();
    made.draws = made.drawn > 0;
    input_nodes.push_back(counter);
    for (const Tensor& t : assigned) {
      const auto p = std::find_if(placeholders.begin(), placeholders.end(),
                                  [&](const Tensor& q) { return q.cell() == t.cell(); });
      if (t.cell() == random_state().counter().cell()) continue;
      if (p != placeholders.end()) {
        made.written_inputs.push_back(size_t(p - placeholders.begin()));
        written.push_back(value(t));
      } else {
        require_stored({t});
        made.state.push_back(t);
        roots.push_back(value(t));
        restore.add(t);
      }
    }
    for (const Tensor& t : results) {
      require_defined("jit", t);
      outputs.push_back(value(t));
    }
    made.output_count = outputs.size();
    drop_traced_gradients();
  }
  roots.insert(roots.end(), outputs.begin(), outputs.end());
  roots.insert(roots.end(), written.begin(), written.end());
  made.capture.emplace(input_nodes, roots, made.state.size());
  return made;
}

std::vector<Tensor> JitFunction::Impl::replay(Trace& trace, const std::vector<Tensor>& inputs) {
  std::vector<ir::Ref> nodes;
  for (const Tensor& t : inputs) nodes.push_back(value(t));
  if (trace.draws) {
    const uint64_t position[] = {random_position()};
    advance_random(trace.drawn);
    const std::string device = nodes.empty() ? "" : engine::device_name(nodes[0]);
    nodes.push_back(
        engine::buffer_node(DType::u64, {1}, std::as_bytes(std::span(position)), device));
  }
  std::vector<ir::Ref*> state;
  for (const Tensor& t : trace.state) {
    t.realize();
    t.cell()->marker = {};
    state.push_back(&t.cell()->value);
  }
  std::vector<ir::Ref> results = trace.capture->run(nodes, state);
  kernels = trace.capture->kernel_count();
  for (size_t i = 0; i < trace.written_inputs.size(); ++i)
    set_value(inputs[trace.written_inputs[i]], std::move(results[trace.output_count + i]));
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < trace.output_count; ++i)
    outputs.push_back(make_tensor(std::move(results[i])));
  return outputs;
}

JitFunction::JitFunction() : impl_(std::make_unique<Impl>()) {}
JitFunction::~JitFunction() = default;
JitFunction::JitFunction(JitFunction&&) noexcept = default;
JitFunction& JitFunction::operator=(JitFunction&&) noexcept = default;

std::vector<Tensor> JitFunction::call(const std::vector<Tensor>& inputs, const std::string& scalars,
                                      const Body& body) {
  if (engine::tracing()) return body(inputs);
  const std::lock_guard lock(impl_->mutex);
  for (const Tensor& t : inputs) require_defined("jit", t);
  realize(inputs);
  if (!knobs().jit || !impl_->warmed_up) {
    impl_->warmed_up = true;
    return impl_->run_eagerly(inputs, body);
  }
  const std::string signature = signature_of(inputs, scalars);
  auto it = impl_->traces.find(signature);
  if (it == impl_->traces.end())
    it = impl_->traces.emplace(signature, impl_->trace(inputs, body)).first;
  return impl_->replay(it->second, inputs);
}

size_t JitFunction::trace_count() const { return impl_->traces.size(); }
size_t JitFunction::kernel_count() const { return impl_->kernels; }

}  // namespace tiny::detail
