// SPDX-License-Identifier: MIT
#include <rt_tiny/runtime/base/hash.h>

#include <fmt/format.h>
#include <rt_tiny/runtime/base/error.h>
#include <xxhash.h>

#include <new>
#include <utility>

namespace tiny {
namespace {

Hash128 convert(XXH128_hash_t h) { return {h.high64, h.low64}; }

}  // namespace

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hash128 hash128(std::span<const uint8_t> bytes) {
  return convert(XXH3_128bits(bytes.data(), bytes.size()));
}

Hash128 hash128(std::string_view text) { return convert(XXH3_128bits(text.data(), text.size())); }

Hasher::Hasher() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(state_);
}

Hasher::~Hasher() { XXH3_freeState(state_); }

Hasher::Hasher(Hasher&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

Hasher& Hasher::operator=(Hasher&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Hasher& Hasher::add(std::string_view text) {
  add(static_cast<uint64_t>(text.size()));
  return add_raw(text.data(), text.size());
}

Hasher& Hasher::add(std::span<const uint8_t> bytes) {
  add(static_cast<uint64_t>(bytes.size()));
  return add_raw(bytes.data(), bytes.size());
}

Hasher& Hasher::add(const Hash128& hash) { return add(hash.high).add(hash.low); }

Hasher& Hasher::add_raw(const void* data, size_t size_B) {
  CHECK_INVARIANT(state_, "a moved-from Hasher was used");
  XXH3_128bits_update(state_, data, size_B);
  return *this;
}

Hash128 Hasher::digest() const {
  CHECK_INVARIANT(state_, "a moved-from Hasher was used");
  return convert(XXH3_128bits_digest(state_));
}

}  // namespace tiny
