// SPDX-License-Identifier: MIT
// What a launch costs the host, a line a device and operation: `device operation instructions ns`.
//   amd-host [--check] [DEVICE…]   DEVICE: NULL:amd:gfx1100, MODEL (the driver on the device model,
//                                  whose packet processors rest meanwhile), CPU
//   --check   also fails where an AMD launch takes more instructions than it may
// submit   a recorded list of one kernel, two buffers bound: what an operation on tensors queues
// record   the same list made, recorded, encoded and submitted
// replay   a graph of 1000 kernels with two changed addresses each; by kernel
//
// Instructions are those of the calling thread: counted by callgrind in a child process, else by
// the processor's counter; where neither can be had the column says so. Times are the best of some
// runs.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/device.h>
#include <rt_tiny/runtime/graph.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#ifdef TINY_BENCH_MODEL
#include "models/amd/model.h"
#endif

using namespace tiny;

namespace {

constexpr size_t kGraphKernels = 1000;
constexpr uint32_t kCount = 64;
constexpr double kMaxSubmit = 1500, kMaxReplay = 60;  // instructions

#ifdef TINY_BENCH_MODEL
models::amd::Model& model() {
  static auto* const m = new models::amd::Model([] {
    models::amd::Options o;
    o.target = "gfx1100";
    o.shaders = false;  // kernels end without having run
    return o;
  }());
  return *m;
}
#endif

/// Opens the device a name on the command line stands for.
std::shared_ptr<Device> open_place(const std::string& place) {
  if (place != "MODEL") return open_device(place);
#ifdef TINY_BENCH_MODEL
  model();
  return open_device("AMD:0");
#else
  throw UsageError("[amd-host] built without the device model (it needs LLVM's static libraries)");
#endif
}

void rest([[maybe_unused]] const std::string& place, [[maybe_unused]] bool resting) {
#ifdef TINY_BENCH_MODEL
  if (place == "MODEL") model().pause(0, resting);
#endif
}

/// saxpy in machine code, as in examples/raw_kernel: no compiler takes part.
std::shared_ptr<Program> kernel_of(const std::shared_ptr<Device>& device) {
  const bool amd = device->target().triple.starts_with("amdgcn");
  return device->load(read_file(amd ? TINY_BENCH_AMD_OBJECT : TINY_BENCH_CPU_OBJECT), "saxpy");
}

struct Work {
  std::shared_ptr<Device> device;
  std::shared_ptr<Program> program;
  std::vector<Buffer> bound;
  CommandList one;
  Graph graph;

  explicit Work(std::shared_ptr<Device> d)
      : device(std::move(d)),
        program(kernel_of(device)),
        bound{device->alloc(kCount * 4), device->alloc(kCount * 4)},
        one(recorded(1)),
        graph(device, recorded(kGraphKernels)) {}

  template <class Memory>
  void dispatch(CommandList& list, const Memory& x, const Memory& y) const {
    list.dispatch(program, {.groups = {1}, .group_size = {kCount}}, args(x, y, 3.0f, kCount));
  }

 private:
  CommandList recorded(size_t kernels) const {
    CommandList list = device->make_list();
    for (size_t i = 0; i < kernels; ++i) dispatch(list, Symbol::buffer(0), Symbol::buffer(1));
    return list;
  }
};

void submit(Work& work) { work.device->submit(work.one, {.buffers = work.bound}); }
void record(Work& work) {
  CommandList list = work.device->make_list();
  work.dispatch(list, work.bound[0], work.bound[1]);
  work.device->submit(list);
}
void replay(Work& work) { work.graph.replay({.buffers = work.bound}); }

struct Operation {
  const char* name;
  void (*run)(Work&);
  int batch;  ///< so many fit into rings and graph memory while the processors rest
  size_t kernels;
  std::optional<double> max = {};  ///< instructions, on AMD
};
constexpr Operation kOperations[] = {
    {"submit", submit, 500, 1, kMaxSubmit},
    {"record", record, 500, 1},
    {"replay", replay, 2, kGraphKernels, kMaxReplay},
};

void run_batch(Work& work, const Operation& operation) {
  for (int i = 0; i < operation.batch; ++i) operation.run(work);
}

}  // namespace

/// Callgrind counts inside of it.
extern "C" [[gnu::noinline]] void amd_host_measured(Work& work, const Operation& operation) {
  run_batch(work, operation);
}

namespace {

/// User-mode instructions of this thread by the processor's own counter.
class Counter {
 public:
  Counter() {
    perf_event_attr what{};
    what.size = sizeof what;
    what.type = PERF_TYPE_HARDWARE;
    what.config = PERF_COUNT_HW_INSTRUCTIONS;
    what.exclude_kernel = what.exclude_hv = 1;
    fd_ = Fd(static_cast<int>(::syscall(SYS_perf_event_open, &what, 0, -1, -1, 0)));
  }
  bool works() const { return read() > 0; }
  uint64_t read() const {
    uint64_t value = 0;
    return fd_ && ::read(fd_.get(), &value, sizeof value) == sizeof value ? value : 0;
  }

 private:
  Fd fd_;
};

struct Measured {
  double ns = 0;
  std::optional<double> instructions = {};
};

constexpr int kWarm = 8, kRounds = 5;  // rings have wrapped, nothing grows any more

/// Rounds of a batch, the first ones unmeasured. Work is done between them, so that what it leaves
/// to the next submissions (rooms to collect, lists to let go) is counted too.
Measured measure(const std::string& place, Work& work, const Operation& operation) {
  using Clock = std::chrono::steady_clock;
  const Counter counter;
  const double per = 1.0 / (static_cast<double>(operation.kernels) * operation.batch);
  Measured best{1e18};
  for (int round = 0; round < kWarm + kRounds; ++round) {
    rest(place, true);
    const uint64_t before = counter.read();
    const auto start = Clock::now();
    round < kWarm ? run_batch(work, operation) : amd_host_measured(work, operation);
    const std::chrono::duration<double, std::nano> took = Clock::now() - start;
    const uint64_t after = counter.read();
    rest(place, false);
    work.device->synchronize();
    if (round < kWarm) continue;
    best.ns = std::min(best.ns, took.count() * per);
    if (counter.works())
      best.instructions =
          std::min(best.instructions.value_or(1e18), static_cast<double>(after - before) * per);
  }
  return best;
}

int run_child(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  int status = -1;
  if (error || ::waitpid(pid, &status, 0) < 0) return -1;
  return status;
}

/// Callgrind's own sum, of a child that does the same; nothing where there is no callgrind.
std::optional<double> count_by_callgrind(const std::string& place, const Operation& operation) {
  static const bool installed = run_child({"valgrind", "--version"}) == 0;
  if (!installed) return std::nullopt;
  const std::string out =
      std::filesystem::temp_directory_path() / fmt::format("amd-host.{}.out", ::getpid());
  const int status =
      run_child({"valgrind", "--tool=callgrind", "--callgrind-out-file=" + out,
                 "--toggle-collect=amd_host_measured",
                 std::filesystem::read_symlink("/proc/self/exe"), "--one", place, operation.name});
  if (status != 0) {
    fmt::print(stderr, "amd-host: {} {} under callgrind: status {:#x}\n", place, operation.name,
               status);
    return std::nullopt;
  }
  const std::vector<uint8_t> bytes = read_file(out);
  std::filesystem::remove(out);
  const std::string text(bytes.begin(), bytes.end());
  constexpr std::string_view kTotals = "\ntotals: ";
  const size_t at = text.find(kTotals);
  if (at == std::string::npos) return std::nullopt;
  const double total = std::strtod(text.c_str() + at + kTotals.size(), nullptr);
  return total / (static_cast<double>(operation.kernels) * operation.batch * kRounds);
}

struct Options {
  bool check = false;
  std::string one;  ///< the operation a child runs
  std::vector<std::string> places;
};

Options parse(int argc, char** argv) {
  Options options;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--check")
      options.check = true;
    else if (words[i] == "--one" && i + 2 < words.size())
      options.places = {words[i + 1]}, options.one = words[i + 2], i += 2;
    else if (words[i].starts_with("-"))
      throw UsageError(fmt::format(
          "unknown argument \"{}\"; usage: amd-host [--check] [NULL:amd:gfx1100|MODEL|CPU]…",
          words[i]));
    else
      options.places.push_back(words[i]);
  }
  if (options.places.empty() && !knobs().dev.empty()) options.places = {knobs().dev};
  if (options.places.empty()) {
    options.places = {"NULL:amd:gfx1100", "MODEL", "CPU"};
#ifndef TINY_BENCH_MODEL
    options.places.erase(options.places.begin() + 1);
    fmt::print(stderr, "amd-host: built without the device model: no line for it\n");
#endif
  }
  return options;
}

/// One line; false where there is a limit and it is passed.
bool report(const std::string& place, Work& work, const Operation& operation) {
  Measured m = measure(place, work, operation);
  const auto counted = count_by_callgrind(place, operation);
  if (counted) m.instructions = counted;
  const std::string count =
      m.instructions ? fmt::format("{:.0f}", *m.instructions) : "neither callgrind nor a counter";
  fmt::print("{:18} {:8} {:>12} {:>10.1f}\n", place, operation.name, count, m.ns);
  std::fflush(stdout);
  const bool limited = operation.max && place != "CPU";
  if (!limited || (m.instructions && *m.instructions <= *operation.max)) return true;
  fmt::print(stderr, "amd-host: {} {}: {} instructions, at most {} are good\n", place,
             operation.name, count, *operation.max);
  return false;
}

int run(const Options& options) {
  if (options.one.empty())
    fmt::print("{:18} {:8} {:>12} {:>10}\n", "device", "what", "instructions", "ns");
  bool good = true;
  for (const std::string& place : options.places) {
    Work work(open_place(place));
    for (const Operation& operation : kOperations) {
      if (options.one.empty())
        good = report(place, work, operation) && good;
      else if (options.one == operation.name)
        measure(place, work, operation);
    }
  }
  return options.check && !good ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& e) {
    fmt::print(stderr, "amd-host: {}\n", e.what());
    return dynamic_cast<const UsageError*>(&e) ? 2 : 1;
  }
}
