// SPDX-License-Identifier: MIT
// SIGSEGV and SIGTRAP shared with the program: we are installed, its handlers are remembered.
#pragma once

#include <signal.h>

namespace tiny::interpose {

/// True: it was ours and the instruction may go on.
using FaultHandler = bool (*)(siginfo_t* info, void* context);

/// Installs both, once. 0 or -errno.
int install_fault_handlers(FaultHandler on_segv, FaultHandler on_trap);

}  // namespace tiny::interpose
