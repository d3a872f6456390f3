// SPDX-License-Identifier: MIT
// A device and a tree for tests of the interposer.
#pragma once

#include "models/interpose/interpose.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <stdexcept>

namespace tiny::test {

struct AddCall {
  std::uint32_t a, b, sum;
};
constexpr unsigned long kAdd = _IOWR('T', 1, AddCall);
constexpr unsigned long kReenter = _IO('T', 2);  ///< the handler opens its own path, and others
constexpr unsigned long kThrow = _IO('T', 3);
constexpr unsigned long kRefuse = _IO('T', 4);
/// makedev(234, 7), as a constant: a preload library is asked before its constructors run.
constexpr dev_t kNumber = 234 << 8 | 7;

/// What happened to the devices of a tree.
struct Log {
  std::atomic<int> opened = 0, released = 0, flushed = 0, forked = 0, ioctls = 0, reentered = 0;
  std::mutex lock;
  std::vector<interpose::MappedPart> unmapped;
};

/// Reads give the offset's low byte; one page of shared memory; adds two numbers.
class AddDevice : public interpose::File {
 public:
  AddDevice(Log& log, bool waits) : log_(log), wait_fd_(waits ? ::eventfd(0, EFD_NONBLOCK) : -1) {
    ++log_.opened;
    memory_ = ::memfd_create("test", 0);
    if (::ftruncate(memory_, 4 * 4096) != 0) throw std::runtime_error("ftruncate");
  }
  ~AddDevice() override {
    ::close(memory_);
    if (wait_fd_ >= 0) ::close(wait_fd_);
  }

  interpose::Result ioctl(unsigned long request, void* argument) override {
    ++log_.ioctls;
    if (request == kAdd) {
      auto& call = *static_cast<AddCall*>(argument);
      call.sum = call.a + call.b;
      return 0;
    }
    if (request == kReenter) return reenter();
    if (request == kThrow) throw std::runtime_error("this test's device throws");
    return request == kRefuse ? -EPERM : -ENOTTY;
  }
  interpose::Result read(std::span<std::byte> into, std::uint64_t offset_B) override {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::byte(offset_B + i);
    return interpose::Result(into.size());
  }
  interpose::Result write(std::span<const std::byte> from, std::uint64_t) override {
    ready_ = true;
    if (wait_fd_ >= 0) ::eventfd_write(wait_fd_, 1);
    return interpose::Result(from.size());
  }
  interpose::Result map(const interpose::MapRequest& request) override {
    void* const at = ::mmap(request.address, request.length_B, request.prot, request.flags, memory_,
                            off_t(request.offset_B));
    return at == MAP_FAILED ? -errno : interpose::Result(reinterpret_cast<std::uintptr_t>(at));
  }
  void unmapped(const interpose::MappedPart& part) override {
    const std::lock_guard lock(log_.lock);
    log_.unmapped.push_back(part);
  }
  short poll(short events) override { return ready_ ? short(events & POLLIN) : short(0); }
  int wait_fd() override { return wait_fd_; }
  void flush() override { ++log_.flushed; }
  void release() override { ++log_.released; }
  void forked_child() override { ++log_.forked; }

 private:
  /// Inside a handler the mounts are invisible: what is opened is the real path, which is not
  /// there.
  interpose::Result reenter();

  Log& log_;
  std::atomic<bool> ready_ = false;
  int wait_fd_ = -1;
  int memory_ = -1;
};

/// /tiny_served: files, links and devices, none of which the real file system has.
inline std::shared_ptr<interpose::Tree> make_tree(Log& log, std::string& written) {
  auto tree = std::make_shared<interpose::Tree>();
  tree->add_file("/tiny_served/sys/name", "gfx1100\n");
  tree->add_file("/tiny_served/sys/empty", "");
  tree->add_file("/tiny_served/sys/big", [] { return std::string(100'000, 'x'); });
  tree->add_file(
      "/tiny_served/sys/level", [] { return std::string("auto\n"); }, 0644,
      [&written](std::string_view text) {
        if (text.starts_with("bad")) return interpose::Result(-EINVAL);
        written += text;
        return interpose::Result(text.size());
      });
  tree->add_directory("/tiny_served/sys/nothing");
  tree->add_link("/tiny_served/link", "sys/name");
  tree->add_link("/tiny_served/folder", "sys");
  tree->add_link("/tiny_served/out", "/proc/self/status");
  tree->add_link("/tiny_served/loop", "loop");
  const auto open = [&log](bool waits) {
    return [&log, waits](const interpose::OpenRequest&) {
      return interpose::Opened{std::make_shared<AddDevice>(log, waits), 0};
    };
  };
  tree->add_device("/tiny_served/dev/add", kNumber, open(false));
  tree->add_device("/tiny_served/dev/waits", kNumber + 1, open(true));
  tree->add_device("/tiny_served/dev/busy", kNumber + 2,
                   [](const interpose::OpenRequest&) { return interpose::Opened{nullptr, EBUSY}; });
  return tree;
}

inline interpose::Result AddDevice::reenter() {
  if (::open("/tiny_served/dev/add", 0) >= 0) return -EEXIST;
  const int fd = ::open("/dev/null", 0);
  if (fd < 0) return -errno;
  ++log_.reentered;
  return ::close(fd);
}

/// Mounted while it lives.
struct Served {
  Log log;
  std::string written;
  std::shared_ptr<interpose::Tree> tree = make_tree(log, written);

  Served() { interpose::mount("/tiny_served", tree); }
  ~Served() { interpose::unmount("/tiny_served"); }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
};

}  // namespace tiny::test
