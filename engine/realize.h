// SPDX-License-Identifier: MIT
// From expression graphs to stored values: the one door between the front end and everything below.
#pragma once

#include "compiler/ir/node.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tiny::engine {

/// A BUFFER node of `shape` on `device` ("" is the default device) holding a copy of `data`
/// (row-major, element_count(shape) * size_B(dtype) bytes).
ir::Ref buffer_node(DType, const ir::Shape& shape, std::span<const std::byte> data,
                    std::string_view device = "");

/// A BUFFER node over the same memory as another, of a variable of its own: what a trace reads in
/// place of an argument.
ir::Ref placeholder(const ir::Ref& buffer);

/// `source` on another device.
ir::Ref copy_node(const ir::Ref& source, std::string_view device);
/// Where a node's value is, or will be computed.
std::string device_name(const ir::Ref&);

/// Computes every root and replaces it by a BUFFER node of its value; the node that stood there
/// remembers the buffer (Node::realized) for whoever still holds it. ASSIGN roots are stored in
/// their target's memory where nothing else can still see the old value, else in fresh memory.
/// Returns once the work is queued; reading waits for it.
void realize(std::span<ir::Ref* const> roots);

/// The elements of a BUFFER node; waits for the work that writes them.
std::vector<std::byte> read(const ir::Ref& buffer);

/// Inside a jit trace on this thread: `realize` and `read` throw UsageError.
bool tracing();

}  // namespace tiny::engine
