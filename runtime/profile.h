// SPDX-License-Identifier: MIT
// Start and end of each command on the device's clock, aligned to the host's, as a Chrome/Perfetto
// trace.
#pragma once

#include <rt_tiny/runtime/base/api.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tiny {

struct TINY_API ProfileEvent {
  std::string device, queue;          ///< "CPU:0", "compute"
  std::string name;                   ///< the kernel, or "copy 4096 B"
  uint64_t start_ns = 0, end_ns = 0;  ///< host's steady clock
  double flops = 0, bytes = 0;        ///< estimates of the whole command, 0 when unknown
};

/// Recording is on while PROFILE or DEBUG>=1 is set, or between these calls (a nesting count).
TINY_API void start_profile();
TINY_API void stop_profile();
TINY_API bool profiling();
/// Takes the events recorded so far. Synchronize the devices first.
TINY_API std::vector<ProfileEvent> take_profile();

/// Trace JSON ("traceEvents", complete events in microseconds).
TINY_API std::string to_trace_json(const std::vector<ProfileEvent>&);
/// One line as DEBUG=1 prints it: name, time, GFLOP/s, GB/s.
TINY_API std::string to_line(const ProfileEvent&);

}  // namespace tiny
