// SPDX-License-Identifier: MIT
// Which members of KGSL and msm structures point to what: one table for recorder and decoder. It
// repeats offsets of tables/{kgsl,msm}_structs.tsv, so that a recorder need not parse them inside
// somebody's ioctl; a test compares the two.
#pragma once

#include "tools/decode/decode.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace tiny::decode::qcom {

/// A number in a structure; without a size, the constant `offset_B`.
struct Number {
  std::uint16_t offset_B = 0, size_B = 0;
};

/// `owner.member` points to `count` elements, `stride` bytes apart, where `selector` has
/// `selected`. Of several rules for one member the first that fits counts.
struct NestedRule {
  std::string_view owner, member;
  std::uint16_t pointer_B;
  std::string_view element;  ///< a structure; empty: bytes, "text", "u32" or "u64"
  Number count, stride;
  Number selector = {};
  std::uint32_t selected = 0;
};
struct CallRoot {
  std::uint8_t nr;
  std::string_view structure;
};

struct NestedTable {
  std::uint8_t magic;
  std::span<const CallRoot> roots;
  std::span<const NestedRule> rules;
};
extern const NestedTable kKgslNested, kMsmNested;

/// 0 where the bytes end before it.
std::uint64_t read_number(Bytes bytes, Number number);

/// The structure that the argument of a call is; empty for calls that point to nothing.
std::string_view root_structure(const NestedTable& table, std::uint32_t request, Bytes argument);

/// What a rule says about one structure's bytes.
struct Target {
  const NestedRule* rule;
  std::uint64_t address, count, stride_B;
};
/// The rules that apply to `bytes`, a structure of that name: pointers that are not null.
std::vector<Target> targets(const NestedTable& table, std::string_view structure, Bytes bytes);
/// Bytes to attach for it, clamped.
std::uint64_t size_B(const Target& target);
/// What was attached: as it was before the call, else after.
Bytes attached(std::span<const Attachment> attachments, std::uint64_t address);

}  // namespace tiny::decode::qcom
