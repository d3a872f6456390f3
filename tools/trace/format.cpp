// SPDX-License-Identifier: MIT
#include "tools/trace/format.h"

#define XXH_INLINE_ALL  // no library beside the recorder
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <ctime>

namespace tiny::trace {
namespace {

constexpr std::array<char, 8> kFileMagic = {'t', 'i', 'n', 'y', 't', 'r', 'c', '\n'};
constexpr std::size_t kChecked = 12;  // of the file header, from here on
// A record's header has its own checksum: where it holds, the length is true, and a damaged body
// is skipped as a whole.
constexpr std::size_t kBodySumAt = 8, kHeaderSumAt = 44, kBlobHeader_B = 16;

template <class T>
T load(Bytes bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <class T>
void store(std::span<std::byte> bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

std::uint32_t checksum(Bytes bytes) { return XXH32(bytes.data(), bytes.size(), 0); }

std::size_t padded(std::size_t size_B) { return (size_B + 7) & ~std::size_t{7}; }

std::size_t encoded_size(const Record& record) {
  std::size_t size_B = kRecordHeader_B + record.numbers.size() * 8;
  for (const Blob& blob : record.blobs) size_B += kBlobHeader_B + padded(blob.bytes.size());
  return size_B;
}

/// The header and the numbers fit; reads the blobs behind them.
bool parse_blobs(Bytes bytes, std::size_t offset, std::uint32_t count, Record& record) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (bytes.size() - offset < kBlobHeader_B) return false;
    const auto part = load<std::uint32_t>(bytes, offset);
    const std::size_t size_B = load<std::uint32_t>(bytes, offset + 4);
    const auto address = load<std::uint64_t>(bytes, offset + 8);
    offset += kBlobHeader_B;
    if (padded(size_B) > bytes.size() - offset) return false;
    record.blobs.push_back({static_cast<Part>(part), address, bytes.subspan(offset, size_B)});
    offset += padded(size_B);
  }
  return offset == bytes.size();
}

Parse parse_body(Bytes bytes, Record& record, std::string& problem) {
  record = Record{};
  record.type = static_cast<Type>(load<std::uint16_t>(bytes, 12));
  const std::size_t numbers = load<std::uint16_t>(bytes, 14);
  record.pid = load<std::uint32_t>(bytes, 16);
  record.tid = load<std::uint32_t>(bytes, 20);
  record.start_ns = load<std::uint64_t>(bytes, 24);
  record.duration_ns = load<std::uint64_t>(bytes, 32);
  const std::size_t blobs_at = kRecordHeader_B + numbers * 8;
  if (blobs_at > bytes.size()) {
    problem = fmt::format("a record of {} bytes cannot hold {} numbers", bytes.size(), numbers);
    return Parse::corrupt;
  }
  for (std::size_t i = 0; i < numbers; ++i)
    record.numbers.push_back(load<std::uint64_t>(bytes, kRecordHeader_B + i * 8));
  if (parse_blobs(bytes, blobs_at, load<std::uint32_t>(bytes, 40), record)) return Parse::record;
  problem = fmt::format("the parts of a record of {} bytes do not fill it", bytes.size());
  return Parse::corrupt;
}

}  // namespace

std::array<std::byte, kFileHeader_B> to_bytes(const FileHeader& header) {
  std::array<std::byte, kFileHeader_B> out{};
  std::memcpy(out.data(), kFileMagic.data(), kFileMagic.size());
  const std::span<std::byte> bytes(out);
  store(bytes, 12, header.version);
  store(bytes, 16, header.flags);
  store(bytes, 24, header.start_ns);
  store(bytes, 32, header.max_B);
  store(bytes, 8, checksum(bytes.subspan(kChecked)));
  return out;
}

std::string parse_header(Bytes file, FileHeader& header) {
  if (file.empty()) return "the file is empty";
  const std::size_t magic_B = std::min(file.size(), kFileMagic.size());
  if (std::memcmp(file.data(), kFileMagic.data(), magic_B) != 0)
    return "it does not begin as a trace file does";
  if (file.size() < kFileHeader_B)
    return fmt::format("its header ends after {} of {} bytes", file.size(), kFileHeader_B);
  header.version = load<std::uint32_t>(file, 12);
  header.flags = load<std::uint32_t>(file, 16);
  header.start_ns = load<std::uint64_t>(file, 24);
  header.max_B = load<std::uint64_t>(file, 32);
  if (load<std::uint32_t>(file, 8) != checksum(file.subspan(kChecked, kFileHeader_B - kChecked)))
    return "the checksum of its header is wrong";
  if (header.version != kVersion)
    return fmt::format("its version is {}; this program reads version {}", header.version,
                       kVersion);
  return {};
}

std::string_view name(Type type) {
  constexpr std::string_view kNames[] = {
      "unknown", "process",  "open",     "close", "dup",   "ioctl", "mmap",     "munmap",
      "mremap",  "doorbell", "snapshot", "note",  "limit", "exit",  "transfer", "mprotect"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Type::kinds));
  const auto index = static_cast<std::size_t>(type);
  return kNames[index < std::size(kNames) ? index : 0];
}

std::string_view name(Contents contents) {
  constexpr std::string_view kNames[] = {"raw",     "pm4",        "sdma",   "aql",
                                         "kernarg", "descriptor", "gpfifo", "pushbuffer",
                                         "qmd",     "constants",  "adreno"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Contents::kinds));
  const auto index = static_cast<std::size_t>(contents);
  return kNames[index < std::size(kNames) ? index : 0];
}

const Blob* Record::find(Part part) const {
  const auto found = std::find_if(blobs.begin(), blobs.end(),
                                  [part](const Blob& blob) { return blob.part == part; });
  return found == blobs.end() ? nullptr : &*found;
}

std::string_view Record::text() const {
  const Bytes text = bytes(Part::text);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

Bytes Record::bytes(Part part) const {
  const Blob* blob = find(part);
  return blob ? blob->bytes : Bytes{};
}

std::vector<std::byte> to_bytes(const Record& record) {
  std::vector<std::byte> out(encoded_size(record));
  const std::span<std::byte> bytes(out);
  store(bytes, 0, kRecordMagic);
  store(bytes, 4, static_cast<std::uint32_t>(out.size()));
  store(bytes, 12, static_cast<std::uint16_t>(record.type));
  store(bytes, 14, static_cast<std::uint16_t>(record.numbers.size()));
  store(bytes, 16, record.pid);
  store(bytes, 20, record.tid);
  store(bytes, 24, record.start_ns);
  store(bytes, 32, record.duration_ns);
  store(bytes, 40, static_cast<std::uint32_t>(record.blobs.size()));
  std::size_t offset = kRecordHeader_B;
  for (const std::uint64_t number : record.numbers) {
    store(bytes, offset, number);
    offset += 8;
  }
  for (const Blob& blob : record.blobs) {
    store(bytes, offset, static_cast<std::uint32_t>(blob.part));
    store(bytes, offset + 4, static_cast<std::uint32_t>(blob.bytes.size()));
    store(bytes, offset + 8, blob.address);
    offset += kBlobHeader_B;
    if (!blob.bytes.empty()) std::memcpy(out.data() + offset, blob.bytes.data(), blob.bytes.size());
    offset += padded(blob.bytes.size());
  }
  seal(bytes);
  return out;
}

std::vector<std::span<std::byte>> blob_bytes(std::span<std::byte> encoded, const Record& record) {
  std::vector<std::span<std::byte>> out;
  std::size_t offset = kRecordHeader_B + record.numbers.size() * 8;
  for (const Blob& blob : record.blobs) {
    out.push_back(encoded.subspan(offset + kBlobHeader_B, blob.bytes.size()));
    offset += kBlobHeader_B + padded(blob.bytes.size());
  }
  return out;
}

void seal(std::span<std::byte> encoded) {
  store(encoded, kBodySumAt, checksum(encoded.subspan(kRecordHeader_B)));
  store(encoded, kHeaderSumAt, checksum(encoded.first(kHeaderSumAt)));
}

Parse parse_record(Bytes bytes, Record& record, std::size_t& size_B, std::string& problem) {
  size_B = 0;
  if (bytes.size() >= 4 && load<std::uint32_t>(bytes, 0) != kRecordMagic) {
    problem = "no record begins here";
    return Parse::corrupt;
  }
  if (bytes.size() < kRecordHeader_B) return Parse::partial;
  if (load<std::uint32_t>(bytes, kHeaderSumAt) != checksum(bytes.first(kHeaderSumAt))) {
    problem = "the header of a record is damaged";
    return Parse::corrupt;
  }
  const std::size_t length_B = load<std::uint32_t>(bytes, 4);
  if (length_B < kRecordHeader_B || length_B > kMaxRecord_B || length_B % 8 != 0) {
    problem = fmt::format("a record cannot have {} bytes", length_B);
    return Parse::corrupt;
  }
  if (length_B > bytes.size()) return Parse::partial;
  size_B = length_B;
  bytes = bytes.first(size_B);
  if (load<std::uint32_t>(bytes, kBodySumAt) != checksum(bytes.subspan(kRecordHeader_B))) {
    problem = fmt::format("the checksum of a record of {} bytes is wrong", size_B);
    return Parse::corrupt;
  }
  return parse_body(bytes, record, problem);
}

std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace tiny::trace
