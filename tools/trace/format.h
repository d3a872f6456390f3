// SPDX-License-Identifier: MIT
// The trace file: a header, then records, each with its length and a checksum. This file knows how
// bytes lie; what the numbers of a record mean is written beside its type. docs/trace.md shows it.
#pragma once

#include "tools/decode/decode.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tiny::trace {

using decode::Bytes;

// ---- file header ----------------------------------------------------------------------------
inline constexpr std::size_t kFileHeader_B = 64;
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kRawSecrets = 1;  ///< flag: private values were left as they are

struct FileHeader {
  std::uint32_t version = kVersion, flags = 0;
  std::uint64_t start_ns = 0;  ///< CLOCK_MONOTONIC; every record's time is on the same clock
  std::uint64_t max_B = 0;     ///< the file stops growing here; 0 is no bound
};
std::array<std::byte, kFileHeader_B> to_bytes(const FileHeader& header);
/// An empty text where the bytes are a header of this version, otherwise what is wrong with them.
std::string parse_header(Bytes file, FileHeader& header);

// ---- records --------------------------------------------------------------------------------
/// The numbers of a record, in order, are in its comment. `result` is what the call returned, or
/// -errno. Missing numbers read as 0; records of a type that is not here are printed raw.
enum class Type : std::uint16_t {
  process = 1,    ///< ppid, is_fork_child; text: base name of the program
  open = 2,       ///< flags, result; text: path
  close = 3,      ///< fd, result
  dup = 4,        ///< old fd, new fd
  ioctl = 5,      ///< fd, request, argument, result; text: path; before, after, attachments
  mmap = 6,       ///< address asked, size, protection, flags, fd, offset, result; text: path
  munmap = 7,     ///< address, size, result
  mremap = 8,     ///< old address, old size, new size, flags, result
  doorbell = 9,   ///< address, size, value, how it was seen (Seen)
  snapshot = 10,  ///< Contents, address, size wanted, generation, queue; data: what was readable
  note = 11,      ///< text: the recorder says something
  limit = 12,     ///< size of the file; nothing is recorded after it, only counted
  exit = 13,  ///< records dropped, their bytes, calls made inside the recorder by a signal handler
  transfer = 14,  ///< is_write, fd, size, offset, result; text: path; data: the first bytes
  mprotect = 15,  ///< address, size, protection, result
  kinds
};
std::string_view name(Type type);

enum class Seen : std::uint64_t { trap = 1, sample = 2 };

/// What a snapshot holds; decides the decoder.
enum class Contents : std::uint64_t {
  raw = 0,
  pm4 = 1,         ///< AMD PM4 dwords; generation is gfx_target_version
  sdma = 2,        ///< AMD SDMA dwords; same generation
  aql = 3,         ///< AMD AQL packets, 64 bytes each
  kernarg = 4,     ///< arguments of an AMD kernel
  descriptor = 5,  ///< AMD kernel descriptor, 64 bytes; same generation
  gpfifo = 6,      ///< NVIDIA GPFIFO entries, 8 bytes each
  pushbuffer = 7,  ///< NVIDIA methods; generation is the compute class
  qmd = 8,         ///< NVIDIA QMD; same generation
  constants = 9,   ///< NVIDIA constant bank 0
  adreno = 10,     ///< Adreno type-4 and type-7 packets; generation is the chip id
  kinds
};
std::string_view name(Contents contents);

enum class Part : std::uint32_t {
  text = 1,
  before = 2,           ///< of an ioctl's argument
  after = 3,            ///< left out where it equals before
  attached_before = 4,  ///< memory the argument points to, at `address`
  attached_after = 5,   ///< left out where it equals attached_before
  data = 6,
};

struct Blob {
  Part part = Part::data;
  std::uint64_t address = 0;
  Bytes bytes;
};

/// A record as it is read or before it is written. The bytes belong to whoever made it.
struct Record {
  Type type = Type::note;
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t start_ns = 0, duration_ns = 0;
  std::vector<std::uint64_t> numbers;
  std::vector<Blob> blobs;

  std::uint64_t number(std::size_t index) const {
    return index < numbers.size() ? numbers[index] : 0;
  }
  std::int64_t signed_number(std::size_t index) const {
    return static_cast<std::int64_t>(number(index));
  }
  const Blob* find(Part part) const;
  std::string_view text() const;  ///< of Part::text; "" without one
  Bytes bytes(Part part) const;   ///< empty without such a part
};

inline constexpr std::size_t kRecordHeader_B = 48;
inline constexpr std::size_t kMaxRecord_B = 16u << 20;  ///< longer ones do not exist
inline constexpr std::uint32_t kRecordMagic = 0x63655274;

/// The record's bytes, checksummed; a multiple of 8.
std::vector<std::byte> to_bytes(const Record& record);
/// Where each blob's bytes lie in to_bytes(record): a scrubber changes them there, then seals.
std::vector<std::span<std::byte>> blob_bytes(std::span<std::byte> encoded, const Record& record);
/// Computes the checksum again.
void seal(std::span<std::byte> encoded);

enum class Parse : std::uint8_t {
  record,   ///< one was read
  partial,  ///< the bytes end inside of it
  corrupt,  ///< these are no record
};
/// Reads the record at the beginning of `bytes`; its blobs point into them. `size_B` is its length
/// where that can be trusted, else 0; `problem` says what is wrong where it is `corrupt`.
Parse parse_record(Bytes bytes, Record& record, std::size_t& size_B, std::string& problem);

std::uint64_t monotonic_ns();

}  // namespace tiny::trace
