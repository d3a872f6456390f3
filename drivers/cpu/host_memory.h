// SPDX-License-Identifier: MIT
// Host pages for buffers: big ones on huge pages, backed when they are handed out, because the
// first touch of a fresh page costs up to 15 µs in a virtual machine.
#pragma once

#include <cstddef>

namespace tiny::cpu {

/// At least 256-aligned; nullptr when there is none. Big blocks come zeroed, others do not.
void* allocate_pages(size_t size_B) noexcept;
void release_pages(void* memory, size_t size_B) noexcept;

}  // namespace tiny::cpu
