// SPDX-License-Identifier: MIT
#include "models/amd/chip_memory.h"

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cstring>

#include <fmt/format.h>

namespace tiny::models::amd {
namespace {

constexpr unsigned kLine_B = 64;  ///< granule of invalidation here; GL2's 128 would hide mistakes
constexpr unsigned kLines = kPage_B / kLine_B;
constexpr size_t kTranslations = 512;

uint64_t page_number(const std::byte* host) { return reinterpret_cast<uint64_t>(host) / kPage_B; }
unsigned in_page(const std::byte* host) {
  return unsigned(reinterpret_cast<uint64_t>(host) % kPage_B);
}

}  // namespace

/// Client threads read and write the same bytes; only the fences are ordered, and those through
/// another mapping, so a sanitizer cannot see it.
[[gnu::no_sanitize_thread, gnu::noinline]] void copy_bytes(std::byte* to, const std::byte* from,
                                                           uint64_t size_B) {
  // What lanes and lines move; `rep` would cost more than the bytes.
  if (size_B == 4) {
    __asm__ volatile("movl (%1), %%eax\n\tmovl %%eax, (%0)"
                     :
                     : "r"(to), "r"(from)
                     : "eax", "memory");
  } else if (size_B == 8) {
    __asm__ volatile("movq (%1), %%rax\n\tmovq %%rax, (%0)"
                     :
                     : "r"(to), "r"(from)
                     : "rax", "memory");
  } else if (size_B % 16 == 0 && size_B <= 64) {
    for (; size_B > 0; size_B -= 16, to += 16, from += 16)
      __asm__ volatile("movups (%1), %%xmm0\n\tmovups %%xmm0, (%0)"
                       :
                       : "r"(to), "r"(from)
                       : "xmm0", "memory");
  } else {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size_B) : : "memory");
  }
}

const char* fault_text(AccessFault kind) {
  switch (kind) {
    case AccessFault::none:
      return "ok";
    case AccessFault::not_present:
      return "page not present";
    case AccessFault::read_only:
      return "page is read-only";
    case AccessFault::no_execute:
      return "page is not executable";
  }
  return "?";
}

// ---- shadow

Shadow::Page& Shadow::page(uint64_t number) {
  auto& page = pages_[number];
  if (!page) page = std::make_unique<Page>();
  return *page;
}

void Shadow::forget(const void* from, const void* to) {
  const uint64_t first = reinterpret_cast<uint64_t>(from) / kPage_B;
  const uint64_t last = (reinterpret_cast<uint64_t>(to) + kPage_B - 1) / kPage_B;
  if (last - first < pages_.size()) {
    for (uint64_t n = first; n < last; ++n) pages_.erase(n);
  } else {
    std::erase_if(pages_, [&](const auto& p) { return p.first >= first && p.first < last; });
  }
}

// ---- pages

namespace {

/// A cache's view of a page. A line is what was filled into it whole, until it is invalidated.
struct Cached {
  std::array<std::byte, kPage_B> bytes;
  std::array<uint32_t, kLines> filled{};  ///< tick
};

/// Calls act(first byte in the page, bytes) for each line that is met.
template <class Act>
void each_line(unsigned at, unsigned size_B, Act act) {
  for (unsigned end = at + size_B; at < end;) {
    const unsigned n = std::min(end, (at / kLine_B + 1) * kLine_B) - at;
    act(at, n);
    at += n;
  }
}

}  // namespace

struct ChipMemory::Page {
  std::byte* host = nullptr;
  Shadow::Page* shadow = nullptr;
  std::unique_ptr<Cached> gl2, vector, scalar;
  std::bitset<kPage_B> dirty;
  std::bitset<kLines> dirty_lines;
  bool listed = false;  ///< in dirty_
};

struct ChipMemory::Translation {
  uint64_t va_page = ~0ull;
  std::byte* host = nullptr;
  Page* page = nullptr;
  bool writable = false, executable = false, uncached = false;
};

ChipMemory::ChipMemory(unsigned gpu, OrderBook& order, Shadow& shadow, bool checks, OnReport report)
    : gpu_(gpu),
      order_(order),
      shadow_(shadow),
      checks_(checks),
      report_(std::move(report)),
      translations_(kTranslations) {}
ChipMemory::~ChipMemory() = default;

void ChipMemory::forget_translations() {
  std::fill(translations_.begin(), translations_.end(), Translation{});
}

void ChipMemory::forget_pages(const std::byte* from, const std::byte* to) {
  forget_translations();
  std::erase_if(dirty_, [&](const Page* p) { return p->host >= from && p->host < to; });
  std::erase_if(pages_,
                [&](const auto& p) { return p.second->host >= from && p.second->host < to; });
}

ChipMemory::Page& ChipMemory::page_of(const std::byte* host) {
  auto& page = pages_[page_number(host)];
  if (!page) {
    page = std::make_unique<Page>();
    page->host = const_cast<std::byte*>(host) - in_page(host);
    page->shadow = &shadow_.page(page_number(host));
  }
  return *page;
}

/// The bytes at va up to the end of its page.
bool ChipMemory::translate(uint64_t va, AccessKind kind, Piece* piece, MemoryFault* fault) {
  Translation& t = translations_[(va / kPage_B) % kTranslations];
  if (t.va_page != va / kPage_B) {
    const GpuRange* range = map.find(va);
    if (!range) {
      *fault = {AccessFault::not_present, va};
      return false;
    }
    const uint64_t start = va / kPage_B * kPage_B;
    std::byte* const host = range->host + (start - range->va);
    t = {va / kPage_B, host, &page_of(host), range->writable, range->executable, range->uncached};
  }
  if (kind == AccessKind::write && !t.writable) *fault = {AccessFault::read_only, va};
  if (kind == AccessKind::execute && !t.executable) *fault = {AccessFault::no_execute, va};
  *piece = {t.host + va % kPage_B, t.page, t.uncached};
  return !*fault;
}

// ---- checks

void ChipMemory::complain(Report::Kind kind, const Task& task, uint64_t va, unsigned other_line,
                          uint32_t other, const std::string& text) {
  constexpr size_t kMany = 10'000;
  if (complained_.size() > kMany) complained_.clear();
  if (!complained_.insert({kind, task.line, task.sequence, other_line, other}).second) return;
  report_(kind,
          fmt::format("{} at 0x{:x}: {}", order_.describe(task.line, task.sequence), va, text));
}

/// The write is complete and known to be; is it also visible through this reader's caches?
void ChipMemory::check_visible(const Task& task, const Shadow::Dword& d, const Piece& piece,
                               uint64_t va, const Route& route) {
  const auto stale = [&](const char* what) {
    complain(Report::Kind::acquire, task, va, d.write_line, d.write_sequence,
             fmt::format("{} was not invalidated since {} wrote it", what,
                         order_.describe(d.write_line, d.write_sequence)));
  };
  if (task.agent != Agent::shader) return;
  if (route.scalar && glk_ <= d.write_tick) return stale("the scalar cache");
  if (!route.scalar && !route.bypass) {
    if (std::max(glv_, route.own_invalidate) <= d.write_tick)
      return stale("the vector cache (GLV)");
    if (std::max(gl1_, route.own_invalidate) <= d.write_tick) return stale("GL1");
  }
  const bool outside = d.write_agent == Agent::sdma || order_.gpu(d.write_line) != gpu_;
  if (outside && !piece.uncached && gl2_ <= d.write_tick) stale("GL2");
}

void ChipMemory::check_read(const Task& task, const Piece& piece, uint64_t va, unsigned size_B,
                            const Route& route) {
  const unsigned first = in_page(piece.host) / 4, last = (in_page(piece.host) + size_B - 1) / 4;
  for (unsigned i = first; i <= last; ++i) {
    Shadow::Dword& d = (*piece.page->shadow)[i];
    const bool own = d.write_line == task.line && d.write_sequence == task.sequence;
    if (d.write_sequence != 0 && !own) {
      if (task.known.of(d.write_line) < d.write_sequence) {
        complain(Report::Kind::wait, task, va, d.write_line, d.write_sequence,
                 fmt::format("reads what {} writes, which was not waited for",
                             order_.describe(d.write_line, d.write_sequence)));
      } else {
        check_visible(task, d, piece, va, route);
      }
    }
    d.read_line = uint16_t(task.line);
    d.read_sequence = task.sequence;
  }
}

void ChipMemory::check_write(const Task& task, const Piece& piece, uint64_t va, unsigned size_B,
                             bool atomic) {
  const unsigned first = in_page(piece.host) / 4, last = (in_page(piece.host) + size_B - 1) / 4;
  for (unsigned i = first; i <= last; ++i) {
    Shadow::Dword& d = (*piece.page->shadow)[i];
    const auto unordered = [&](unsigned line, uint32_t sequence) {
      return sequence != 0 && !(line == task.line && sequence == task.sequence) &&
             task.known.of(line) < sequence;
    };
    if (unordered(d.write_line, d.write_sequence) && !(atomic && d.write_atomic)) {
      complain(Report::Kind::wait, task, va, d.write_line, d.write_sequence,
               fmt::format("writes where {} writes, which was not waited for",
                           order_.describe(d.write_line, d.write_sequence)));
    } else if (unordered(d.read_line, d.read_sequence)) {
      complain(Report::Kind::wait, task, va, d.read_line, d.read_sequence,
               fmt::format("overwrites what {} reads, which was not waited for",
                           order_.describe(d.read_line, d.read_sequence)));
    }
    d.write_line = uint16_t(task.line);
    d.write_sequence = task.sequence;
    d.write_tick = shadow_.tick;
    d.write_agent = task.agent;
    d.write_atomic = atomic;
  }
}

// ---- data

/// What GL2 gives: its own bytes where it has them, memory else. `keep`: the line is allocated.
void ChipMemory::current(const Piece& piece, std::byte* out, unsigned size_B, const Task& task,
                         uint64_t va, bool keep) {
  Page& page = *piece.page;
  if (piece.uncached || !(page.gl2 || (keep && checks_)))
    return copy_bytes(out, piece.host, size_B);
  if (!page.gl2) page.gl2 = std::make_unique<Cached>();
  const unsigned first = in_page(piece.host);
  each_line(first, size_B, [&](unsigned at, unsigned n) {
    std::byte* const to = out + (at - first);
    const unsigned line = at / kLine_B;
    const bool dirty = page.dirty_lines[line];
    copy_bytes(to, page.host + at, n);
    if (page.gl2->filled[line] < gl2_) {
      if (keep && checks_) fill_gl2(page, line);
      for (unsigned i = 0; dirty && i < n; ++i)
        if (page.dirty[at + i]) to[i] = page.gl2->bytes[at + i];
      return;
    }
    if (std::memcmp(to, page.gl2->bytes.data() + at, n) == 0) return;
    for (unsigned i = 0; i < n; ++i)
      if (!page.dirty[at + i] && to[i] != page.gl2->bytes[at + i]) {
        complain(Report::Kind::acquire, task, va + (at - first) + i, 0, 0,
                 "GL2 holds old data: it was not invalidated since memory changed");
        break;
      }
    std::memcpy(to, page.gl2->bytes.data() + at, n);
  });
}

void ChipMemory::fill_gl2(Page& page, unsigned line) {
  std::array<std::byte, kLine_B> fresh;
  const unsigned at = line * kLine_B;
  copy_bytes(fresh.data(), page.host + at, kLine_B);
  for (unsigned i = 0; i < kLine_B; ++i)
    if (!page.dirty_lines[line] || !page.dirty[at + i]) page.gl2->bytes[at + i] = fresh[i];
  page.gl2->filled[line] = shadow_.tick;
}

void ChipMemory::store_current(const Piece& piece, const std::byte* in, unsigned size_B) {
  Page& page = *piece.page;
  const unsigned at = in_page(piece.host);
  if (page.vector) std::memcpy(page.vector->bytes.data() + at, in, size_B);
  if (piece.uncached) return copy_bytes(piece.host, in, size_B);
  if (!page.gl2) page.gl2 = std::make_unique<Cached>();
  std::memcpy(page.gl2->bytes.data() + at, in, size_B);
  for (unsigned i = 0; i < size_B; ++i) page.dirty[at + i] = true;
  each_line(at, size_B,
            [&](unsigned first, unsigned) { page.dirty_lines[first / kLine_B] = true; });
  if (!page.listed) {
    page.listed = true;
    dirty_.push_back(&page);
  }
}

/// The vector and the scalar cache: a line that was loaded since the last invalidate stays.
void ChipMemory::through_l0(const Task& task, const Piece& piece, uint64_t va, std::byte* out,
                            unsigned size_B, const Route& route) {
  auto& cache = route.scalar ? piece.page->scalar : piece.page->vector;
  if (!cache) cache = std::make_unique<Cached>();
  const uint32_t since = route.scalar ? glk_ : std::max(std::min(glv_, gl1_), route.own_invalidate);
  const unsigned first = in_page(piece.host);
  each_line(first, size_B, [&](unsigned at, unsigned n) {
    const unsigned start = at / kLine_B * kLine_B;
    std::byte* const to = out + (at - first);
    if (cache->filled[at / kLine_B] < since) {
      const Piece line{piece.page->host + start, piece.page, piece.uncached};
      std::array<std::byte, kLine_B> fresh;
      current(line, fresh.data(), kLine_B, task, va - first + start, false);
      std::copy(fresh.begin(), fresh.end(), cache->bytes.begin() + start);
      cache->filled[at / kLine_B] = shadow_.tick;
      std::memcpy(cache->bytes.data() + at, to, n);
      return;
    }
    if (std::memcmp(to, cache->bytes.data() + at, n) == 0) return;
    complain(Report::Kind::acquire, task, va + (at - first), 1, route.scalar,
             fmt::format("the {} cache holds old data: it was not invalidated since memory changed",
                         route.scalar ? "scalar" : "vector"));
    std::memcpy(to, cache->bytes.data() + at, n);
  });
}

void ChipMemory::read_piece(const Task& task, const Piece& piece, uint64_t va, std::byte* out,
                            unsigned size_B, const Route& route) {
  if (route.unchecked) return copy_bytes(out, piece.host, size_B);
  if (checks_) check_read(task, piece, va, size_B, route);
  if (task.agent == Agent::sdma) {
    if (!checks_) return copy_bytes(out, piece.host, size_B);
    current(piece, out, size_B, task, va, true);
    for (unsigned i = 0; piece.page->listed && i < size_B; ++i) {
      if (!piece.page->dirty[in_page(piece.host) + i]) continue;
      const Shadow::Dword& d = (*piece.page->shadow)[(in_page(piece.host) + i) / 4];
      complain(Report::Kind::release, task, va + i, d.write_line, d.write_sequence,
               fmt::format("reads what {} wrote and no GL2 write-back brought to memory",
                           order_.describe(d.write_line, d.write_sequence)));
    }
    return;
  }
  current(piece, out, size_B, task, va, task.agent == Agent::shader);
  if (checks_ && task.agent == Agent::shader && !route.bypass)
    through_l0(task, piece, va, out, size_B, route);
}

void ChipMemory::write_piece(const Task& task, const Piece& piece, uint64_t va, const std::byte* in,
                             unsigned size_B, const Route& route) {
  if (route.unchecked) return copy_bytes(piece.host, in, size_B);
  if (checks_) check_write(task, piece, va, size_B, false);
  if (task.agent != Agent::sdma) return store_current(piece, in, size_B);
  // Beside GL2: a dirty byte there would later be written over this.
  copy_bytes(piece.host, in, size_B);
  if (piece.page->gl2) std::memcpy(piece.page->gl2->bytes.data() + in_page(piece.host), in, size_B);
  for (unsigned i = 0; piece.page->listed && i < size_B; ++i)
    if (piece.page->dirty[in_page(piece.host) + i]) {
      complain(Report::Kind::release, task, va + i, 0, 1,
               "writes where GL2 holds a shader's store that was not written back");
      piece.page->dirty[in_page(piece.host) + i] = false;
    }
}

MemoryFault ChipMemory::read(const Task& task, uint64_t va, void* out, uint64_t size_B,
                             Route route) {
  auto* to = static_cast<std::byte*>(out);
  MemoryFault fault;
  while (size_B > 0) {
    const auto n = unsigned(std::min<uint64_t>(size_B, kPage_B - va % kPage_B));
    Piece piece;
    if (!translate(va, AccessKind::read, &piece, &fault)) return fault;
    read_piece(task, piece, va, to, n, route);
    va += n, to += n, size_B -= n;
  }
  return fault;
}

MemoryFault ChipMemory::write(const Task& task, uint64_t va, const void* in, uint64_t size_B,
                              Route route) {
  const auto* from = static_cast<const std::byte*>(in);
  MemoryFault fault;
  while (size_B > 0) {
    const auto n = unsigned(std::min<uint64_t>(size_B, kPage_B - va % kPage_B));
    Piece piece;
    if (!translate(va, AccessKind::write, &piece, &fault)) return fault;
    write_piece(task, piece, va, from, n, route);
    va += n, from += n, size_B -= n;
  }
  return fault;
}

MemoryFault ChipMemory::atomic(const Task& task, uint64_t va, unsigned size_B, AtomicOp op,
                               uint64_t source, uint64_t compare, uint64_t* old) {
  MemoryFault fault;
  Piece piece;
  if (!translate(va, AccessKind::write, &piece, &fault)) return fault;
  if (checks_) check_write(task, piece, va, size_B, true);
  if (piece.page->vector)  // the line is evicted
    piece.page->vector->filled[in_page(piece.host) / kLine_B] = 0;
  if (!piece.uncached && task.agent != Agent::sdma) {
    uint64_t value = 0;
    current(piece, reinterpret_cast<std::byte*>(&value), size_B, task, va, false);
    *old = value;
    value = atomic_result(op, size_B, value, source, compare);
    store_current(piece, reinterpret_cast<const std::byte*>(&value), size_B);
    return fault;
  }
  // The CPU may be at it too.
  const auto exchange = [&]<typename T>(T) {
    std::atomic_ref<T> word(*reinterpret_cast<T*>(piece.host));
    T seen = word.load();
    while (!word.compare_exchange_weak(seen, T(atomic_result(op, size_B, seen, source, compare)))) {
    }
    *old = seen;
  };
  if (size_B == 8)
    exchange(uint64_t{});
  else
    exchange(uint32_t{});
  return fault;
}

unsigned ChipMemory::fetch(uint64_t va, uint8_t* out) {
  MemoryFault fault;
  Piece piece;
  if (!translate(va, AccessKind::execute, &piece, &fault)) return 0;
  static const Task kNobody{};
  current(piece, reinterpret_cast<std::byte*>(out), kLine_B, kNobody, va, false);
  return kLine_B;
}

// ---- words

const std::byte* ChipMemory::word_host(uint64_t va) const {
  const GpuRange* range = map.find(va);
  return range ? range->host + (va - range->va) : nullptr;
}

MemoryFault ChipMemory::read_word(uint64_t va, unsigned size_B, uint64_t* value) {
  MemoryFault fault;
  Piece piece;
  if (!translate(va, AccessKind::read, &piece, &fault)) return fault;
  if (size_B == 8) {
    *value = std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(piece.host)).load();
  } else {
    *value = std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(piece.host)).load();
  }
  const unsigned at = in_page(piece.host);
  for (unsigned i = 0; piece.page->listed && i < size_B; ++i)
    if (piece.page->dirty[at + i])
      reinterpret_cast<std::byte*>(value)[i] = piece.page->gl2->bytes[at + i];
  return fault;
}

MemoryFault ChipMemory::write_word(uint64_t va, unsigned size_B, uint64_t value) {
  MemoryFault fault;
  Piece piece;
  if (!translate(va, AccessKind::write, &piece, &fault)) return fault;
  if (size_B == 8) {
    std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(piece.host)).store(value);
  } else {
    std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(piece.host)).store(uint32_t(value));
  }
  const unsigned at = in_page(piece.host);
  for (unsigned i = 0; piece.page->listed && i < size_B; ++i) piece.page->dirty[at + i] = false;
  return fault;
}

MemoryFault ChipMemory::peek(uint64_t va, void* out, uint64_t size_B, AccessKind kind) {
  auto* to = static_cast<std::byte*>(out);
  MemoryFault fault;
  while (size_B > 0) {
    const auto n = unsigned(std::min<uint64_t>(size_B, kPage_B - va % kPage_B));
    Piece piece;
    if (!translate(va, kind, &piece, &fault)) return fault;
    copy_bytes(to, piece.host, n);
    const unsigned at = in_page(piece.host);
    for (unsigned i = 0; piece.page->listed && i < n; ++i)
      if (piece.page->dirty[at + i]) to[i] = piece.page->gl2->bytes[at + i];
    va += n, to += n, size_B -= n;
  }
  return fault;
}

MemoryFault ChipMemory::poke(uint64_t va, const void* in, uint64_t size_B) {
  const auto* from = static_cast<const std::byte*>(in);
  MemoryFault fault;
  while (size_B > 0) {
    const auto n = unsigned(std::min<uint64_t>(size_B, kPage_B - va % kPage_B));
    Piece piece;
    if (!translate(va, AccessKind::write, &piece, &fault)) return fault;
    copy_bytes(piece.host, from, n);
    va += n, from += n, size_B -= n;
  }
  return fault;
}

// ---- cache control

void ChipMemory::write_back() {
  for (Page* page : dirty_) {
    for (unsigned at = 0; at < kPage_B; ++at) {
      if (!page->dirty[at]) continue;
      unsigned end = at;
      while (end < kPage_B && page->dirty[end]) ++end;
      copy_bytes(page->host + at, page->gl2->bytes.data() + at, end - at);
      at = end;
    }
    page->dirty.reset();
    page->dirty_lines.reset();
    page->listed = false;
  }
  dirty_.clear();
}

void ChipMemory::control(const CacheAction& action) {
  if (action.gl2_wb) write_back();
  const uint32_t now = ++shadow_.tick;
  if (action.gl2_wb) written_back_ = now;
  if (action.glv_inv) glv_ = now;
  if (action.gl1_inv) gl1_ = now;
  if (action.glk_inv) glk_ = now;
  if (action.gl2_inv) gl2_ = now;
}

void ChipMemory::note_write(const Task& task, uint64_t va, unsigned size_B) {
  MemoryFault fault;
  Piece piece;
  if (checks_ && translate(va, AccessKind::write, &piece, &fault))
    check_write(task, piece, va, size_B, false);
}

std::string ChipMemory::not_written_back(unsigned line) const {
  for (const Page* page : dirty_)
    for (unsigned at = 0; checks_ && at < kPage_B; at += 4) {
      if (!page->dirty[at] && !page->dirty[at + 3]) continue;
      const Shadow::Dword& d = (*page->shadow)[at / 4];
      if (d.write_line == line) return order_.describe(line, d.write_sequence);
    }
  return "";
}

uint64_t ChipMemory::dirty_bytes() const {
  uint64_t count = 0;
  for (const Page* page : dirty_) count += page->dirty.count();
  return count;
}

}  // namespace tiny::models::amd
