// SPDX-License-Identifier: MIT
// RM and UVM structures as fields: handles with their classes, status codes, flags, lists. Private
// to the NVIDIA decoders.
#pragma once

#include "tools/decode/nv.h"
#include "tools/decode/nv_nested.h"
#include "tools/decode/nv_tables.h"

namespace tiny::decode::nv {

/// What the members of one structure mean beyond their own bytes.
struct Context {
  const NvState& state;
  const Symbols& symbols;
  std::uint32_t client = 0;         ///< whose handles the structure holds
  std::uint32_t source_client = 0;  ///< whose handle hObjectSrc is
  /// Members that the caller prints, or shows the target of.
  std::vector<std::string_view> hidden;
};

/// The layout of a structure for the state's branch; another branch's where only that one has
/// `size_B` bytes (0: not known). Null for unknown structures.
const StructLayout* find_layout(std::string_view structure, std::size_t size_B,
                                const NvState& state);

/// Appends the members. Status codes are shown as they are after the call. In structures of many
/// members, those that are zero are left out; arrays of structures show the elements in use.
void add_struct(Line& line, const StructLayout& layout, Bytes before, Bytes after,
                const Context& context);

/// Appends parameters whose structure is not known: `NAME=hex`, `->hex` where the call changed it.
void add_raw(Line& line, std::string_view name, Bytes before, Bytes after);

/// Appends the lists that the parameters of a control point to, from the attachments.
void add_nested(Line& line, std::uint32_t cmd, const StructLayout* layout, Bytes before,
                Bytes after, const IoctlCall& call, const Context& context);

}  // namespace tiny::decode::nv
