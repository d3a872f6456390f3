// SPDX-License-Identifier: MIT
// The one Catch2 main of every suite.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
