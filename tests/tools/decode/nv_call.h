// SPDX-License-Identifier: MIT
// Assembles calls for the tests of the NVIDIA decoders byte by byte, and runs them through one.
#pragma once

#include "tools/decode/nv.h"

#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace nv_test {

using namespace tiny::decode;

/// Bytes with values at offsets.
class Frame {
 public:
  explicit Frame(std::size_t size_B) : bytes_(size_B) {}
  template <class T>
  Frame& put(std::size_t offset, T value) {
    if (offset + sizeof value > bytes_.size()) bytes_.resize(offset + sizeof value);
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
    return *this;
  }
  Frame& u32(std::size_t offset, std::uint32_t value) { return put(offset, value); }
  Frame& u64(std::size_t offset, std::uint64_t value) { return put(offset, value); }
  Frame& text(std::size_t offset, std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) put(offset + i, text[i]);
    return *this;
  }
  Bytes bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

constexpr std::uint32_t escape(std::uint32_t number, std::uint32_t size_B) {
  return 3u << 30 | size_B << 16 | 0x46u << 8 | number;
}

/// One process: calls are decoded in order with one state.
struct Process {
  NvState state;
  static constexpr std::uint64_t kParams = 0x7ffd00001000;

  explicit Process(std::string_view version = "580.159.03") {
    if (!version.empty()) state.set_driver_version(version);
  }
  std::string rm(std::uint32_t number, const Frame& before, const Frame& after,
                 std::vector<Attachment> attachments = {}) {
    const auto size = static_cast<std::uint32_t>(before.size());
    return to_text(
        decode_nvidia_ioctl({escape(number, size), 0, before.bytes(), after.bytes(), attachments},
                            state, no_symbols()));
  }
  std::string uvm(std::uint32_t number, const Frame& before, const Frame& after) {
    return to_text(
        decode_uvm_ioctl({number, 0, before.bytes(), after.bytes(), {}}, state, no_symbols()));
  }
  /// NVOS64. A new handle of 0 becomes `given` in the reply.
  std::string alloc(std::uint32_t root, std::uint32_t parent, std::uint32_t handle,
                    std::uint32_t class_id, const Frame& params, std::uint32_t status = 0,
                    std::uint32_t given = 0) {
    Frame before(48);
    before.u32(0, root).u32(4, parent).u32(8, handle).u32(0xc, class_id);
    before.u64(0x10, params.size() ? kParams : 0)
        .u32(0x20, static_cast<std::uint32_t>(params.size()));
    Frame after = before;
    after.u32(0x28, status);
    if (handle == 0) after.u32(8, given);
    return rm(0x2b, before, after, {{kParams, params.bytes(), params.bytes()}});
  }
  /// NVOS54.
  std::string control(std::uint32_t client, std::uint32_t object, std::uint32_t cmd,
                      const Frame& params, const Frame& result, std::uint32_t status = 0,
                      std::vector<Attachment> more = {}) {
    Frame before(32);
    before.u32(0, client).u32(4, object).u32(8, cmd).u64(0x10, params.size() ? kParams : 0);
    before.u32(0x18, static_cast<std::uint32_t>(params.size()));
    Frame after = before;
    after.u32(0x1c, status);
    more.push_back({kParams, params.bytes(), result.bytes()});
    return rm(0x2a, before, after, more);
  }
};

inline std::vector<std::byte> random_bytes(std::mt19937& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) {
    // Half of them zero, so that small numbers and null pointers come up.
    const std::uint32_t value = random();
    byte = value & 0x100 ? std::byte{0} : static_cast<std::byte>(value & 0xff);
  }
  return bytes;
}

/// The text of the first field of that name; empty where there is none.
inline std::string field(const Line& line, std::string_view name) {
  for (const Field& one : line.fields)
    if (one.name == name) return one.text;
  return {};
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

}  // namespace nv_test
