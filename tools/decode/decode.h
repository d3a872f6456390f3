// SPDX-License-Identifier: MIT
// What every decoder takes and gives: bytes of a call or of a ring in, named fields out, one line a
// record. Decoders are pure: they read the bytes they are given and the embedded tables, nothing
// else, and never throw on what these bytes hold. What they do not know they show raw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tiny::decode {

using Bytes = std::span<const std::byte>;
using Words = std::span<const std::uint32_t>;

/// One named value, already as text: `0x40`, `17`, an enum's name, `A|B|0x80`, `buf3+0x40`.
struct Field {
  std::string name;
  std::string text;
};

/// One line of output: `NAME field=text field=text`.
struct Line {
  std::string name;
  std::vector<Field> fields;

  void add(std::string_view field, std::string text);
  void add_hex(std::string_view field, std::uint64_t value);
};
std::string to_text(const Line& line);
using Lines = std::vector<Line>;

/// A value's name, or the name of the bits under a mask of flags.
struct NamedValue {
  std::string_view name;
  std::uint64_t value = 0;
};
/// The name of `value`, else the number.
std::string enum_text(std::uint64_t value, std::span<const NamedValue> names);
/// `A|B|0x80`: names of the bits that are set, in the order of `names`, the rest as a number.
std::string flags_text(std::uint64_t value, std::span<const NamedValue> names);
/// What a system call returned: `0`, `17`, `-EINVAL`.
std::string result_text(std::int64_t result);
/// A request by its parts: `_IOC(RW,'K',0x99,24)`.
std::string ioc_text(std::uint32_t request);

/// The parts of a request (asm-generic/ioctl.h).
constexpr std::uint32_t ioc_nr(std::uint32_t request) { return request & 0xff; }
constexpr std::uint32_t ioc_type(std::uint32_t request) { return request >> 8 & 0xff; }
constexpr std::uint32_t ioc_size_B(std::uint32_t request) { return request >> 16 & 0x3fff; }

/// `deadbeef 00112233`: in memory order, in groups of four bytes, at most `limit_B` of them, then
/// `…+N bytes`.
std::string hex_bytes(Bytes bytes, std::size_t limit_B = 64);

/// What a decoder may ask about the traced process.
class Symbols {
 public:
  virtual ~Symbols() = default;
  /// An address of the process or of its GPUs: `buf3+0x40` where a buffer covers it, else hex.
  virtual std::string address(std::uint64_t va) const = 0;
};
/// Knows no buffer: every address is hex.
const Symbols& no_symbols();

/// Memory that an argument points to, as it was before and after the call. Either may be empty:
/// not readable, or not worth it.
struct Attachment {
  std::uint64_t address = 0;
  Bytes before, after;
};

/// One ioctl. `before` and `after` are the argument structure (its size is in the request, or what
/// the tracer could read); result is what the call returned, or -errno.
struct IoctlCall {
  std::uint32_t request = 0;
  std::int64_t result = 0;
  Bytes before, after;
  std::span<const Attachment> attachments;

  const Attachment* at(std::uint64_t address) const;  ///< null where nothing was attached
};

/// A range of the caller's memory that a recorder should attach to a call.
struct Range {
  std::uint64_t address = 0;
  std::uint64_t size_B = 0;
};
/// The followers never ask for more than this in one range.
inline constexpr std::uint64_t kFollowLimit_B = 64 << 10;

}  // namespace tiny::decode
