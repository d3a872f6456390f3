// SPDX-License-Identifier: MIT
// A preload library for tests: serves the tree of served.h to whatever program loads it, and says
// at the end what was opened.
#include "tests/models/interpose/served.h"

extern "C" void tiny_interpose_setup() {
  static auto& log = *new tiny::test::Log;
  static auto& written = *new std::string;
  tiny::interpose::mount("/tiny_served", tiny::test::make_tree(log, written));
}
