// SPDX-License-Identifier: MIT
#include "tests/models/amd/isa_harness.h"

#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>
#include <rt_tiny/runtime/base/elf.h>

#include <algorithm>
#include <stdexcept>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
}

namespace isa_test {
namespace {

constexpr const char* kTriple = "amdgcn-amd-amdhsa";

void complain(const llvm::SMDiagnostic& diagnostic, void* out) {
  llvm::raw_string_ostream stream(*static_cast<std::string*>(out));
  diagnostic.print("asm", stream, false);
}

std::vector<uint8_t> assemble_with(std::string_view target, const std::string& features,
                                   const std::string& text) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  std::string error, complaints;
  const llvm::Target* llvm = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!llvm) throw std::runtime_error(error);
  llvm::SourceMgr sources;
  sources.setDiagHandler(complain, &complaints);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text), llvm::SMLoc());
  const llvm::MCTargetOptions options;
  const llvm::Triple triple(kTriple);
  std::unique_ptr<llvm::MCRegisterInfo> registers(llvm->createMCRegInfo(kTriple));
  std::unique_ptr<llvm::MCAsmInfo> info(llvm->createMCAsmInfo(*registers, kTriple, options));
  std::unique_ptr<llvm::MCInstrInfo> instructions(llvm->createMCInstrInfo());
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      llvm->createMCSubtargetInfo(kTriple, std::string(target), features));
  llvm::MCContext context(triple, info.get(), registers.get(), subtarget.get(), &sources, &options);
  std::unique_ptr<llvm::MCObjectFileInfo> files(llvm->createMCObjectFileInfo(context, true));
  context.setObjectFileInfo(files.get());
  llvm::SmallVector<char, 4096> bytes;
  {
    llvm::raw_svector_ostream out(bytes);
    std::unique_ptr<llvm::MCAsmBackend> backend(
        llvm->createMCAsmBackend(*subtarget, *registers, options));
    std::unique_ptr<llvm::MCCodeEmitter> emitter(llvm->createMCCodeEmitter(*instructions, context));
    std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(out);
    std::unique_ptr<llvm::MCStreamer> streamer(llvm->createMCObjectStreamer(
        triple, context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
    std::unique_ptr<llvm::MCAsmParser> parser(
        llvm::createMCAsmParser(sources, context, *streamer, *info));
    std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
        llvm->createMCAsmParser(*subtarget, *parser, *instructions, options));
    parser->setTargetParser(*target_parser);
    if (parser->Run(false) || !complaints.empty()) throw std::runtime_error(complaints + text);
  }
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<uint8_t> assemble(std::string_view target, unsigned lanes, const std::string& text) {
  const std::string features =
      lanes == 32 ? "+wavefrontsize32,-wavefrontsize64" : "-wavefrontsize32,+wavefrontsize64";
  const tiny::ElfObject object(assemble_with(target, features, text));
  const auto contents = object.contents(*object.find_section(".text"));
  return {contents.begin(), contents.end()};
}

std::vector<uint8_t> assemble_object(std::string_view target, const std::string& text,
                                     const std::string& features) {
  return assemble_with(target, features, text);
}

// ---- memory

uint64_t FlatMemory::add(size_t size_B, bool poisoned) {
  const uint64_t at = next_;
  next_ += (size_B + 0x1fff) & ~0xfffull;  // at least a page between
  regions_[at] = {std::vector<uint8_t>(size_B, 0xa5), std::vector<uint8_t>(size_B, poisoned), true,
                  false};
  return at;
}

void FlatMemory::add_at(uint64_t address, std::vector<uint8_t> bytes, bool executable) {
  const size_t size = bytes.size();
  regions_[address] = {std::move(bytes), std::vector<uint8_t>(size, 0), !executable, executable};
}

FlatMemory::Region* FlatMemory::find(uint64_t address, uint64_t size_B, uint64_t* offset) {
  auto at = regions_.upper_bound(address);
  if (at == regions_.begin()) return nullptr;
  --at;
  *offset = address - at->first;
  return *offset + size_B <= at->second.bytes.size() ? &at->second : nullptr;
}

void FlatMemory::write(uint64_t address, const void* data, size_t size_B) {
  uint64_t offset;
  Region* r = find(address, size_B, &offset);
  if (!r) throw std::runtime_error("test writes outside memory");
  std::memcpy(r->bytes.data() + offset, data, size_B);
  std::fill_n(r->poison.begin() + static_cast<long>(offset), size_B, 0);
}

void FlatMemory::read(uint64_t address, void* data, size_t size_B) const {
  uint64_t offset;
  const Region* r = const_cast<FlatMemory*>(this)->find(address, size_B, &offset);
  if (!r) throw std::runtime_error("test reads outside memory");
  std::memcpy(data, r->bytes.data() + offset, size_B);
}

bool FlatMemory::poisoned(uint64_t address) const {
  uint64_t offset;
  const Region* r = const_cast<FlatMemory*>(this)->find(address, 1, &offset);
  return r && r->poison[offset];
}

MemoryResult FlatMemory::load(const Access& a, void* data, uint32_t* poison) {
  if (record) accesses.push_back(a);
  uint64_t offset;
  const Region* r = find(a.address, a.size_B, &offset);
  if (!r) return MemoryResult::fault(a.address, "no such memory");
  std::memcpy(data, r->bytes.data() + offset, a.size_B);
  *poison = 0;
  for (unsigned i = 0; i < a.size_B; ++i) *poison |= uint32_t(r->poison[offset + i]) << i;
  return {};
}

MemoryResult FlatMemory::store(const Access& a, const void* data, uint32_t poison) {
  if (record) accesses.push_back(a);
  uint64_t offset;
  Region* r = find(a.address, a.size_B, &offset);
  if (!r) return MemoryResult::fault(a.address, "no such memory");
  if (!r->writable) return MemoryResult::fault(a.address, "read-only memory");
  std::memcpy(r->bytes.data() + offset, data, a.size_B);
  for (unsigned i = 0; i < a.size_B; ++i) r->poison[offset + i] = poison >> i & 1;
  return {};
}

MemoryResult FlatMemory::atomic(const Access& a, AtomicOp op, uint64_t source, uint64_t compare,
                                uint64_t* old, uint32_t* poison) {
  uint64_t offset;
  Region* r = find(a.address, a.size_B, &offset);
  if (!r) return MemoryResult::fault(a.address, "no such memory");
  *old = 0;
  std::memcpy(old, r->bytes.data() + offset, a.size_B);
  *poison = r->poison[offset] ? ~0u : 0;
  const uint64_t fresh = atomic_result(op, a.size_B, *old, source, compare);
  std::memcpy(r->bytes.data() + offset, &fresh, a.size_B);
  return {};
}

MemoryResult FlatMemory::scalar_load(const Access& a, void* data, uint64_t* poison) {
  uint64_t offset;
  const Region* r = find(a.address, a.size_B, &offset);
  if (!r) return MemoryResult::fault(a.address, "no such memory");
  std::memcpy(data, r->bytes.data() + offset, a.size_B);
  *poison = 0;
  for (unsigned i = 0; i < a.size_B; ++i) *poison |= uint64_t(r->poison[offset + i]) << i;
  return {};
}

unsigned FlatMemory::fetch(uint64_t address, std::span<uint8_t, 64> out) {
  uint64_t offset;
  const Region* r = find(address, 1, &offset);
  if (!r || !r->executable) return 0;
  const unsigned n = static_cast<unsigned>(std::min<uint64_t>(64, r->bytes.size() - offset));
  std::memcpy(out.data(), r->bytes.data() + offset, n);
  return n;
}

// ---- one wave

const Isa& isa_of(std::string_view target) {
  static const Isa gfx1100("gfx1100"), gfx1030("gfx1030");
  return target == "gfx1100" ? gfx1100 : gfx1030;
}

Bench::Bench(std::string_view t, unsigned n)
    : target(t), lanes(n), isa(isa_of(t)), cache(std::make_unique<CodeCache>(isa)) {
  config.lanes = lanes;
  config.pc = kCode;
  config.exec = ~0ull;
  config.shared_base = kSharedBase;
  config.private_base = kPrivateBase;
}

void Bench::load(const std::string& text) {
  memory.add_at(kCode, assemble(target, lanes, text + "\n s_endpgm\n"), true);
  cache->invalidate();
}

Wave& Bench::fresh() {
  wave = std::make_unique<Wave>(config);
  wave->memory = &memory;
  wave->lds = lds.get();
  return *wave;
}

Stop Bench::run_text(const std::string& text) {
  load(text);
  if (!wave) fresh();
  wave->pc = kCode;
  return run();
}

// ---- kernels

namespace {

constexpr uint64_t kImage = 0x40000;

uint32_t word_at(const std::vector<uint8_t>& bytes, size_t at) {
  uint32_t v;
  std::memcpy(&v, bytes.data() + at, 4);
  return v;
}

}  // namespace

Program::Program(std::string_view t, std::vector<uint8_t> bytes) : target(t), cache(isa_of(t)) {
  const tiny::ElfObject object(std::move(bytes));
  std::vector<uint8_t> image;
  std::vector<uint64_t> base(object.sections().size(), 0);
  constexpr uint64_t kAllocated = 2;
  for (size_t i = 0; i < base.size(); ++i) {
    const tiny::ElfSection& s = object.sections()[i];
    if (!(s.flags & kAllocated) || s.name.starts_with(".note")) continue;
    image.resize((image.size() + 255) & ~size_t(255));
    base[i] = image.size();
    const auto contents = object.contents(s);
    image.insert(image.end(), contents.begin(), contents.end());
    image.resize(base[i] + s.size_B);
  }
  for (const tiny::ElfRelocation& r : object.relocations()) {
    if (!(object.sections()[r.section].flags & kAllocated)) continue;
    const tiny::ElfSymbol& s = object.symbols()[r.symbol];
    const uint64_t place = base[r.section] + r.offset_B;
    const uint64_t value = base[s.section] + s.value + static_cast<uint64_t>(r.addend) - place;
    constexpr uint32_t kRel32 = 4, kRel64 = 5, kRel32Lo = 10, kRel32Hi = 11;
    const uint32_t half = static_cast<uint32_t>(r.type == kRel32Hi ? value >> 32 : value);
    if (r.type == kRel64)
      std::memcpy(image.data() + place, &value, 8);
    else if (r.type == kRel32 || r.type == kRel32Lo || r.type == kRel32Hi)
      std::memcpy(image.data() + place, &half, 4);
    else
      throw std::runtime_error("test meets a relocation it does not know");
  }
  for (const tiny::ElfSymbol& s : object.symbols()) {
    if (!s.name.ends_with(".kd") || s.section == tiny::kElfUndefined) continue;
    const size_t at = base[s.section] + s.value;
    Kernel k;
    k.lds_B = word_at(image, at);
    k.scratch_B = word_at(image, at + 4);
    k.kernarg_B = word_at(image, at + 8);
    k.entry = kImage + at + (word_at(image, at + 16) | uint64_t(word_at(image, at + 20)) << 32);
    k.rsrc1 = word_at(image, at + 48);
    k.rsrc2 = word_at(image, at + 52);
    k.properties = static_cast<uint16_t>(word_at(image, at + 56));
    kernels_[std::string(s.name.substr(0, s.name.size() - 3))] = k;
  }
  image.resize(image.size() + 256);
  memory.add_at(kImage, std::move(image), true);
}

Kernel Program::kernel(const std::string& name) const {
  const auto found = kernels_.find(name);
  if (found == kernels_.end()) throw std::runtime_error("no kernel " + name);
  return found->second;
}

void Program::launch(const std::string& name, std::array<unsigned, 3> groups,
                     std::array<unsigned, 3> group, const std::vector<uint8_t>& kernarg) {
  const Kernel k = kernel(name);
  const uint64_t at = memory.add(kernarg.size() + 256, false);
  memory.write(at, kernarg.data(), kernarg.size());
  const uint64_t packet = memory.add(64, false);
  const uint16_t sizes[3] = {static_cast<uint16_t>(group[0]), static_cast<uint16_t>(group[1]),
                             static_cast<uint16_t>(group[2])};
  const uint32_t grid[3] = {groups[0] * group[0], groups[1] * group[1], groups[2] * group[2]};
  memory.write(packet + 4, sizes, 6);
  memory.write(packet + 12, grid, 12);
  for (unsigned z = 0; z < groups[2]; ++z)
    for (unsigned y = 0; y < groups[1]; ++y)
      for (unsigned x = 0; x < groups[0]; ++x) run_group(k, {x, y, z}, group, at, packet);
}

void Program::run_group(const Kernel& k, std::array<unsigned, 3> id, std::array<unsigned, 3> group,
                        uint64_t kernarg, uint64_t packet) {
  const bool gfx11 = target == "gfx1100", wave32 = k.properties & 0x400;
  const unsigned lanes = wave32 ? 32 : 64, threads = group[0] * group[1] * group[2];
  const unsigned waves = (threads + lanes - 1) / lanes;
  Lds lds(k.lds_B, true);
  std::vector<std::unique_ptr<Wave>> all;
  for (unsigned n = 0; n < waves; ++n) {
    WaveConfig c;
    c.lanes = lanes;
    c.id = n;
    c.pc = k.entry;
    c.vgprs = ((k.rsrc1 & 63) + 1) * (lanes == 32 ? 8 : 4);
    c.exec = threads - n * lanes >= lanes ? ~0ull : (1ull << (threads - n * lanes)) - 1;
    c.float_mode = static_cast<uint8_t>(k.rsrc1 >> 12);
    c.dx10_clamp = k.rsrc1 >> 21 & 1;
    c.ieee = k.rsrc1 >> 23 & 1;
    c.shared_base = kSharedBase;
    c.private_base = kPrivateBase;
    c.waves_in_group = waves;
    c.scratch_lane_B = (k.scratch_B + 3) & ~3u;
    if (k.scratch_B) c.scratch_base = memory.add(size_t(c.scratch_lane_B) * lanes);
    auto wave = std::make_unique<Wave>(c);
    wave->memory = &memory;
    wave->lds = &lds;
    wave->policy = policy;
    unsigned s = 0;
    auto put = [&](uint64_t v) {
      wave->set_sgpr(s++, static_cast<uint32_t>(v));
      wave->set_sgpr(s++, static_cast<uint32_t>(v >> 32));
    };
    if (k.properties & 1) {
      // gfx10's scratch descriptor: swizzled by dword over the wave's lanes.
      put(c.scratch_base | 1ull << 63);
      wave->set_sgpr(s++, ~0u);
      wave->set_sgpr(s++, 1u << 23 | (lanes == 64 ? 3u : 2u) << 21 | 2u << 28);
    }
    if (k.properties & 2) put(packet);
    if (k.properties & 4) put(0);
    if (k.properties & 8) put(kernarg);
    if (k.properties & 16) put(0);
    if (k.properties & 32) put(c.scratch_base);
    if (k.properties & 64) wave->set_sgpr(s++, k.scratch_B);
    s = k.rsrc2 >> 1 & 31;
    for (unsigned d = 0; d < 3; ++d)
      if (k.rsrc2 >> (7 + d) & 1) wave->set_sgpr(s++, id[d]);
    if (!gfx11 && (k.rsrc2 & 1)) wave->set_sgpr(s++, 0);  // the wave's scratch offset
    for (unsigned l = 0; l < lanes; ++l) {
      const unsigned t = n * lanes + l;
      const unsigned x = t % group[0], y = t / group[0] % group[1], z = t / group[0] / group[1];
      if (gfx11) {
        wave->set_vgpr(0, l, x | y << 10 | z << 20);
      } else {
        wave->set_vgpr(0, l, x);
        wave->set_vgpr(1, l, y);
        wave->set_vgpr(2, l, z);
      }
    }
    all.push_back(std::move(wave));
  }
  std::vector<bool> done(waves, false);
  unsigned left = waves;
  while (left) {
    unsigned waiting = 0;
    for (unsigned n = 0; n < waves; ++n) {
      if (done[n]) continue;
      for (;;) {
        const Stop stop = cache.run(*all[n], 10'000'000);
        if (stop.reason == StopReason::message || stop.reason == StopReason::yield) continue;
        if (stop.reason == StopReason::barrier)
          ++waiting;
        else if (stop.reason == StopReason::end)
          done[n] = true, --left, instructions += all[n]->instructions;
        else
          throw std::runtime_error(stop.reason == StopReason::fault ? stop.fault.message()
                                                                    : "the kernel does not end");
        break;
      }
    }
    if (waiting) lds.next_epoch();
  }
}

// ---- values

uint32_t some32(std::mt19937_64& random, unsigned i) {
  static constexpr uint32_t kEdges[] = {
      0,           0x80000000u, 1,           0xffffffffu, 0x7fffffffu, 0x3f800000u,
      0xbf800000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7f800001u, 0x00000001u,
      0x007fffffu, 0x00800000u, 0x7f7fffffu, 0xff7fffffu, 0x80000001u, 0x807fffffu,
      0x3f000000u, 0x4b000000u, 0x4effffffu, 0x4f000000u, 0x4f800000u, 0xcf000000u,
      0x33800000u, 0x0000ffffu, 0xffff0000u, 0x3effffffu, 0x40490fdbu, 0x437f0000u};
  const uint64_t r = random();
  constexpr unsigned kCount = sizeof kEdges / sizeof kEdges[0];
  if (i % 4 == 0) return kEdges[r % kCount];
  if (i % 4 == 1) {  // floats of moderate size
    const float f = static_cast<float>(static_cast<int32_t>(r)) / 65536.0f;
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    return bits;
  }
  return i % 4 == 2 ? static_cast<uint32_t>(r & 0x3ff) : static_cast<uint32_t>(r);
}

uint64_t some64(std::mt19937_64& random, unsigned i) {
  static constexpr uint64_t kEdges[] = {0,
                                        1ull << 63,
                                        1,
                                        ~0ull,
                                        0x7fffffffffffffffull,
                                        0x3ff0000000000000ull,
                                        0xbff0000000000000ull,
                                        0x7ff0000000000000ull,
                                        0xfff0000000000000ull,
                                        0x7ff8000000000000ull,
                                        0x7ff0000000000001ull,
                                        0x000fffffffffffffull,
                                        0x0010000000000000ull,
                                        0x7fefffffffffffffull,
                                        0x8000000000000001ull,
                                        0x41dfffffffc00000ull,
                                        0x41e0000000000000ull,
                                        0xc1e0000000000000ull,
                                        0x3fe0000000000000ull,
                                        0x4330000000000000ull,
                                        0xffffffffull,
                                        0x47efffffe0000000ull,
                                        0x47effffff0000000ull,
                                        0x36a0000000000000ull,
                                        0x3690000000000000ull,
                                        0x380fffffe0000000ull};
  const uint64_t r = random();
  if (i % 4 == 0) return kEdges[r % (sizeof kEdges / sizeof kEdges[0])];
  if (i % 4 == 1) {
    const double d = static_cast<double>(static_cast<int64_t>(r)) / 0x1p40;
    uint64_t bits;
    std::memcpy(&bits, &d, 8);
    return bits;
  }
  return i % 4 == 2 ? r & 0xffff : r;
}

uint32_t some16x2(std::mt19937_64& random, unsigned i) {
  static constexpr uint16_t kEdges[] = {0,      0x8000, 1,      0x3ff,  0x400,  0x3c00,
                                        0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x8001,
                                        0x3800, 0x4248, 0x6400, 0x7801, 0xffff, 0x7fff};
  const uint64_t r = random();
  constexpr unsigned kCount = sizeof kEdges / sizeof kEdges[0];
  const uint16_t lo = i % 3 == 0 ? kEdges[r % kCount] : static_cast<uint16_t>(r >> 16);
  const uint16_t hi = i % 2 == 0 ? kEdges[(r >> 8) % kCount] : static_cast<uint16_t>(r >> 32);
  return lo | uint32_t(hi) << 16;
}

}  // namespace isa_test
