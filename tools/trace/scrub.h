// SPDX-License-Identifier: MIT
// Replaces what is private in recorded bytes by tokens of the same length: names of the host and
// the user, values of the environment, UUIDs and serial numbers. The same value has the same token
// in the whole trace, and a token does not tell the value: it depends on a key that is not
// recorded.
#pragma once

#include "tools/trace/format.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tiny::trace {

using Uuid = std::array<std::byte, 16>;

class Scrubber {
 public:
  explicit Scrubber(std::uint64_t key) : key_(key) {}

  /// Text to replace wherever it occurs. Short ones (under 6 bytes) only as whole words, and not
  /// below 3 bytes. `label` is what the token says, such as HOST.
  void add_text(std::string_view text, std::string_view label);
  /// Host name, user, home folder and the values of this environment (null-terminated NAME=VALUE).
  void add_surroundings(const char* const* environment);
  /// A binary UUID to replace wherever it occurs, also in the text form of UUIDs.
  void add_uuid(const Uuid& uuid);

  /// Remembers the UUIDs in fields of this call that are known to hold some, and blanks its serial
  /// numbers. The spans are the blobs of `record`.
  void scrub_call(const Record& record, std::span<const std::span<std::byte>> blobs);
  /// Replaces in place.
  void scrub(std::span<std::byte> bytes);

  Uuid token(const Uuid& uuid) const;

 private:
  struct Secret {
    std::string text, token;
  };
  void scrub_texts(std::span<std::byte> bytes) const;
  void scrub_uuid_texts(std::span<std::byte> bytes) const;
  void scrub_uuids(std::span<std::byte> bytes);

  std::uint64_t key_;
  std::vector<Secret> secrets_;                           // longest first
  std::array<std::vector<std::uint16_t>, 256> by_first_;  // indices into secrets_
  std::mutex uuids_mutex_;  // UUIDs are learned while the program runs
  std::vector<Uuid> uuids_;
};

}  // namespace tiny::trace
