// SPDX-License-Identifier: MIT
// Lists that parameters of known controls point to: one table for the recorder, which attaches
// them, and for the decoder, which prints them. Layouts from the ctrl headers of the open kernel
// modules. Private to the NVIDIA decoders.
#pragma once

#include "tools/decode/decode.h"

#include <cstdint>
#include <cstring>
#include <span>

namespace tiny::decode::nv {

enum class ElementKind { kInfo, kClass, kEngine, kHandle, kNumber, kByte, kText };

/// A counted list: a u32 count at count_B, a u64 pointer at pointer_B (offsets in the parameters).
struct NestedList {
  std::uint32_t cmd;
  std::uint32_t count_B, pointer_B, element_B;
  ElementKind kind;
};
std::span<const NestedList> nested_lists();

/// 0 where the bytes end before it.
template <class T>
T read_at(Bytes bytes, std::size_t offset) {
  T value{};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof value)
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// _IOC fields of the escapes.
constexpr std::uint32_t kEscapeMagic = 0x46;
constexpr std::uint32_t escape_number(std::uint32_t request) { return request & 0xff; }
constexpr std::uint32_t escape_size(std::uint32_t request) { return (request >> 16) & 0x3fff; }
constexpr bool is_escape(std::uint32_t request) { return ((request >> 8) & 0xff) == kEscapeMagic; }
constexpr std::uint32_t escape_request(std::uint32_t number, std::uint32_t size_B) {
  return 3u << 30 | (size_B & 0x3fff) << 16 | kEscapeMagic << 8 | (number & 0xff);
}

// Escapes that the recorder looks into (nv_escape.h, nv-ioctl-numbers.h).
constexpr std::uint32_t kRmAllocMemory = 0x27, kRmFree = 0x29, kRmControl = 0x2a, kRmAlloc = 0x2b,
                        kRmDupObject = 0x34, kRmVidHeapControl = 0x4a, kCardInfo = 0xc8,
                        kCheckVersionStr = 0xd2, kXferCmd = 0xd3, kAttachGpusToFd = 0xd4;

/// Bytes of the allocation parameters of a class, the largest of all driver versions; 0 if none.
std::uint32_t alloc_params_size(std::uint32_t class_id);

/// Where a frame of RM_ALLOC (NVOS21 of 32 bytes, NVOS64 of 48) has what.
struct AllocFrame {
  std::uint32_t class_id = 0, params_size_B = 0;
  std::uint64_t params = 0, rights = 0;
};
AllocFrame read_alloc(Bytes argument, std::uint32_t size_B);

}  // namespace tiny::decode::nv
