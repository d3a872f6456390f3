// SPDX-License-Identifier: MIT
// Memory as one GPU sees it: page tables, GL2, vector (L0, GL1) and scalar caches that keep old
// data until they are invalidated, stores that stay in GL2 until they are written back, and the
// checks that follow from it.
//
// Stricter than silicon:
// - a shader's load may hit what its caches held at any time since the last invalidate, whichever
// compute unit runs it;
// - what another task wrote is only known to be readable after that task was waited for and the
// caches on the way were invalidated after the write, cached or not;
// - SDMA stands outside GL2 and is a client of it, whichever is worse: it sees what was written
// back, but in cached memory only after an invalidate; GL2 does not see what it wrote until it is
// invalidated, and nobody else until it is written back. Reads of fences (WAIT_REG_MEM,
// POLL_REGMEM) and atomics are exempt: they are how one waits.
#pragma once

#include "models/amd/isa/memory.h"
#include "models/amd/memory_map.h"
#include "models/amd/model.h"
#include "models/amd/order.h"

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>

namespace tiny::models::amd {

enum class Agent : uint8_t { shader, packet, sdma };

/// One unit of work: a dispatch, or a packet that moves data.
struct Task {
  unsigned line = 0;
  uint32_t sequence = 0;
  Agent agent = Agent::packet;
  Clock known;
};

struct MemoryFault {
  AccessFault kind = AccessFault::none;
  uint64_t address = 0;
  explicit operator bool() const { return kind != AccessFault::none; }
};
const char* fault_text(AccessFault kind);

/// What a cache control does; GCR bits by their names.
struct CacheAction {
  bool glv_inv = false, gl1_inv = false, glk_inv = false, gli_inv = false;
  bool gl2_inv = false, gl2_wb = false;
};

/// Last accesses of each dword, for all GPUs.
class Shadow {
 public:
  struct Dword {
    uint16_t write_line = 0, read_line = 0;
    uint32_t write_sequence = 0, read_sequence = 0, write_tick = 0;
    Agent write_agent = Agent::packet;
    bool write_atomic = false;
  };
  using Page = std::array<Dword, kPage_B / 4>;
  Page& page(uint64_t number);
  void forget(const void* from, const void* to);
  uint32_t tick = 1;  ///< advances at every cache invalidate

 private:
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
};

/// How one access goes.
struct Route {
  bool bypass = false;          ///< not through L0 and GL1 (glc)
  bool scalar = false;          ///< through the scalar cache
  bool unchecked = false;       ///< scratch: nobody else's
  uint32_t own_invalidate = 0;  ///< tick of the wave's own buffer_gl0_inv and gl1_inv
};

class ChipMemory {
 public:
  using OnReport = std::function<void(Report::Kind, std::string)>;
  ChipMemory(unsigned gpu, OrderBook& order, Shadow& shadow, bool checks, OnReport report);
  ~ChipMemory();

  GpuMap map;
  /// After every change of the map.
  void forget_translations();
  void forget_pages(const std::byte* from, const std::byte* to);

  MemoryFault read(const Task& task, uint64_t va, void* out, uint64_t size_B, Route route = {});
  MemoryFault write(const Task& task, uint64_t va, const void* in, uint64_t size_B,
                    Route route = {});
  MemoryFault atomic(const Task& task, uint64_t va, unsigned size_B, AtomicOp op, uint64_t source,
                     uint64_t compare, uint64_t* old);
  /// Bytes from the start of this 64-byte line that may be executed.
  unsigned fetch(uint64_t va, uint8_t* out);

  // Words that order: no shadow, no stale data, never torn.
  MemoryFault read_word(uint64_t va, unsigned size_B, uint64_t* value);
  MemoryFault write_word(uint64_t va, unsigned size_B, uint64_t value);
  const std::byte* word_host(uint64_t va) const;
  /// Without checks, for rings and packets: what the CPU wrote.
  MemoryFault peek(uint64_t va, void* out, uint64_t size_B, AccessKind kind = AccessKind::read);
  MemoryFault poke(uint64_t va, const void* in, uint64_t size_B);

  void control(const CacheAction& action);
  /// The word is about to be stored to by a packet as data, not as a fence.
  void note_write(const Task& task, uint64_t va, unsigned size_B);
  /// A dispatch of this line whose stores GL2 holds; "": none.
  std::string not_written_back(unsigned line) const;
  /// Was GL2 not written back since this tick? 0: there was nothing.
  bool unwritten_since(uint32_t stored_tick) const {
    return checks_ && stored_tick != 0 && written_back_ <= stored_tick;
  }
  uint32_t tick() const { return shadow_.tick; }
  uint32_t next_tick() { return ++shadow_.tick; }
  uint64_t dirty_bytes() const;

 private:
  struct Page;
  struct Translation;
  struct Piece {
    std::byte* host;
    Page* page;
    bool uncached;
  };
  bool translate(uint64_t va, AccessKind kind, Piece* piece, MemoryFault* fault);
  Page& page_of(const std::byte* host);
  void read_piece(const Task& task, const Piece& piece, uint64_t va, std::byte* out,
                  unsigned size_B, const Route& route);
  void write_piece(const Task& task, const Piece& piece, uint64_t va, const std::byte* in,
                   unsigned size_B, const Route& route);
  void current(const Piece& piece, std::byte* out, unsigned size_B, const Task& task, uint64_t va,
               bool keep);
  void through_l0(const Task& task, const Piece& piece, uint64_t va, std::byte* out,
                  unsigned size_B, const Route& route);
  void check_read(const Task& task, const Piece& piece, uint64_t va, unsigned size_B,
                  const Route& route);
  void check_write(const Task& task, const Piece& piece, uint64_t va, unsigned size_B, bool atomic);
  void check_visible(const Task& task, const Shadow::Dword& dword, const Piece& piece, uint64_t va,
                     const Route& route);
  void fill_gl2(Page& page, unsigned line);
  void store_current(const Piece& piece, const std::byte* in, unsigned size_B);
  void complain(Report::Kind kind, const Task& task, uint64_t va, unsigned other_line,
                uint32_t other, const std::string& text);
  void write_back();

  unsigned gpu_;
  OrderBook& order_;
  Shadow& shadow_;
  bool checks_;
  OnReport report_;
  uint32_t glv_ = 1, gl1_ = 1, glk_ = 1, gl2_ = 1;  ///< ticks of the last invalidates
  uint32_t written_back_ = 1;                       ///< and of the last write-back of GL2
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::vector<Page*> dirty_;
  std::vector<Translation> translations_;
  std::set<std::tuple<Report::Kind, unsigned, uint32_t, unsigned, uint32_t>> complained_;
};

/// Copies between threads of the client and the chip: not instrumented, as on silicon nobody is.
void copy_bytes(std::byte* to, const std::byte* from, uint64_t size_B);

}  // namespace tiny::models::amd
