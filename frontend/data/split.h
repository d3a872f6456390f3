// SPDX-License-Identifier: MIT
// Which part of a data set: what one trains on, or what one is judged by.
#pragma once

#include <cstdint>

namespace tiny::data {

enum class Split : uint8_t { train, test };
inline constexpr Split train = Split::train, test = Split::test;

}  // namespace tiny::data
