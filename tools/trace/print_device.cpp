// SPDX-License-Identifier: MIT
#include "tools/trace/print_device.h"

#include <fmt/format.h>

#include <algorithm>

namespace tiny::trace {
namespace {

constexpr std::size_t kRow_B = 32, kShown_B = 256;

std::vector<std::string> texts(const std::vector<decode::Line>& lines) {
  std::vector<std::string> out;
  for (const decode::Line& line : lines) out.push_back(decode::to_text(line));
  return out;
}

std::string rest_text(std::size_t left_B) { return fmt::format("…+{} bytes", left_B); }

bool is_zero(decode::Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

/// Quadwords, addresses by name where a buffer is there: arguments are mostly pointers.
std::string argument_row(std::size_t at, decode::Bytes row, const Names& names) {
  std::string line = fmt::format("+{:#05x} ", at);
  for (std::size_t i = 0; i < row.size(); i += 8) {
    const std::size_t left_B = std::min<std::size_t>(8, row.size() - i);
    std::uint64_t value = 0;
    __builtin_memcpy(&value, row.data() + i, left_B);
    line += ' ' + (left_B == 8 && !names.name_at(value).empty() ? names.address(value)
                                                                : fmt::format("{:#x}", value));
  }
  return line;
}

/// Rows of zeros are left out unless `full`: NVIDIA's arguments begin 0x210 bytes into a bank that
/// is mostly empty. The last row stays, so that the size is seen.
std::vector<std::string> argument_lines(decode::Bytes bytes, const Names& names, bool full) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size(); at += kRow_B) {
    const decode::Bytes row = bytes.subspan(at, std::min(kRow_B, bytes.size() - at));
    if (!full && is_zero(row) && at + kRow_B < bytes.size()) continue;
    if (!full && out.size() * kRow_B >= kShown_B) {
      out.push_back(rest_text(bytes.size() - at));
      break;
    }
    out.push_back(argument_row(at, row, names));
  }
  return out;
}

}  // namespace

std::vector<std::string> hex_lines(decode::Bytes bytes, bool full) {
  std::vector<std::string> out;
  const std::size_t shown_B = full ? bytes.size() : std::min(bytes.size(), kShown_B);
  for (std::size_t at = 0; at < shown_B; at += kRow_B)
    out.push_back(
        fmt::format("+{:#05x}  {}", at,
                    decode::hex_bytes(bytes.subspan(at, std::min(kRow_B, shown_B - at)), kRow_B)));
  if (shown_B < bytes.size()) out.push_back(rest_text(bytes.size() - shown_B));
  return out;
}

std::vector<std::string> DeviceDecoders::ioctl(const DeviceCall& call,
                                               const decode::Symbols& symbols) {
  drm_.see(call);
  const std::string_view path = call.path;
  std::vector<decode::Line> lines;
  if (path.starts_with("/dev/nvidia-uvm")) {
    lines.push_back(decode::decode_uvm_ioctl(call.call, nv_, symbols));
  } else if (path.starts_with("/dev/nvidia")) {
    lines.push_back(decode::decode_nvidia_ioctl(call.call, nv_, symbols));
  } else if (path.starts_with("/dev/kgsl")) {
    lines = print_kgsl_ioctl(call, symbols);
  } else if (drm_.is_msm(path)) {
    lines = print_msm_ioctl(call, symbols);
  } else {
    lines = print_amd_ioctl(call, symbols);
  }
  std::vector<std::string> out = texts(lines);
  if (out.empty()) out.push_back(fmt::format("request={:#x}", call.call.request));
  return out;
}

bool DeviceDecoders::is_guess(Contents contents, std::uint64_t generation) {
  const bool is_amd = contents == Contents::pm4 || contents == Contents::sdma ||
                      contents == Contents::aql || contents == Contents::descriptor;
  return is_amd && !is_amd_generation(generation);
}

std::vector<std::string> DeviceDecoders::contents(Contents contents, const Record& record,
                                                  decode::Bytes data, const Names& names,
                                                  bool full) {
  const auto generation = static_cast<std::uint32_t>(record.number(3));
  const std::vector<std::uint32_t> words = words_of(data);
  switch (contents) {
    case Contents::pm4:
    case Contents::sdma:
    case Contents::aql:
    case Contents::descriptor:
      return texts(print_amd_contents(contents, generation, data, names));
    case Contents::gpfifo:
      return texts(decode::decode_gpfifo(words, names));
    case Contents::pushbuffer:
      return texts(pushbuffers_[record.number(4)].decode(words, names));
    case Contents::qmd: {
      const std::string_view version = decode::detect_qmd_version(words, generation);
      if (version.empty()) return hex_lines(data, full);
      return texts({decode::decode_qmd(words, version, names)});
    }
    case Contents::kernarg:
    case Contents::constants:
      return argument_lines(data, names, full);
    case Contents::adreno:
      return texts(print_adreno(generation, data, names));
    default:
      return hex_lines(data, full);
  }
}

}  // namespace tiny::trace
