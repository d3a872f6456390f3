// SPDX-License-Identifier: MIT
// The seam between table.cpp and the file that embed_tables.py generates from tables/*.tsv.
#pragma once

#include <span>
#include <string_view>

namespace tiny::decode::detail {

struct Embedded {
  std::string_view name, text;
};
std::span<const Embedded> embedded();

}  // namespace tiny::decode::detail
