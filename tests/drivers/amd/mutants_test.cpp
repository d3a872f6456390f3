// SPDX-License-Identifier: MIT
// Mutants of the driver: each packet that waits, acquires, releases, flushes or fences is taken out
// between ring and chip, then each of its cache bits alone. The model must tell, every time.
#include <catch2/catch.hpp>

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/knobs.h>
#include <rt_tiny/runtime/graph.h>

#include "tests/drivers/amd/model_harness.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

using namespace model_test;

model::Model& model_test::machine() {
  static auto* const m = new model::Model([] {
    model::Options o;
    o.target = TINY_AMD_TARGET;
    o.print = false;
    return o;
  }());
  return *m;
}

namespace {

// ---- what is taken out

struct Bit {
  const char* name;
  unsigned dword;
  uint32_t mask;
};

/// A kind of packet of the driver's at one place of its code; bits: cache controls that it sets.
struct Site {
  std::string name;
  std::vector<Bit> bits;
};

enum Pm4 : unsigned { kNop = 0x10, kWait = 0x3c, kEvent = 0x46, kRelease = 0x49, kAcquire = 0x58 };
enum Sdma : unsigned { kFence = 5, kTrap = 6, kPoll = 8, kGcr = 17 };

const std::vector<Bit> kAcquireBits{
    {"GLI_INV", 7, 3},       {"GLM_WB", 7, 1 << 4},  {"GLM_INV", 7, 1 << 5},
    {"GLK_WB", 7, 1 << 6},   {"GLK_INV", 7, 1 << 7}, {"GLV_INV", 7, 1 << 8},
    {"GL1_INV", 7, 1 << 9},  {"GL2_US", 7, 1 << 10}, {"GL2_DISCARD", 7, 1 << 13},
    {"GL2_INV", 7, 1 << 14}, {"GL2_WB", 7, 1 << 15}};
const std::vector<Bit> kReleaseBits{{"GLM_WB", 1, 1 << 12},  {"GLM_INV", 1, 1 << 13},
                                    {"GLV_INV", 1, 1 << 14}, {"GL1_INV", 1, 1 << 15},
                                    {"GL2_INV", 1, 1 << 20}, {"GL2_WB", 1, 1 << 21}};
const std::vector<Bit> kGcrBits{
    {"GLI_INV", 2, 3u << 16}, {"GLM_WB", 2, 1u << 20},  {"GLM_INV", 2, 1u << 21},
    {"GLK_WB", 2, 1u << 22},  {"GLK_INV", 2, 1u << 23}, {"GLV_INV", 2, 1u << 24},
    {"GL1_INV", 2, 1u << 25}, {"GL2_US", 2, 1u << 26},  {"GL2_DISCARD", 2, 1u << 29},
    {"GL2_INV", 2, 1u << 30}, {"GL2_WB", 2, 1u << 31}};

std::vector<Bit> set_bits(const std::vector<Bit>& all, std::span<const uint32_t> packet) {
  std::vector<Bit> out;
  for (const Bit& b : all)
    if (packet[b.dword] & b.mask) out.push_back(b);
  return out;
}

/// Words of a queue's control page, by their offset in it.
std::string word_name(uint64_t address, uint64_t value) {
  const uint64_t offset_B = address & 0xfff;
  if (value != 0 && offset_B == 8 * value) return "mailbox";
  switch (offset_B) {
    case 0:
      return "timeline";
    case 4:
      return "timeline's high half";
    case 64:
      return "gate";
    case 128:
      return "post";
    case 192:
      return "order";
  }
  return "";
}

uint64_t address_at(std::span<const uint32_t> packet, size_t dword) {
  return packet[dword] | uint64_t(packet[dword + 1]) << 32;
}

/// Follows each queue's packets and gives those that synchronise a name.
class Classifier {
 public:
  std::optional<Site> look(const model::PacketSite& at, std::span<const uint32_t> packet) {
    std::string& before = last_[at.queue_id];
    auto site = at.sdma ? copy(packet, before) : compute(packet, before);
    if (!site) {
      const bool nothing = at.sdma ? (packet[0] & 0xff) == 0 : (packet[0] >> 8 & 0xff) == kNop;
      if (!nothing) before = "";
      return std::nullopt;
    }
    before = site->name;
    site->name = fmt::format("{} {}: {}", at.sdma ? "copy" : "compute",
                             at.indirect ? "list" : "submission", site->name);
    return site;
  }

 private:
  static std::optional<Site> compute(std::span<const uint32_t> p, const std::string& before) {
    switch (p[0] >> 8 & 0xff) {
      case kWait:
        return Site{"wait for " + word_name(address_at(p, 2), 0), {}};
      case kEvent:
        return Site{"CS_PARTIAL_FLUSH", {}};
      case kAcquire:
        return Site{"acquire after " + before, set_bits(kAcquireBits, p)};
      case kRelease: {
        if (p[2] >> 29 >= 3) return std::nullopt;  // a clock: data
        return Site{"release of " + word_name(address_at(p, 3), p[5]), set_bits(kReleaseBits, p)};
      }
    }
    return std::nullopt;
  }

  static std::optional<Site> copy(std::span<const uint32_t> p, const std::string& before) {
    switch (p[0] & 0xff) {
      case kFence:
        return Site{"fence of " + word_name(address_at(p, 1), p[3]), {}};
      case kTrap:
        return Site{"trap", {}};
      case kPoll:
        return Site{"poll of " + word_name(address_at(p, 1), 0), {}};
      case kGcr: {
        const bool acquire = p[2] & 1u << 30;
        return Site{acquire ? "GCR after " + before : "GCR write-back", set_bits(kGcrBits, p)};
      }
    }
    return std::nullopt;
  }

  std::map<uint32_t, std::string> last_;
};

/// Takes the packet out, or some of its bits.
struct Mutant {
  std::string site;
  std::optional<Bit> bit;
  std::string name() const { return site + (bit ? fmt::format(", {}", bit->name) : ""); }
};

void take_out(bool sdma, std::span<uint32_t> packet) {
  const auto count = uint32_t(packet.size());
  packet[0] = sdma ? (count - 1) << 16 : 3u << 30 | (count - 2) << 16 | kNop << 8;
}

class Watch {
 public:
  explicit Watch(std::optional<Mutant> mutant) : mutant_(std::move(mutant)) {
    machine().clear_reports();
    interrupts_before_ = machine().stats().interrupts;
    machine().tamper(
        [this](const model::PacketSite& at, std::span<uint32_t> packet) { on_packet(at, packet); });
  }
  ~Watch() {
    machine().tamper({});
    machine().pause(0, false);
  }
  /// Interrupts that did not come.
  uint64_t missing_interrupts() const {
    // Before our lock: the machine calls us with its own held.
    const uint64_t came = machine().stats().interrupts - interrupts_before_;
    const std::lock_guard lock(mutex_);
    return submissions_ > came ? submissions_ - came : 0;
  }
  std::map<std::string, Site> sites() const {
    const std::lock_guard lock(mutex_);
    return sites_;
  }

 private:
  void on_packet(const model::PacketSite& at, std::span<uint32_t> packet) {
    const std::lock_guard lock(mutex_);
    const auto site = classifier_.look(at, packet);
    if (!site) return;
    auto& known = sites_.try_emplace(site->name, Site{site->name, {}}).first->second;
    for (const Bit& bit : site->bits)
      if (std::none_of(known.bits.begin(), known.bits.end(),
                       [&](const Bit& b) { return b.name == std::string(bit.name); }))
        known.bits.push_back(bit);
    submissions_ += site->name.find("submission: release of timeline") != std::string::npos ||
                    site->name.ends_with("submission: fence of timeline");
    if (!mutant_ || mutant_->site != site->name) return;
    if (mutant_->bit)
      packet[mutant_->bit->dword] &= ~mutant_->bit->mask;
    else
      take_out(at.sdma, packet);
  }

  const std::optional<Mutant> mutant_;
  mutable std::mutex mutex_;
  Classifier classifier_;
  std::map<std::string, Site> sites_;
  uint64_t interrupts_before_ = 0, submissions_ = 0;
};

// ---- work whose every wait, acquire and release counts

constexpr size_t kInts = 700;
constexpr uint64_t kPatience_ns = 2'000'000'000;

struct Problem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Work {
 public:
  explicit Work(std::shared_ptr<Device> dev) : dev_(std::move(dev)) {
    scale_ = dev_->load(kernel("scale", 2, 2));
    increment_ = dev_->load(kernel("increment", 1, 1));
    add_first_ = dev_->load(kernel("add_first", 2, 1));
  }

  /// Opens the gates that a mutant left closed.
  ~Work() {
    for (const auto& gate : gates_) gate->signal(1);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void run() {
    chain();
    scalars();
    beside_clocks();
    gate(false);
    gate(true);
    gate_and_host(false);
    gate_and_host(true);
    stamps();
    stamps_for_the_next();
    copies();
    crossing();
    host_memory();
    copy_gate(false);
    copy_gate(true);
    new_code();
  }

 private:
  using Ints = std::vector<int32_t>;

  Buffer filled(int32_t first = 0) { return ints(dev_, iota(kInts, first)); }
  std::shared_ptr<Timeline> make_gate(std::string name) {
    gates_.push_back(dev_->make_timeline(std::move(name)));
    return gates_.back();
  }
  Buffer visible() { return dev_->alloc(kInts * 4, {.tag = "visible", .host_visible = true}); }
  static void want(const std::string& what, const Ints& got, const Ints& expected) {
    if (got != expected) throw Problem(what + ": wrong values");
  }
  static void reach(const std::shared_ptr<Timeline>& timeline, uint64_t value) {
    if (!timeline->wait_for(value, kPatience_ns))
      throw Problem(timeline->name() + ": never reached");
  }
  /// What is submitted meanwhile is in flight together.
  template <class Act>
  static void together(Act act) {
    machine().pause(0, true);
    act();
    machine().pause(0, false);
  }
  /// Goes on when kernels that `act` submits have run, whatever they wait for then.
  template <class Act>
  static void after_waves(Act act) {
    const uint64_t before = machine().stats().waves;
    act();
    for (int i = 0; i < 2000 && machine().stats().waves == before; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  static Ints scaled(Ints v, int64_t factor) {
    for (size_t i = 0; i < v.size(); ++i)
      v[i] = static_cast<int32_t>(v[i] * factor + static_cast<int64_t>(i));
    return v;
  }
  static Ints plus(Ints v, int32_t n) {
    for (int32_t& x : v) x += n;
    return v;
  }

  /// Dispatches that need each other, in a graph and across its replays.
  void chain() {
    Buffer in = filled(), mid = filled(), out = filled();
    auto list = dev_->make_list();
    list.dispatch(scale_, args(mid, in, Symbol::variable(0), kInts));
    list.dispatch(increment_, args(mid, kInts));
    list.dispatch(scale_, args(out, mid, 1, kInts));
    list.dispatch(increment_, args(in, kInts));
    Graph graph(dev_, list);
    for (int32_t i = 0; i < 4; i += 2) {
      Fence done;
      together([&] {
        for (int64_t j = i; j < i + 2; ++j) {
          const int64_t variables[] = {j};
          done = graph.replay({.variables = variables});
        }
      });
      done.wait();
      Ints last = plus(scaled(iota(kInts, i + 1), i + 1), 1);
      want("a chain", out.read<int32_t>(), scaled(last, 1));
    }
  }

  /// Data that goes through the scalar cache, read before and after it changes.
  void scalars() {
    Buffer x = filled(), y = filled();
    auto list = dev_->make_list();
    list.dispatch(add_first_, args(y, x, kInts));
    list.dispatch(increment_, args(x, kInts));
    list.dispatch(add_first_, args(y, x, kInts));
    Graph(dev_, list).replay().wait();
    want("scalars", y.read<int32_t>(), iota(kInts, 1));
  }

  /// Signals and clocks order nothing behind them: dispatches that need each other still wait.
  void beside_clocks() {
    Buffer a = filled(), sums = filled(), clock = dev_->alloc(64);
    auto reached = dev_->make_timeline("reached");
    auto list = dev_->make_list();
    list.dispatch(increment_, args(a, kInts));
    list.timestamp(clock.slice(0, 8));
    list.dispatch(add_first_, args(sums, a, kInts));
    list.dispatch(increment_, args(a, kInts));
    list.timestamp(clock.slice(8, 8));
    list.dispatch(add_first_, args(sums, a, kInts));
    list.signal(Fence(reached, 1));
    list.dispatch(increment_, args(a, kInts));
    Graph(dev_, list).replay().wait();
    reach(reached, 1);
    want("a chain with clocks", a.read<int32_t>(), iota(kInts, 3));
    want("a chain with clocks", sums.read<int32_t>(), iota(kInts, 3));
  }

  /// A wait for the host in the middle, with stores before it that are still in GL2.
  void gate(bool beside) {
    Buffer a = filled(), b = filled(), c = filled();
    auto gate = make_gate("gate");
    auto list = dev_->make_list();
    list.dispatch(increment_, args(a, kInts));
    list.wait(Fence(gate, 1));
    list.dispatch(scale_, args(b, a, 1, kInts));
    Graph graph(dev_, list);
    Fence done;
    after_waves([&] { done = graph.replay(); });
    if (beside) c.read<int32_t>();  // a copy engine or another queue runs
    if (done.done()) throw Problem("a gate: passed before it opened");
    gate->signal(1);
    done.wait();
    want("a gate", b.read<int32_t>(), scaled(iota(kInts, 1), 1));
  }

  /// The host changes what a kernel reads before and after the wait, through the vector or the
  /// scalar cache.
  void gate_and_host(bool scalar) {
    Buffer in = visible(), out = filled();
    in.write(iota(kInts, 1));
    auto* const host = static_cast<int32_t*>(in.host_pointer());
    auto gate = make_gate("gate"), reached = dev_->make_timeline("reached");
    auto list = dev_->make_list();
    const auto read = [&] {
      if (scalar)
        list.dispatch(add_first_, args(out, in, kInts));
      else
        list.dispatch(scale_, args(out, in, 1, kInts));
    };
    read();
    list.signal(Fence(reached, 1));
    list.wait(Fence(gate, 1));
    read();
    Graph graph(dev_, list);
    const Fence done = graph.replay();
    reach(reached, 1);
    if (done.done()) throw Problem("a gate: passed before it opened");
    for (size_t i = 0; i < kInts; ++i) host[i] = static_cast<int32_t>(i) + 10;
    gate->signal(1);
    done.wait();
    want("a gate and the host", out.read<int32_t>(),
         scalar ? iota(kInts, 11) : scaled(iota(kInts, 10), 1));
  }

  /// A clock that a kernel reads.
  void stamps() {
    Buffer clock = dev_->alloc(64), out = dev_->alloc(64);
    auto list = dev_->make_list();
    list.timestamp(clock.slice(0, 8));
    list.dispatch(scale_, args(out, clock, 1, 2));
    Graph graph(dev_, list);
    graph.replay().wait();
    Ints first = clock.read<int32_t>();
    first.resize(2);
    Ints got = out.read<int32_t>();
    got.resize(2);
    want("a clock", got, scaled(first, 1));
  }

  void stamps_for_the_next() {
    Buffer clock = dev_->alloc(64), out = dev_->alloc(64);
    auto first = dev_->make_list(), second = dev_->make_list();
    first.timestamp(clock.slice(0, 8));
    second.dispatch(scale_, args(out, clock, 1, 2));
    Graph graph(dev_, first);
    Fence done;
    together([&] {
      graph.replay();
      done = dev_->submit(second);
    });
    done.wait();
  }

  /// Copies that need each other.
  void copies() {
    Buffer a = filled(3), b = filled(), c = filled(), d = filled();
    auto list = dev_->make_list();
    list.copy(b, a);
    list.copy(c, b);
    Graph graph(dev_, list);
    auto next = dev_->make_list();
    next.copy(d, c);
    Fence done;
    together([&] {
      graph.replay();
      done = dev_->submit(next);
    });
    done.wait();
    want("copies", d.read<int32_t>(), iota(kInts, 3));
  }

  /// Kernels and copies that need each other, on two queues where there are two.
  void crossing() {
    Buffer a = filled(), b = filled(), c = filled();
    auto first = dev_->make_list(), second = dev_->make_list(), third = dev_->make_list();
    first.dispatch(increment_, args(a, kInts));
    second.copy(b, a);
    third.dispatch(scale_, args(c, b, 2, kInts));
    third.dispatch(increment_, args(a, kInts));
    Fence done;
    together([&] {
      dev_->submit(first);
      dev_->submit(second);
      done = dev_->submit(third);
    });
    done.wait();
    want("crossing", c.read<int32_t>(), scaled(iota(kInts, 1), 2));
  }

  /// Memory that the host changes between submissions.
  void host_memory() {
    Buffer in = visible(), out = visible(), copy = visible();
    auto list = dev_->make_list(), moves = dev_->make_list();
    list.dispatch(scale_, args(out, in, 1, kInts));
    moves.copy(copy, in);
    for (int32_t i = 0; i < 3; ++i) {
      in.write(iota(kInts, i));
      dev_->submit(list).wait();
      want("host memory, kernel", out.read<int32_t>(), scaled(iota(kInts, i), 1));
      in.write(iota(kInts, 50 + i));
      dev_->submit(moves).wait();
      want("host memory, copy", copy.read<int32_t>(), iota(kInts, 50 + i));
    }
  }

  /// Copies around a wait for the host, which changes what is copied; or beside a kernel whose
  /// stores are in GL2.
  void copy_gate(bool dirty_beside) {
    Buffer from = visible(), early = visible(), late = visible();
    auto* const host = static_cast<int32_t*>(from.host_pointer());
    const Ints before = iota(kInts, 7), after = iota(kInts, 8);
    from.write(before);
    auto gate = make_gate("gate"), reached = dev_->make_timeline("reached");
    auto end = make_gate("end");
    Buffer dirty = filled();
    auto beside = dev_->make_list(), list = dev_->make_list();
    beside.dispatch(increment_, args(dirty, kInts));  // its stores stay in GL2
    beside.wait(Fence(end, 1));
    beside.dispatch(increment_, args(dirty, kInts));
    list.copy(early, from);
    list.signal(Fence(reached, 1));
    list.wait(Fence(gate, 1));
    list.copy(late, from);
    Graph graph(dev_, list);
    const Fence done = graph.replay();
    reach(reached, 1);
    if (done.done()) throw Problem("a gate of copies: passed before it opened");
    Graph other(dev_, beside);
    const bool two_queues = dev_->description().find("by kernel") == std::string::npos;
    if (dirty_beside && two_queues) after_waves([&] { other.replay(); });
    std::copy(after.begin(), after.end(), host);
    gate->signal(1);
    done.wait();
    end->signal(1);
    dirty.wait();
    want("a gate of copies", early.read<int32_t>(), before);
    want("a gate of copies", late.read<int32_t>(), after);
  }

  /// Code at addresses where other code was.
  void new_code() {
    Buffer x = filled();
    for (const uint32_t addend : {1u, 2u, 3u, 1u, 2u, 3u}) {
      auto list = dev_->make_list();
      list.dispatch(dev_->load(adder(addend)), args(x, kInts));
      dev_->submit(list).wait();
    }
    want("new code", x.read<int32_t>(), iota(kInts, 12));
  }

  /// `increment` with another inline constant in its v_add_nc_u32.
  static Binary adder(uint32_t addend) {
    constexpr uint32_t kAdd = 0x4a000080, kMask = 0xfe0001ff;
    Binary b = kernel("increment", 1, 1);
    for (size_t at = 0; at + 4 <= b.code.size(); at += 4) {
      uint32_t word = 0;
      std::memcpy(&word, b.code.data() + at, 4);
      if ((word & kMask) != (kAdd | 1)) continue;
      word = (word & ~0x1ffu) | 0x80 | addend;
      std::memcpy(b.code.data() + at, &word, 4);
    }
    return b;
  }

  std::shared_ptr<Device> dev_;
  std::vector<std::shared_ptr<Timeline>> gates_;
  std::shared_ptr<Program> scale_, increment_, add_first_;
};

struct Outcome {
  std::string seen;  ///< what told of it; "": nothing did
  std::map<std::string, Site> sites;
};

Outcome run(std::optional<Mutant> mutant) {
  Outcome out;
  auto dev = open_device("AMD");
  Watch watch(std::move(mutant));
  std::string problem;
  try {
    Work(dev).run();
    dev->synchronize();
  } catch (const DeviceFault& fault) {
    problem = fault.what();
  } catch (const Problem& wrong) {
    problem = wrong.what();
  }
  machine().pause(0, false);
  const uint64_t missing = watch.missing_interrupts();
  dev.reset();
  const auto reports = machine().reports();
  if (!reports.empty())
    out.seen = fmt::format("{}: {}", model::kind_name(reports[0].kind), reports[0].text);
  else if (!problem.empty())
    out.seen = problem.substr(0, problem.find('\n'));
  else if (missing)
    out.seen = fmt::format("{} interrupts are missing", missing);
  out.sites = watch.sites();
  return out;
}

std::vector<Mutant> mutants_of(const std::map<std::string, Site>& sites) {
  std::vector<Mutant> out;
  for (const auto& [name, site] : sites) {
    out.push_back({name, {}});
    for (const Bit& bit : site.bits) out.push_back({name, bit});
  }
  return out;
}

constexpr const char* kModes[] = {"hang=1", "nosdma,hang=1"};  // copies by the engine, by kernel

Outcome run_in(const char* mode, std::optional<Mutant> mutant) {
  ScopedKnobs knobs({{"TINY_AMD", mode}});
  return run(std::move(mutant));
}

bool holds(const std::map<std::string, Site>& sites, const Mutant& mutant) {
  return sites.count(mutant.site) > 0;
}

}  // namespace

TEST_CASE("the driver orders all that it has to, however it interleaves") {
  machine();
  for (const char* mode : kModes)
    for (int i = 0; i < 5; ++i) {
      CAPTURE(mode, i);
      REQUIRE(run_in(mode, {}).seen == "");
    }
}

TEST_CASE("no packet that orders, and no cache bit of one, can be left out") {
  machine();
  std::map<std::string, Site> by_mode[2], all;
  for (size_t m = 0; m < 2; ++m) {
    by_mode[m] = run_in(kModes[m], {}).sites;
    all.insert(by_mode[m].begin(), by_mode[m].end());
  }
  const auto mutants = mutants_of(all);
  REQUIRE(mutants.size() > 40);
  for (const Mutant& mutant : mutants) {
    std::string seen;
    for (size_t m = 0; m < 2 && seen.empty(); ++m)
      if (holds(by_mode[m], mutant)) seen = run_in(kModes[m], mutant).seen;
    INFO("without " << mutant.name());
    CHECK(seen != "");
  }
}
