// SPDX-License-Identifier: MIT
// The umbrella: everything a user of tensors includes. What it includes of frontend/ is public.
#pragma once

#include <rt_tiny/frontend/random.h>
#include <rt_tiny/frontend/tensor.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/registry.h>
