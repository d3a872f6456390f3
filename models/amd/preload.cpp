// SPDX-License-Identifier: MIT
// libtiny_model_amd.so: the model for programs that are run with it preloaded. Reads its options
// from the one variable that `tiny model` sets; without it, it does nothing.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "models/amd/model.h"
#include "models/interpose/interpose.h"

extern "C" void tiny_interpose_setup() {
  const char* text = std::getenv(tiny::models::amd::kOptionsVariable);
  if (!text) return;
  try {
    // Never destroyed: the program's calls come until the very end.
    static auto& model = *new tiny::models::amd::Model(tiny::models::amd::parse_options(text));
    (void)model;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tiny: %s\n", e.what());
    std::abort();
  }
}
