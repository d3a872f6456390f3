// SPDX-License-Identifier: MIT
#include "tests/tools/trace/fake_devices.h"

#include <rt_tiny/runtime/base/file.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>

#include "models/interpose/interpose.h"
#include "tools/decode/table.h"

namespace tiny::test {
namespace {

using interpose::Result;

/// Everything succeeds; KFD's GET_VERSION answers 1.14. An odd request with `EINVAL` as argument
/// fails, so that a test sees that, too. Each offset maps memory of its own.
class FakeDevice : public interpose::File {
 public:
  FakeDevice() : memory_(::memfd_create("fake", MFD_CLOEXEC)) {}

  Result ioctl(unsigned long request, void* argument) override {
    if (argument == reinterpret_cast<void*>(EINVAL)) return -EINVAL;
    if (request == 0x80084b01) {
      static_cast<std::uint32_t*>(argument)[0] = 1;
      static_cast<std::uint32_t*>(argument)[1] = 14;
    }
    return 0;
  }
  Result map(const interpose::MapRequest& request) override {
    const auto [place, is_new] = places_.emplace(request.offset_B, end_);
    end_ = std::max(end_, place->second + (request.length_B + 4095) / 4096 * 4096);
    if (::ftruncate(memory_.get(), static_cast<off_t>(end_)) != 0) return -errno;
    void* at = ::mmap(request.address, request.length_B, request.prot, request.flags, memory_.get(),
                      static_cast<off_t>(place->second));
    return at == MAP_FAILED ? -errno : reinterpret_cast<Result>(at);
  }

 private:
  Fd memory_;
  std::map<std::uint64_t, std::size_t> places_;  // in memory_, by offset
  std::size_t end_ = 0;
};

// ---- devices that answer as a driver does. Only for programs whose pointers are good. -----------
template <class T>
T& at(void* argument, std::size_t offset_B) {
  return *reinterpret_cast<T*>(static_cast<std::byte*>(argument) + offset_B);
}

class AnsweringNvidia : public FakeDevice {
 public:
  Result ioctl(unsigned long request, void* argument) override {
    if (request == kRmAlloc && at<std::uint32_t>(argument, 8) == 0)
      at<std::uint32_t>(argument, 8) = 0xc1d00051;
    if (request == 0xc04846d2) at<std::uint32_t>(argument, 4) = 1;  // the version is recognized
    if (request == kRmControl && at<std::uint32_t>(argument, 8) == 0xc36f0108)
      at<std::uint32_t>(at<void*>(argument, 16), 0) = 0x2a;  // the channel's token
    return 0;
  }
};

class AnsweringKgsl : public FakeDevice {
 public:
  Result ioctl(unsigned long request, void* argument) override {
    switch (request) {
      case 0xc0180902:  // GETPROPERTY of DEVICE_INFO: the chip is an a630
        at<std::uint32_t>(at<void*>(argument, 8), 4) = 0x06030001;
        return 0;
      case 0xc0080913:  // DRAWCTXT_CREATE
        at<std::uint32_t>(argument, 4) = 3;
        return 0;
      case 0xc0300945:  // GPUOBJ_ALLOC
        at<std::uint64_t>(argument, 24) = at<std::uint64_t>(argument, 0);
        at<std::uint32_t>(argument, 32) = ++objects_;
        return 0;
      case 0xc0300934:  // GPUMEM_ALLOC_ID
        at<std::uint32_t>(argument, 0) = ++objects_;
        at<std::uint64_t>(argument, 24) = 0x500000000 + objects_ * 0x100000;
        return 0;
      case 0xc040094a:  // GPU_COMMAND
        at<std::uint32_t>(argument, 60) = ++timestamp_;
        return 0;
    }
    return 0;
  }

 private:
  std::uint32_t objects_ = 0, timestamp_ = 0;
};

class AnsweringMsm : public FakeDevice {
 public:
  Result ioctl(unsigned long request, void* argument) override {
    const bool is_offset = at<std::uint32_t>(argument, 4) == 0;
    switch (request) {
      case 0xc0186440:  // GET_PARAM of CHIP_ID: an a740
        at<std::uint64_t>(argument, 8) = 0x43050a01;
        return 0;
      case 0xc0106442:  // GEM_NEW
        at<std::uint32_t>(argument, 12) = ++handles_;
        return 0;
      case 0xc0186443:  // GEM_INFO: where to map it, or where the GPU sees it
        at<std::uint64_t>(argument, 8) =
            (is_offset ? 0x100000000 : 0x700000000) + at<std::uint32_t>(argument, 0) * 0x100000;
        return 0;
      case 0xc0486446:  // GEM_SUBMIT
        at<std::uint32_t>(argument, 4) = ++fence_;
        return 0;
    }
    return 0;
  }

 private:
  std::uint32_t handles_ = 0, fence_ = 0;
};

std::shared_ptr<interpose::File> make_device(const std::string& path, Answers answers) {
  if (answers == Answers::all && path.starts_with("/dev/nvidia"))
    return std::make_shared<AnsweringNvidia>();
  if (answers == Answers::all && path == kKgsl) return std::make_shared<AnsweringKgsl>();
  if (answers == Answers::all && path == kMsm) return std::make_shared<AnsweringMsm>();
  return std::make_shared<FakeDevice>();
}

constexpr std::uint32_t kSizes[] = {8, 16, 0, 24, 32, 40, 64, 4, 88, 96, 200, 512};

std::uint32_t request_of(std::uint32_t type, std::uint32_t number, std::size_t place) {
  return 3u << 30 | kSizes[place % std::size(kSizes)] << 16 | type << 8 | number;
}

/// Tables of `name, type << 8 | nr, …` (AMD) and of `nr, name, …` (Qualcomm).
void add_amd(std::vector<KnownCall>& out, std::string_view table) {
  for (const decode::Row& row : decode::rows(decode::embedded_table(table))) {
    const auto number = static_cast<std::uint32_t>(row.number(1));
    const char* path = number >> 8 == 'K' ? kKfd : kAmdgpu;  // a table holds both
    const std::uint32_t request = request_of(number >> 8, number & 0xff, out.size());
    out.push_back({path, request, 0, {std::string(row[0])}});
  }
}

void add_qcom(std::vector<KnownCall>& out, const char* path, std::string_view table,
              std::uint32_t type) {
  for (const decode::Row& row : decode::rows(decode::embedded_table(table))) {
    const auto number = static_cast<std::uint32_t>(row.number(0));
    const std::uint32_t request = request_of(type, number, out.size());
    out.push_back({path, request, 0, {std::string(row[1])}});
  }
}

void add_nvidia(std::vector<KnownCall>& out) {
  std::map<std::pair<std::string, std::uint64_t>, std::vector<std::string>> names;
  for (const decode::Row& row : decode::rows(decode::embedded_table("nv_names")))
    names[{std::string(row[0]), row.number(1)}].emplace_back(row[2]);
  for (const auto& [key, its_names] : names) {
    const auto number = static_cast<std::uint32_t>(key.second);
    constexpr std::string_view kPrefix = "NV_ESC_";  // left out in decoded lines
    if (key.first == "escape" && its_names[0].starts_with(kPrefix))
      out.push_back({kNvidiaCtl,
                     request_of('F', number, out.size()),
                     0,
                     {its_names[0].substr(kPrefix.size())}});
    if (key.first == "uvm" && its_names[0].starts_with("UVM_"))
      out.push_back({kUvm, number, 0, its_names});
    if (key.first == "control") out.push_back({kNvidiaCtl, kRmControl, number, its_names});
    if (key.first == "class") out.push_back({kNvidiaCtl, kRmAlloc, number, its_names});
  }
}

}  // namespace

void mount_fake_devices(Answers answers) {
  auto tree = std::make_shared<interpose::Tree>();
  unsigned minor = 0;
  for (const char* path : {kKfd, kAmdgpu, kMsm, kNvidiaCtl, "/dev/nvidia0", kUvm, kKgsl})
    tree->add_device(path, makedev(240, minor++), [answers](const interpose::OpenRequest& request) {
      return interpose::Opened{make_device(request.path, answers), 0};
    });
  for (const char* prefix : {"/dev/kfd", "/dev/dri", "/dev/nvidia*", "/dev/kgsl-3d0"})
    interpose::mount(prefix, tree);
}

std::vector<KnownCall> known_calls() {
  std::vector<KnownCall> out;
  add_amd(out, "kfd_calls");
  add_amd(out, "drm_calls");
  // What only msm has comes first: it tells whose node this is.
  out.push_back({kMsm, 0xc0186440, 0, {"GET_PARAM"}});
  add_qcom(out, kMsm, "msm_calls", 'd');
  add_qcom(out, kKgsl, "kgsl_calls", 9);
  add_nvidia(out);
  return out;
}

}  // namespace tiny::test
