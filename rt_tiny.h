// SPDX-License-Identifier: MIT
// The umbrella: everything a user of tensors includes. What it includes of frontend/ is public.
#pragma once

#include <rt_tiny/frontend/data/datasets.h>
#include <rt_tiny/frontend/io/safetensors.h>
#include <rt_tiny/frontend/jit.h>
#include <rt_tiny/frontend/nn/nn.h>
#include <rt_tiny/frontend/optim/optim.h>
#include <rt_tiny/frontend/random.h>
#include <rt_tiny/frontend/tensor.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/device.h>
