// SPDX-License-Identifier: MIT
#include "tools/trace/print.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <utility>

#include "tools/trace/print_device.h"

namespace tiny::trace {
namespace {

constexpr std::size_t kMaxProcesses = 1 << 16;  // of a hostile file

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// `= 0`, `= fd 3`, `= -1 EACCES (Permission denied)`.
std::string result_text(std::int64_t result, std::string_view unit = "") {
  if (result >= 0) return fmt::format("= {}{}", unit, result);
  const char* name = result >= -4095 ? ::strerrorname_np(static_cast<int>(-result)) : nullptr;
  if (!name) return fmt::format("= {}", result);
  return fmt::format("= -1 {} ({})", name, ::strerrordesc_np(static_cast<int>(-result)));
}

struct Flag {
  std::uint64_t bit;
  std::string_view name;
};

std::string flags_text(std::uint64_t value, std::span<const Flag> flags, std::string_view none) {
  std::string out;
  const auto add = [&out](std::string_view text) {
    if (!out.empty()) out += '|';
    out += text;
  };
  for (const Flag& flag : flags)
    if (value & flag.bit) {
      add(flag.name);
      value &= ~flag.bit;
    }
  if (value != 0) add(fmt::format("{:#x}", value));
  return out.empty() ? std::string(none) : out;
}

std::string open_flags(std::uint64_t flags) {
  constexpr std::string_view kModes[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "3"};
  static constexpr Flag kFlags[] = {{O_CLOEXEC, "O_CLOEXEC"},     {O_NONBLOCK, "O_NONBLOCK"},
                                    {O_DIRECTORY, "O_DIRECTORY"}, {O_CREAT, "O_CREAT"},
                                    {O_SYNC, "O_SYNC"},           {O_NOFOLLOW, "O_NOFOLLOW"}};
  const std::string rest = flags_text(flags & ~std::uint64_t{O_ACCMODE}, kFlags, "");
  return std::string(kModes[flags & O_ACCMODE]) + (rest.empty() ? "" : "|" + rest);
}

std::string protection(std::uint64_t prot) {
  static constexpr Flag kFlags[] = {
      {PROT_READ, "READ"}, {PROT_WRITE, "WRITE"}, {PROT_EXEC, "EXEC"}};
  return flags_text(prot, kFlags, "NONE");
}

std::string map_flags(std::uint64_t flags) {
  static constexpr Flag kFlags[] = {
      {MAP_SHARED, "SHARED"},       {MAP_PRIVATE, "PRIVATE"},
      {MAP_FIXED, "FIXED"},         {MAP_ANONYMOUS, "ANONYMOUS"},
      {MAP_NORESERVE, "NORESERVE"}, {MAP_POPULATE, "POPULATE"},
      {MAP_LOCKED, "LOCKED"},       {MAP_FIXED_NOREPLACE, "FIXED_NOREPLACE"}};
  return flags_text(flags, kFlags, "0");
}

/// At most five characters and a unit.
std::string duration_text(std::uint64_t ns) {
  if (ns == 0) return "-";
  if (ns < 10'000) return fmt::format("{}ns", ns);
  if (ns < 10'000'000) return fmt::format("{}us", ns / 1000);
  if (ns < 10'000'000'000) return fmt::format("{}ms", ns / 1'000'000);
  return fmt::format("{}s", ns / 1'000'000'000);
}

/// Removals wait until the line that tells of them is printed.
class LateNames : public NameSink {
 public:
  explicit LateNames(Names& names) : names_(names) {}
  ~LateNames() override {
    for (const auto& [address, size_B] : removed_) names_.remove(address, size_B);
  }
  void add(std::uint64_t address, std::uint64_t size_B, std::string_view role) override {
    names_.add(address, size_B, role);
  }
  void remove(std::uint64_t address, std::uint64_t size_B) override {
    removed_.emplace_back(address, size_B);
  }

 private:
  Names& names_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> removed_;
};

/// Memory that a call's argument points to is `arg0`, `arg1`, …, unless it has a name: it mostly is
/// on the stack, elsewhere in every run.
class ArgumentNames : public decode::Symbols {
 public:
  ArgumentNames(const Names& names, std::span<const decode::Attachment> attachments)
      : names_(names), attachments_(attachments) {}
  std::string address(std::uint64_t va) const override {
    if (!names_.name_at(va).empty()) return names_.address(va);
    for (std::size_t i = 0; i < attachments_.size(); ++i)
      if (va == attachments_[i].address) return fmt::format("arg{}", i);
    return names_.address(va);
  }

 private:
  const Names& names_;
  std::span<const decode::Attachment> attachments_;
};

}  // namespace

struct Printer::Process {
  Process() = default;
  Process(const Process& parent)  // the child of a fork
      : names(parent.names), devices(parent.devices), watchers(parent.watchers) {}
  Process& operator=(const Process&) = delete;

  std::uint32_t number = 0;
  std::map<std::uint32_t, std::uint32_t> threads;  // tid -> number in order of appearance
  Names names;
  DeviceDecoders devices;
  Watchers watchers;
};

/// One line of output: the columns, then the event.
struct Printer::Line {
  std::string columns, event;
  std::vector<std::string> below;  // printed indented, without columns
};

Printer::Printer(const PrintOptions& options, Sink sink)
    : options_(options), sink_(std::move(sink)) {}
Printer::~Printer() = default;

void Printer::begin(const FileHeader& header) {
  header_ = header;
  const bool has_secrets = header.flags & kRawSecrets;
  if (has_secrets && !options_.raw_secrets) {
    scrubber_ = std::make_unique<Scrubber>(header.start_ns);
    scrubber_->add_surroundings(environ);
  }
  sink_(fmt::format("# tiny trace, version {}; private values {}", header.version,
                    has_secrets && options_.raw_secrets ? "are shown" : "are tokens"));
  sink_("#   time (s)  duration  thread  event");
}

void Printer::problem(std::uint64_t offset, std::string_view text) {
  sink_(fmt::format("# damaged at byte {}: {}", offset, text));
}

Printer::Process& Printer::process_of(const Record& record) {
  if (processes_.size() >= kMaxProcesses && !processes_.count(record.pid)) processes_.clear();
  std::unique_ptr<Process>& process = processes_[record.pid];
  const bool is_start = record.type == Type::process;
  if (!process || is_start) {
    const auto parent = processes_.find(static_cast<std::uint32_t>(record.number(0)));
    const bool inherits = is_start && record.number(1) != 0 && parent != processes_.end() &&
                          parent->second && parent->first != record.pid;
    const std::uint32_t number = process ? process->number : ++processes_seen_;
    process = inherits ? std::make_unique<Process>(*parent->second) : std::make_unique<Process>();
    process->number = number;
  }
  return *process;
}

void Printer::print(const Record& record) {
  if (!scrubber_) return print_clean(record);
  std::vector<std::byte> copy = to_bytes(record);
  const std::vector<std::span<std::byte>> parts = blob_bytes(copy, record);
  scrubber_->scrub_call(record, parts);
  Record clean = record;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    scrubber_->scrub(parts[i]);
    clean.blobs[i].bytes = parts[i];
  }
  print_clean(clean);
}

void Printer::print_clean(const Record& record) {
  const bool is_exec = record.type == Type::process && processes_.count(record.pid) != 0;
  Process& process = process_of(record);
  const std::uint32_t thread =
      process.threads.emplace(record.tid, process.threads.size() + 1).first->second;
  const std::uint64_t since = record.start_ns - std::min(record.start_ns, header_.start_ns);
  Line line;
  line.columns =
      fmt::format("{:5}.{:06}  {:>8}  {:>6}  ", since / 1'000'000'000, since / 1000 % 1'000'000,
                  duration_text(record.duration_ns), fmt::format("{}.{}", process.number, thread));
  switch (record.type) {
    case Type::process:
      line.event = fmt::format("process {} {}{}", process.number, record.text(),
                               record.number(1) ? " (forked)"
                               : is_exec        ? " (exec)"
                                                : "");
      break;
    case Type::ioctl:
      ioctl(record, line, process);
      break;
    case Type::mmap:
      mmap(record, line, process);
      break;
    case Type::munmap:
      unmapped(record, line, process);
      break;
    case Type::snapshot:
      snapshot(record, line, process);
      break;
    default:
      small(record, line, process);
      break;
  }
  sink_(line.columns + line.event);
  const std::string indent(line.columns.size() + 2, ' ');
  for (const std::string& text : line.below) sink_(indent + text);
}

void Printer::ioctl(const Record& record, Line& line, Process& process) {
  std::vector<decode::Attachment> attachments;
  for (std::size_t i = 0; i < record.blobs.size(); ++i) {
    const Blob& blob = record.blobs[i];
    if (blob.part != Part::attached_before) continue;
    const Blob* next = i + 1 < record.blobs.size() ? &record.blobs[i + 1] : nullptr;
    const bool changed =
        next && next->part == Part::attached_after && next->address == blob.address;
    attachments.push_back({blob.address, blob.bytes, changed ? next->bytes : blob.bytes});
  }
  DeviceCall call{record.text(), static_cast<int>(record.number(0)), {}};
  call.call.request = static_cast<std::uint32_t>(record.number(1));
  call.call.result = record.signed_number(3);
  call.call.before = record.bytes(Part::before);
  call.call.after = record.find(Part::after) ? record.bytes(Part::after) : call.call.before;
  call.call.attachments = attachments;
  LateNames names(process.names);
  process.watchers.after(call, names);
  std::vector<std::string> lines =
      process.devices.ioctl(call, ArgumentNames(process.names, attachments));
  line.event = fmt::format("ioctl {}#{} {} {}", base_name(call.path), call.fd, lines[0],
                           result_text(call.call.result));
  line.below.assign(lines.begin() + 1, lines.end());
}

void Printer::mmap(const Record& record, Line& line, Process& process) {
  const std::int64_t result = record.signed_number(6);
  const DeviceMap map{record.text(), static_cast<int>(record.number(4)), record.number(6),
                      record.number(1), record.number(5)};
  if (result >= 0) process.watchers.mapped(map, process.names);
  line.event = fmt::format("mmap {}#{} size={:#x} {} {} offset={:#x}", base_name(map.path), map.fd,
                           map.size_B, protection(record.number(2)), map_flags(record.number(3)),
                           map.offset_B);
  if (record.number(0) != 0)
    line.event += fmt::format(" at={}", process.names.address(record.number(0)));
  line.event += result >= 0 ? fmt::format(" = {}", process.names.address(map.address))
                            : " " + result_text(result);
}

void Printer::unmapped(const Record& record, Line& line, Process& process) {
  const std::uint64_t address = record.number(0), size_B = record.number(1);
  line.event = fmt::format("munmap {} size={:#x} {}", process.names.address(address), size_B,
                           result_text(record.signed_number(2)));
  if (record.signed_number(2) >= 0) process.watchers.unmapped(address, size_B, process.names);
}

void Printer::snapshot(const Record& record, Line& line, Process& process) {
  const auto contents = static_cast<Contents>(record.number(0));
  const decode::Bytes data = record.bytes(Part::data);
  line.event = fmt::format("snapshot {} {} size={:#x} queue={:#x}", name(contents),
                           process.names.address(record.number(1)), data.size(), record.number(4));
  if (record.number(3) != 0) line.event += fmt::format(" generation={:#x}", record.number(3));
  if (DeviceDecoders::is_guess(contents, record.number(3)))
    line.event += " (generation unknown, read as gfx11)";
  if (data.size() < record.number(2))
    line.event += fmt::format(" (of {:#x}: the rest is not readable)", record.number(2));
  line.below = process.devices.contents(contents, record, data, process.names, options_.full);
}

void Printer::small(const Record& record, Line& line, Process& process) {
  const auto n = [&record](std::size_t index) { return record.number(index); };
  const auto address = [&](std::size_t index) { return process.names.address(n(index)); };
  const auto device = [&](std::size_t fd) {
    return fmt::format("{}#{}", base_name(record.text()), static_cast<int>(n(fd)));
  };
  switch (record.type) {
    case Type::open:
      line.event = fmt::format("open {} {} {}", record.text(), open_flags(n(0)),
                               result_text(record.signed_number(1), "fd "));
      return;
    case Type::close:
      line.event = fmt::format("close {} {}", device(0), result_text(record.signed_number(1)));
      return;
    case Type::dup:
      line.event = fmt::format("dup {} {}", device(0), result_text(record.signed_number(1), "fd "));
      return;
    case Type::mremap:
      line.event = fmt::format("mremap {} size={:#x} new_size={:#x} flags={:#x} = {}", address(0),
                               n(1), n(2), n(3), address(4));
      return;
    case Type::mprotect:
      line.event = fmt::format("mprotect {} size={:#x} {} {}", address(0), n(1), protection(n(2)),
                               result_text(record.signed_number(3)));
      return;
    case Type::transfer:
      line.event = fmt::format("{} {} size={:#x} offset={:#x} {}", n(0) ? "write" : "read",
                               device(1), n(2), n(3), result_text(record.signed_number(4)));
      line.below = hex_lines(record.bytes(Part::data), options_.full);
      return;
    case Type::doorbell:
      line.event = n(3) == static_cast<std::uint64_t>(Seen::sample)
                       ? "doorbell (seen by sampling)"
                       : fmt::format("doorbell {} = {:#x} ({} bytes)", address(0), n(2), n(1));
      return;
    case Type::note:
      line.event = fmt::format("note: {}", record.text());
      return;
    case Type::limit:
      line.event = fmt::format("limit: the file has {} bytes; what follows is only counted", n(0));
      return;
    case Type::exit:
      line.event = fmt::format("exit of process {}: {} records lost ({} bytes), {} calls not seen",
                               process.number, n(0), n(1), n(2));
      return;
    default:
      break;
  }
  line.event = fmt::format("unknown record {}", static_cast<unsigned>(record.type));
  for (const std::uint64_t number : record.numbers) line.event += fmt::format(" {:#x}", number);
  for (const Blob& blob : record.blobs)
    line.below.push_back(fmt::format("part {} at {}: {}", static_cast<unsigned>(blob.part),
                                     process.names.address(blob.address),
                                     decode::hex_bytes(blob.bytes)));
}

}  // namespace tiny::trace
