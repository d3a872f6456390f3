// SPDX-License-Identifier: MIT
// Watching stores: pages whose writes are told to somebody after they were done (doorbells, rings).
// Reads of a watched page run at full speed. x86-64 only.
//
// How: the pages lose PROT_WRITE; SIGSEGV finds the store. Pages of a shared memory file get a
// second, writable mapping, on which the store is then done, so that the watched pages stay
// protected and no store of any thread is missed. Pages that cannot be mapped twice (a device's)
// are opened for the one instruction, single-stepped; a store of another thread in that moment is
// done but not told.
//
// The program's own SIGSEGV and SIGTRAP handlers are remembered and get what is not ours (sigaction
// and signal are interposed), and these two signals stay unblocked while something is watched.
// A system call that writes to a watched page fails with EFAULT.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tiny::interpose {

struct Store {
  std::uintptr_t address = 0;
  std::uint32_t size_B = 0;  ///< 0: an instruction we cannot size; value has 8 bytes read back
  std::array<std::byte, 16> value{};  ///< the bytes stored (of a longer store, the first 16)
  bool exact =
      false;  ///< value is what this instruction stored; else read back from memory after it

  std::uint64_t word() const;  ///< value as a little-endian number, of size_B bytes at most 8
};

/// Runs on the storing thread, inside the signal handler, after the store. The interrupted code may
/// hold any lock and the stack may be small: record, ring another thread, return.
using OnStore = std::function<void(const Store&)>;

/// How a range is watched.
enum class TrapMethod : std::uint8_t { alias, single_step };

/// Watches whole pages of a mapping; address and length are multiples of the page size. Returns a
/// number > 0, or -errno (-ENOSYS on other processors, -EBUSY where it overlaps a watched range).
/// `prot` is what the program asked for: the watch ends with it, and mprotect changes it.
int watch_stores(void* address, std::size_t length_B, int prot, OnStore on_store);
/// Pages get their protection back. Also done by munmap for what it removes.
int unwatch_stores(int watch);
TrapMethod trap_method(int watch);
/// Where the pages may be written without being told (alias), or null.
void* trap_alias(int watch);

}  // namespace tiny::interpose
