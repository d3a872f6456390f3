// SPDX-License-Identifier: MIT
#include "tools/trace/scrub.h"

#define XXH_INLINE_ALL  // no library beside the recorder
#include <sys/utsname.h>
#include <xxhash.h>

#include <algorithm>
#include <bitset>
#include <cstring>

namespace tiny::trace {
namespace {

constexpr std::size_t kShortest_B = 3, kAnywhere_B = 6;  // shorter ones only as whole words
constexpr std::size_t kUuidText_B = 36;                  // 8-4-4-4-12 digits
constexpr std::string_view kTokenStart("TOKEN\0\0\0", 8);

bool is_word(std::byte b) {
  const auto c = static_cast<unsigned char>(b);
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

int hex_digit(std::byte b) {
  const auto c = static_cast<unsigned char>(b);
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_dash_at(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

/// The UUID whose text form begins at `text`, which has kUuidText_B bytes.
bool parse_uuid(std::span<const std::byte> text, Uuid& uuid) {
  std::size_t digits = 0;
  uuid = {};
  for (std::size_t i = 0; i < kUuidText_B; ++i) {
    if (is_dash_at(i) != (text[i] == std::byte{'-'})) return false;
    if (is_dash_at(i)) continue;
    const int digit = hex_digit(text[i]);
    if (digit < 0) return false;
    uuid[digits / 2] |= std::byte(digit << (digits % 2 == 0 ? 4 : 0));
    ++digits;
  }
  return true;
}

void print_uuid(const Uuid& uuid, std::span<std::byte> text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::size_t digits = 0;
  for (std::size_t i = 0; i < kUuidText_B; ++i) {
    if (is_dash_at(i)) continue;
    const auto byte = static_cast<unsigned>(uuid[digits / 2]);
    text[i] = std::byte(kDigits[(digits % 2 == 0 ? byte >> 4 : byte) & 15]);
    ++digits;
  }
}

/// Zeros, all-ones, small numbers: fields that hold no UUID yet, or never did.
bool looks_random(const Uuid& uuid) {
  std::bitset<256> seen;
  for (const std::byte b : uuid) seen.set(static_cast<std::size_t>(b));
  return seen.count() >= 8 && std::memcmp(uuid.data(), kTokenStart.data(), 5) != 0;
}

/// `LABEL_0123…` of the wanted length; the digits depend on key and text.
std::string token_text(std::string_view text, std::string_view label, std::uint64_t key) {
  std::string token(label);
  token += '_';
  constexpr char kDigits[] = "0123456789abcdef";
  std::uint64_t hash = XXH3_64bits_withSeed(text.data(), text.size(), key);
  while (token.size() < text.size()) {
    token += kDigits[hash & 15];
    hash = hash >> 4 | hash << 60;
  }
  return token.substr(0, text.size());
}

// ---- fields of NVIDIA calls that hold private values (nv_numbers, nv_structs) -------------------
constexpr std::string_view kUvmPath = "/dev/nvidia-uvm";

struct UuidField {
  std::uint32_t number;  // UVM ioctl
  std::uint32_t offset_B;
};
constexpr UuidField kUvmUuids[] = {
    {0x14, 0},  // UVM_GET_GPU_UUID_TABLE: the first of 32
    {25, 0},   {26, 0}, {27, 0},  {28, 0},  {29, 0},
    {29, 16},  {30, 0}, {30, 16}, {33, 24},  // UVM_MAP_EXTERNAL_ALLOCATION: perGpuAttributes[0]
    {37, 0},   {38, 0}, {66, 16}, {68, 16}};

constexpr std::uint32_t kGetGidInfo = 0x2080014a, kUuidFromGpuId = 0x275;
/// The whole parameters of these are blanked.
constexpr std::uint32_t kPrivateControls[] = {
    0x2080013f,              // NV2080_CTRL_CMD_GPU_GET_OEM_BOARD_INFO: serial and part numbers
    0x2080309a, 0x2080309b,  // NV2080_CTRL_CMD_NVLINK_*_NODE_HOSTNAME
};

bool is_rm_control(const Record& record) {
  const std::uint64_t request = record.number(1);
  return (request & 0xffff) == 0x462a && record.text().starts_with("/dev/nvidia") &&
         record.bytes(Part::before).size() >= 24;
}

template <class T>
T load(Bytes bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

bool is_attachment(const Blob& blob) {
  return blob.part == Part::attached_before || blob.part == Part::attached_after;
}

}  // namespace

void Scrubber::add_text(std::string_view text, std::string_view label) {
  if (text.size() < kShortest_B || secrets_.size() >= UINT16_MAX) return;
  for (const Secret& known : secrets_)
    if (known.text == text) return;
  const auto place = std::find_if(secrets_.begin(), secrets_.end(), [&](const Secret& other) {
    return other.text.size() < text.size();
  });
  secrets_.insert(place, {std::string(text), token_text(text, label, key_)});
  for (auto& list : by_first_) list.clear();
  for (std::size_t i = 0; i < secrets_.size(); ++i)
    by_first_[static_cast<unsigned char>(secrets_[i].text[0])].push_back(
        static_cast<std::uint16_t>(i));
}

void Scrubber::add_surroundings(const char* const* environment) {
  utsname system{};
  if (::uname(&system) == 0 && std::string_view(system.nodename) != "localhost")
    add_text(system.nodename, "HOST");
  for (; environment && *environment; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals), value = entry.substr(equals + 1);
    const bool is_user = name == "USER" || name == "LOGNAME" || name == "HOME";
    if (value == "root" || value == "/root" || value.starts_with("/dev/")) continue;
    if (is_user || value.size() >= kAnywhere_B) add_text(value, is_user ? "USER" : name);
  }
}

void Scrubber::add_uuid(const Uuid& uuid) {
  if (!looks_random(uuid)) return;
  const std::lock_guard lock(uuids_mutex_);
  if (std::find(uuids_.begin(), uuids_.end(), uuid) == uuids_.end()) uuids_.push_back(uuid);
}

Uuid Scrubber::token(const Uuid& uuid) const {
  Uuid out{};
  std::memcpy(out.data(), kTokenStart.data(), kTokenStart.size());
  const std::uint64_t hash = XXH3_64bits_withSeed(uuid.data(), uuid.size(), key_);
  std::memcpy(out.data() + kTokenStart.size(), &hash, sizeof hash);
  return out;
}

void Scrubber::scrub_call(const Record& record, std::span<const std::span<std::byte>> blobs) {
  const auto learn = [this](std::span<const std::byte> bytes, std::size_t offset_B) {
    if (bytes.size() < offset_B + sizeof(Uuid)) return;
    Uuid uuid;
    std::memcpy(uuid.data(), bytes.data() + offset_B, sizeof uuid);
    add_uuid(uuid);
  };
  if (record.text().starts_with(kUvmPath)) {
    for (const UuidField& field : kUvmUuids)
      if (field.number == record.number(1)) {
        learn(record.bytes(Part::before), field.offset_B);
        learn(record.bytes(Part::after), field.offset_B);
      }
    return;
  }
  if (!is_rm_control(record)) return;
  const auto command = load<std::uint32_t>(record.bytes(Part::before), 8);
  const auto params = load<std::uint64_t>(record.bytes(Part::before), 16);
  const bool is_private = std::find(std::begin(kPrivateControls), std::end(kPrivateControls),
                                    command) != std::end(kPrivateControls);
  for (std::size_t i = 0; i < record.blobs.size(); ++i) {
    const Blob& blob = record.blobs[i];
    if (!is_attachment(blob) || blob.address != params) continue;
    if (command == kGetGidInfo) learn(blob.bytes, 12);
    if (command == kUuidFromGpuId) learn(blob.bytes, 8);
    if (!is_private) continue;
    const std::string_view text(reinterpret_cast<const char*>(blob.bytes.data()),
                                blob.bytes.size());
    const std::string token = token_text(text, "PRIVATE", key_);
    std::memcpy(blobs[i].data(), token.data(), token.size());
  }
}

void Scrubber::scrub(std::span<std::byte> bytes) {
  scrub_uuid_texts(bytes);
  scrub_uuids(bytes);
  scrub_texts(bytes);
}

void Scrubber::scrub_texts(std::span<std::byte> bytes) const {
  for (std::size_t at = 0; at + kShortest_B <= bytes.size(); ++at) {
    for (const std::uint16_t index : by_first_[static_cast<std::size_t>(bytes[at])]) {
      const Secret& secret = secrets_[index];
      const std::size_t end = at + secret.text.size();
      if (end > bytes.size()) continue;
      if (std::memcmp(bytes.data() + at, secret.text.data(), secret.text.size()) != 0) continue;
      const bool whole =
          (at == 0 || !is_word(bytes[at - 1])) && (end == bytes.size() || !is_word(bytes[end]));
      if (secret.text.size() < kAnywhere_B && !whole) continue;
      std::memcpy(bytes.data() + at, secret.token.data(), secret.token.size());
      at = end - 1;
      break;
    }
  }
}

void Scrubber::scrub_uuid_texts(std::span<std::byte> bytes) const {
  if (bytes.size() < kUuidText_B) return;
  for (std::size_t at = 0; at + kUuidText_B <= bytes.size(); ++at) {
    if (bytes[at + 8] != std::byte{'-'} || bytes[at + 13] != std::byte{'-'}) continue;
    const std::span<std::byte> text = bytes.subspan(at, kUuidText_B);
    Uuid uuid;
    if (!parse_uuid(text, uuid)) continue;
    if (std::memcmp(uuid.data(), kTokenStart.data(), kTokenStart.size()) != 0)
      print_uuid(token(uuid), text);
    at += kUuidText_B - 1;
  }
}

void Scrubber::scrub_uuids(std::span<std::byte> bytes) {
  const std::lock_guard lock(uuids_mutex_);
  for (const Uuid& uuid : uuids_) {
    auto from = bytes.begin();
    while ((from = std::search(from, bytes.end(), uuid.begin(), uuid.end())) != bytes.end()) {
      const Uuid replaced = token(uuid);
      std::copy(replaced.begin(), replaced.end(), from);
      from += sizeof(Uuid);
    }
  }
}

}  // namespace tiny::trace
