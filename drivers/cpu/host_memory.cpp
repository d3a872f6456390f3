// SPDX-License-Identifier: MIT
#include "drivers/cpu/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace tiny::cpu {
namespace {

constexpr size_t kHuge_B = size_t{2} << 20;
constexpr size_t kAlign_B = 256;
/// Larger ones are not backed at once: they may never be touched whole.
constexpr size_t kPopulateMax_B = size_t{1} << 30;

bool exceeds_machine(size_t size_B) {
  static const uint64_t physical_B =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return size_B > physical_B;  // overcommit would grant it and kill the process later
}

void* map_huge(size_t size_B) noexcept {
  void* const raw =
      mmap(nullptr, size_B + kHuge_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (begin + kHuge_B - 1) & ~(kHuge_B - 1);
  if (aligned > begin) munmap(raw, aligned - begin);
  const uintptr_t end = begin + size_B + kHuge_B;
  if (end > aligned + size_B)
    munmap(reinterpret_cast<void*>(aligned + size_B), end - aligned - size_B);
  void* const memory = reinterpret_cast<void*>(aligned);
  madvise(memory, size_B, MADV_HUGEPAGE);  // a wish: small pages work too
#ifdef MADV_POPULATE_WRITE
  if (size_B <= kPopulateMax_B) madvise(memory, size_B, MADV_POPULATE_WRITE);
#endif
  return memory;
}

}  // namespace

void* allocate_pages(size_t size_B) noexcept {
  if (exceeds_machine(size_B)) return nullptr;
  if (size_B >= kHuge_B) return map_huge(size_B);
  return std::aligned_alloc(kAlign_B, (size_B + kAlign_B - 1) / kAlign_B * kAlign_B);
}

void release_pages(void* memory, size_t size_B) noexcept {
  if (size_B >= kHuge_B)
    munmap(memory, size_B);
  else
    std::free(memory);
}

}  // namespace tiny::cpu
