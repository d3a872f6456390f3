// SPDX-License-Identifier: MIT
// Where devices send what they measured.
#pragma once

#include <rt_tiny/runtime/profile.h>

#include <vector>

namespace tiny {

/// Prints (DEBUG=1) and keeps (PROFILE, start_profile) the events.
void publish_events(std::vector<ProfileEvent> events);
/// Writes the file of the PROFILE knob, if set; a failure is reported on stderr.
void write_profile_file() noexcept;

}  // namespace tiny
