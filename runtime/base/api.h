// SPDX-License-Identifier: MIT
// The export mark of the shared libraries; everything without it stays hidden.
#pragma once

#define TINY_API __attribute__((visibility("default")))
