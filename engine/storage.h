// SPDX-License-Identifier: MIT
// What a BUFFER node points at: device memory, and which variable it is a version of.
#pragma once

#include <rt_tiny/runtime/memory.h>
#include "compiler/ir/node.h"

#include <memory>
#include <mutex>

namespace tiny::engine {

struct Storage;

/// One assignable variable through all its versions. A captured graph finds the newest here.
class Variable {
 public:
  std::shared_ptr<Storage> newest() const {
    const std::lock_guard lock(mutex_);
    return newest_.lock();
  }
  void set_newest(const std::shared_ptr<Storage>& storage) {
    const std::lock_guard lock(mutex_);
    newest_ = storage;
  }

 private:
  mutable std::mutex mutex_;
  std::weak_ptr<Storage> newest_;
};

/// One version's elements. Only a copy-on-write of shared state (Capture) changes `buffer`.
struct Storage : ir::Object {
  explicit Storage(Buffer b) : buffer(std::move(b)) {}
  Buffer buffer;
  std::shared_ptr<Variable> variable;
};

/// Graphs are walked, nodes told where they are stored and shared state is copied before a write by
/// one thread at a time. Held for host work only, never while waiting for a device's results.
std::mutex& graph_mutex();

/// The storage of a BUFFER node.
Storage& storage_of(const ir::Node* buffer);
/// A BUFFER node over `buffer`: a new variable, or the next version of `previous`'s.
ir::Ref make_buffer_node(DType, const ir::Shape&, Buffer buffer, const Storage* previous = nullptr);

}  // namespace tiny::engine
