// SPDX-License-Identifier: MIT
// Feeds damaged traces to reader and printer:
//     trace_fuzz COUNT [SEED]
// prints how many inputs it made and how many records came out of them. Run it under ASan. Half of
// the inputs have their checksums made right again, so that damage gets as far as the decoders.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/tools/trace/fake_devices.h"
#include "tools/trace/format.h"
#include "tools/trace/print.h"
#include "tools/trace/reader.h"

using namespace tiny;
using namespace tiny::trace;

namespace {

using Random = std::mt19937_64;

std::vector<std::byte> random_bytes(Random& random, std::size_t size_B) {
  std::vector<std::byte> out(size_B);
  for (std::size_t i = 0; i < size_B; ++i) {
    const std::uint64_t word = random();
    out[i] = word % 4 == 0 ? std::byte{0} : std::byte(word >> 8);
  }
  return out;
}

/// Numbers as they occur, and as they should not.
std::uint64_t odd_number(Random& random) {
  switch (random() % 6) {
    case 0:
      return random() % 32;
    case 1:
      return random() % 4096;
    case 2:
      return ~std::uint64_t{0} - random() % 3;
    case 3:
      return std::uint64_t{1} << random() % 64;
    case 4:
      return 0x7f0000000000 + (random() % 64) * 0x1000;
    default:
      return random();
  }
}

/// A record that a recorder could have written, with contents it would not.
std::vector<std::byte> random_record(Random& random, const std::vector<test::KnownCall>& calls) {
  const test::KnownCall& call = calls[random() % calls.size()];
  const std::string_view path = call.path;
  Record record;
  record.type = static_cast<Type>(random() % 4 == 0 ? 5 : random() % 18);
  record.pid = static_cast<std::uint32_t>(random() % 3);
  record.tid = static_cast<std::uint32_t>(random() % 3);
  record.start_ns = odd_number(random);
  record.duration_ns = odd_number(random);
  for (std::uint64_t n = random() % 9; n > 0; --n) record.numbers.push_back(odd_number(random));
  if (record.type == Type::ioctl) record.numbers = {3, call.request, 0, odd_number(random) % 2};
  if (record.type == Type::snapshot) {
    constexpr std::uint64_t kGenerations[] = {110000, 90402, 0xcbc0, 0xc6c0, 0x06030001, 0};
    record.numbers = {random() % 12, 0x7f0000001000, 64, kGenerations[random() % 6], random() % 2};
  }
  std::vector<std::vector<std::byte>> kept;
  for (std::uint64_t n = random() % 5; n > 0; --n)
    kept.push_back(random_bytes(random, random() % 400));
  record.blobs.push_back({Part::text, 0, std::as_bytes(std::span(path))});
  std::uint32_t part = 2;
  for (const std::vector<std::byte>& bytes : kept) {
    const bool is_odd = random() % 8 == 0;
    record.blobs.push_back({static_cast<Part>(is_odd                       ? random() % 9
                                              : record.type == Type::ioctl ? part
                                                                           : 6),
                            odd_number(random), bytes});
    part = std::min(part + 1, 5u);
  }
  return to_bytes(record);
}

void damage(Random& random, std::vector<std::byte>& file) {
  for (std::uint64_t n = random() % 4; n > 0 && !file.empty(); --n) {
    const std::size_t at = random() % file.size();
    switch (random() % 4) {
      case 0:
        file[at] ^= std::byte(1u << random() % 8);
        break;
      case 1:
        file.resize(at);
        break;
      case 2:
        file.erase(file.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      default: {
        const std::uint64_t number = odd_number(random);
        std::memcpy(file.data() + at, &number, std::min<std::size_t>(8, file.size() - at));
      }
    }
  }
}

/// Seals a record with damage inside, where its length still holds.
void damage_and_seal(Random& random, std::vector<std::byte>& record) {
  const std::vector<std::byte> before = record;
  damage(random, record);
  record.resize(before.size());
  std::memcpy(record.data(), before.data(), 8);  // magic and length
  seal(record);
}

std::vector<std::byte> make_input(Random& random, const std::vector<test::KnownCall>& calls) {
  const auto header =
      to_bytes(FileHeader{kVersion, static_cast<std::uint32_t>(random() % 2), 0, 0});
  std::vector<std::byte> file(header.begin(), header.end());
  const bool is_sealed = random() % 2;
  for (std::uint64_t n = random() % 6; n > 0; --n) {
    std::vector<std::byte> record = random_record(random, calls);
    if (is_sealed) damage_and_seal(random, record);
    file.insert(file.end(), record.begin(), record.end());
  }
  if (!is_sealed) damage(random, file);
  return file;
}

std::size_t read(Random& random, Bytes file) {
  std::size_t records = 0, length = 0;
  Printer printer({random() % 4 == 0, random() % 4 == 0},
                  [&length](std::string_view line) { length += line.size(); });
  Reader reader;
  std::size_t fed = 0;
  while (true) {
    const Reader::Got got = reader.next();
    if (got == Reader::Got::end) return records;
    if (got == Reader::Got::record) {
      ++records;
      printer.print(reader.record());
    } else if (got == Reader::Got::problem) {
      printer.problem(reader.offset(), reader.problem());
    } else if (fed == file.size()) {
      reader.finish();
    } else {
      const std::size_t part_B = std::min<std::size_t>(1 + random() % 700, file.size() - fed);
      reader.feed(file.subspan(fed, part_B));
      fed += part_B;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 20'000;
  const unsigned long seed = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  const std::vector<test::KnownCall> calls = test::known_calls();
  std::size_t records = 0;
  for (long i = 0; i < count; ++i) {
    Random random(seed * 1'000'003 + static_cast<unsigned long>(i));
    const std::vector<std::byte> file = make_input(random, calls);
    records += read(random, file);
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%ld inputs, %zu records, at most %ld MiB\n", count, records, usage.ru_maxrss / 1024);
  return records > static_cast<std::size_t>(count) / 2 ? 0 : 1;
}
