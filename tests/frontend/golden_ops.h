// SPDX-License-Identifier: MIT
// Every op of the golden set as a call on Tensor.
#pragma once

#include <rt_tiny/frontend/tensor.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/frontend/golden_reader.h"

namespace tiny::golden {

using Operands = std::vector<Tensor>;
using Operation = std::function<std::vector<Tensor>(const nlohmann::json& params, const Operands&)>;

/// By the names of tools/golden/README.md.
const std::map<std::string, Operation>& operations();

/// A number of `params` with its kind kept.
Scalar scalar(const nlohmann::json& value);
/// The operand made from a stored input.
Tensor moved(Tensor x, const nlohmann::json& moves);

}  // namespace tiny::golden
