// SPDX-License-Identifier: MIT
// Threads of the device: named, and deaf to signals meant for the program.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace tiny::cpu {

/// All signals but faults stay blocked in it, so that handlers run on the program's own threads.
std::thread start_thread(const std::string& name, std::function<void()> body);

}  // namespace tiny::cpu
