// SPDX-License-Identifier: MIT
// libtiny_model_amd.so: the model for programs that are run with it preloaded. Reads its options
// from the one variable that `tiny model` sets; without it, it does nothing.
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "models/amd/model.h"
#include "models/interpose/interpose.h"

namespace {

/// Never destroyed: the program's calls come until the very end.
tiny::models::amd::Model* machine = nullptr;
pid_t owner = 0;  ///< a forked child has no machine: its copy may be locked for ever

void print_stats() {
  const tiny::models::amd::Stats s = machine->stats();
  std::fprintf(stderr,
               "tiny model: %" PRIu64 " dispatches, %" PRIu64 " waves, %" PRIu64
               " wave instructions\n",
               s.dispatches, s.waves, s.instructions);
}

/// A program may end while its GPU is busy. One that misused it has failed, whatever it says
/// itself.
void at_exit() {
  if (::getpid() != owner) return;
  machine->halt();
  if (machine->options().print_stats) print_stats();
  if (!machine->options().strict) return;
  const size_t count = machine->reports().size();
  if (count == 0) return;
  std::fflush(nullptr);
  std::fprintf(stderr, "tiny model: %zu report%s\n", count, count == 1 ? "" : "s");
  ::_exit(tiny::models::amd::kStrictStatus);
}

}  // namespace

extern "C" void tiny_interpose_setup() {
  const char* text = std::getenv(tiny::models::amd::kOptionsVariable);
  if (!text) return;
  try {
    machine = new tiny::models::amd::Model(tiny::models::amd::parse_options(text));
    owner = ::getpid();
    std::atexit(at_exit);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tiny: %s\n", e.what());
    std::abort();
  }
}
