// SPDX-License-Identifier: MIT
// What the interpreter's tests share: an assembler (LLVM's), flat memory with poison, and a small
// dispatcher that follows a kernel descriptor.
#pragma once

#include "models/amd/isa/isa.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace isa_test {

using namespace tiny::models::amd;

/// Machine code of `text`; throws std::runtime_error with the assembler's complaint.
std::vector<uint8_t> assemble(std::string_view target, unsigned lanes, const std::string& text);
/// An ELF object of `text`.
std::vector<uint8_t> assemble_object(std::string_view target, const std::string& text,
                                     const std::string& features = "");

/// Regions of memory, poisoned when made; everything else faults.
class FlatMemory : public Memory {
 public:
  struct Region {
    std::vector<uint8_t> bytes, poison;
    bool writable = true, executable = false;
  };
  uint64_t add(size_t size_B, bool poisoned = true);
  void add_at(uint64_t address, std::vector<uint8_t> bytes, bool executable);
  void write(uint64_t address, const void* data, size_t size_B);
  void read(uint64_t address, void* data, size_t size_B) const;
  bool poisoned(uint64_t address) const;
  Region& region(uint64_t base) { return regions_.at(base); }

  MemoryResult load(const Access& access, void* data, uint32_t* poison) override;
  MemoryResult store(const Access& access, const void* data, uint32_t poison) override;
  MemoryResult atomic(const Access& access, AtomicOp op, uint64_t source, uint64_t compare,
                      uint64_t* old, uint32_t* poison) override;
  MemoryResult scalar_load(const Access& access, void* data, uint64_t* poison) override;
  unsigned fetch(uint64_t address, std::span<uint8_t, 64> out) override;
  void stores_complete(uint64_t, uint64_t sequence) override { completed = sequence; }
  void cache_control(uint64_t, CacheControl what) override { controls.push_back(what); }

  uint64_t completed = 0;
  std::vector<CacheControl> controls;
  std::vector<Access> accesses;  ///< recorded if `record`
  bool record = false;

 private:
  Region* find(uint64_t address, uint64_t size_B, uint64_t* offset);
  std::map<uint64_t, Region> regions_;
  uint64_t next_ = 0x100000000ull;
};

inline constexpr uint64_t kCode = 0x20000;
inline constexpr uint64_t kSharedBase = 0x1ull << 48, kPrivateBase = 0x2ull << 48;

/// One wave and one piece of code.
struct Bench {
  explicit Bench(std::string_view target, unsigned lanes = 32);
  /// Assembles `text` (s_endpgm is appended) and replaces the code.
  void load(const std::string& text);
  Wave& fresh();  ///< a new wave at the start of the code, all lanes on
  Stop run(uint64_t budget = 100000) { return cache->run(*wave, budget); }
  Stop run_text(const std::string& text);

  std::string target;
  unsigned lanes;
  const Isa& isa;
  FlatMemory memory;
  std::unique_ptr<CodeCache> cache;
  std::unique_ptr<Wave> wave;
  std::unique_ptr<Lds> lds;
  WaveConfig config;
};
const Isa& isa_of(std::string_view target);

/// A kernel from an object, placed in memory.
struct Kernel {
  uint64_t entry = 0;
  uint32_t rsrc1 = 0, rsrc2 = 0, lds_B = 0, scratch_B = 0, kernarg_B = 0;
  uint16_t properties = 0;
};
class Program {
 public:
  Program(std::string_view target, std::vector<uint8_t> object);
  Kernel kernel(const std::string& name) const;
  FlatMemory memory;
  std::string target;
  CodeCache cache;
  /// Runs the grid; throws std::runtime_error with the fault's message.
  void launch(const std::string& name, std::array<unsigned, 3> groups,
              std::array<unsigned, 3> group, const std::vector<uint8_t>& kernarg);
  uint64_t instructions = 0;
  Policy policy;

 private:
  void run_group(const Kernel& k, std::array<unsigned, 3> id, std::array<unsigned, 3> group,
                 uint64_t kernarg, uint64_t dispatch_packet);
  std::map<std::string, Kernel> kernels_;
};

/// Edge values first, then random bits.
uint32_t some32(std::mt19937_64& random, unsigned i);
uint64_t some64(std::mt19937_64& random, unsigned i);
uint32_t some16x2(std::mt19937_64& random, unsigned i);

/// Kernel arguments in order, at natural alignment.
class Arguments {
 public:
  template <class T>
  Arguments& add(T value) {
    bytes_.resize((bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
    const auto* p = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), p, p + sizeof(T));
    return *this;
  }
  operator const std::vector<uint8_t>&() const { return bytes_; }  // NOLINT

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace isa_test
