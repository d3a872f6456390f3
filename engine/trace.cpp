// SPDX-License-Identifier: MIT
#include "engine/trace.h"

namespace tiny::engine {
namespace {

thread_local int trace_depth = 0;

}  // namespace

bool tracing() { return trace_depth > 0; }

TraceScope::TraceScope() { ++trace_depth; }
TraceScope::~TraceScope() { --trace_depth; }

}  // namespace tiny::engine
