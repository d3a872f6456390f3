// SPDX-License-Identifier: MIT
// Whether this thread is inside a jit trace.
#pragma once

namespace tiny::engine {

bool tracing();

/// Marks the thread while it lives. Traces do not nest: an inner jit call is part of the outer
/// trace.
class TraceScope {
 public:
  TraceScope();
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;
};

}  // namespace tiny::engine
