// SPDX-License-Identifier: MIT
#include "engine/storage.h"

#include <rt_tiny/runtime/base/error.h>

namespace tiny::engine {

std::mutex& graph_mutex() {
  static std::mutex mutex;
  return mutex;
}

Storage& storage_of(const ir::Node* buffer) {
  auto* storage = dynamic_cast<Storage*>(buffer->arg().object.get());
  CHECK_INVARIANT(buffer->op() == ir::Op::BUFFER && storage, "not a stored tensor");
  return *storage;
}

ir::Ref make_buffer_node(DType dtype, const ir::Shape& shape, Buffer buffer,
                         const Storage* previous) {
  auto storage = std::make_shared<Storage>(std::move(buffer));
  storage->variable = previous ? previous->variable : std::make_shared<Variable>();
  storage->variable->set_newest(storage);
  return ir::make(ir::Op::BUFFER, dtype, {}, {.list = shape, .object = storage});
}

}  // namespace tiny::engine
