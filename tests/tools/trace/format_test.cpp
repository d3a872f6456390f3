// SPDX-License-Identifier: MIT
// The trace file: round trips, damage, bounds.
#include <catch2/catch.hpp>

#include "tools/trace/format.h"
#include "tools/trace/reader.h"

#include <cstring>
#include <random>

using namespace tiny::trace;

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> out(text.size());
  if (!text.empty()) std::memcpy(out.data(), text.data(), text.size());
  return out;
}

const std::vector<std::byte> kPath = bytes_of("/dev/kfd");

Record sample(std::uint64_t number) {
  Record record;
  record.type = Type::ioctl;
  record.pid = 7;
  record.tid = 8;
  record.start_ns = 1000 + number;
  record.duration_ns = 5;
  record.numbers = {3, 0x80084b01, 0x7fff0000, number};
  record.blobs = {{Part::text, 0, kPath}, {Part::before, 0x40, Bytes(kPath).first(3)}};
  return record;
}

std::vector<std::byte> file_of(std::size_t records) {
  const auto header = to_bytes(FileHeader{});
  std::vector<std::byte> file(header.begin(), header.end());
  for (std::size_t i = 0; i < records; ++i) {
    const std::vector<std::byte> record = to_bytes(sample(i));
    file.insert(file.end(), record.begin(), record.end());
  }
  return file;
}

struct Read {
  std::vector<std::uint64_t> numbers;  // the fourth of each record
  std::vector<std::string> problems;
};

Read read_all(Bytes file, std::size_t chunk_B = 1 << 20) {
  Reader reader;
  Read out;
  std::size_t fed = 0;
  while (true) {
    switch (reader.next()) {
      case Reader::Got::record:
        out.numbers.push_back(reader.record().number(3));
        break;
      case Reader::Got::problem:
        out.problems.push_back(reader.problem());
        break;
      case Reader::Got::end:
        return out;
      case Reader::Got::more:
        if (fed == file.size()) reader.finish();
        const std::size_t part_B = std::min(chunk_B, file.size() - fed);
        reader.feed(file.subspan(fed, part_B));
        fed += part_B;
    }
  }
}

const std::size_t kRecord_B = to_bytes(sample(0)).size();

}  // namespace

TEST_CASE("a record comes back as it was written") {
  const Record record = sample(99);
  const std::vector<std::byte> bytes = to_bytes(record);
  Record read;
  std::size_t size_B = 0;
  std::string problem;
  REQUIRE(parse_record(bytes, read, size_B, problem) == Parse::record);
  CHECK(size_B == bytes.size());
  CHECK(size_B % 8 == 0);
  CHECK(read.type == Type::ioctl);
  CHECK(read.pid == 7);
  CHECK(read.tid == 8);
  CHECK(read.start_ns == 1099);
  CHECK(read.duration_ns == 5);
  CHECK(read.numbers == record.numbers);
  CHECK(read.text() == "/dev/kfd");
  REQUIRE(read.find(Part::before));
  CHECK(read.find(Part::before)->address == 0x40);
  CHECK(read.bytes(Part::before).size() == 3);
  CHECK(read.bytes(Part::after).empty());
}

TEST_CASE("a file reads the same in pieces of any size") {
  const std::vector<std::byte> file = file_of(5);
  for (const std::size_t chunk_B : {1, 7, 64, 100, 1 << 20}) {
    const Read read = read_all(file, chunk_B);
    CHECK(read.numbers == std::vector<std::uint64_t>{0, 1, 2, 3, 4});
    CHECK(read.problems.empty());
  }
}

TEST_CASE("a torn last record is reported and the rest is read") {
  const std::vector<std::byte> file = file_of(3);
  for (std::size_t cut = 1; cut < kRecord_B; ++cut) {
    const Read read = read_all(Bytes(file).first(file.size() - cut));
    CHECK(read.numbers == std::vector<std::uint64_t>{0, 1});
    REQUIRE(read.problems.size() == 1);
    CHECK_THAT(read.problems[0], Catch::Contains("the file ends inside a record"));
  }
}

TEST_CASE("any flipped bit costs at most the record it is in") {
  const std::vector<std::byte> good = file_of(4);
  for (std::size_t at = kFileHeader_B + kRecord_B; at < kFileHeader_B + 2 * kRecord_B; ++at) {
    std::vector<std::byte> file = good;
    file[at] ^= std::byte{0x10};
    const Read read = read_all(file);
    INFO("byte " << at - kFileHeader_B - kRecord_B);
    CHECK(read.numbers == std::vector<std::uint64_t>{0, 2, 3});
    REQUIRE(read.problems.size() == 1);
    CHECK_THAT(read.problems[0], Catch::Contains(" bytes skipped"));
  }
}

TEST_CASE("a missing piece in the middle is bridged") {
  std::vector<std::byte> file = file_of(4);
  const auto from = file.begin() + static_cast<std::ptrdiff_t>(kFileHeader_B + kRecord_B / 2);
  file.erase(from, from + static_cast<std::ptrdiff_t>(kRecord_B));
  const Read read = read_all(file);
  CHECK(read.numbers == std::vector<std::uint64_t>{2, 3});
  CHECK(read.problems.size() == 1);
}

TEST_CASE("a file that is no trace is refused with the reason") {
  const auto problem_of = [](std::vector<std::byte> file) {
    const Read read = read_all(file);
    CHECK(read.numbers.empty());
    REQUIRE(read.problems.size() == 1);
    return read.problems[0];
  };
  CHECK_THAT(problem_of({}), Catch::Contains("empty"));
  CHECK_THAT(problem_of(bytes_of("#!/bin/sh")), Catch::Contains("does not begin as a trace"));
  CHECK_THAT(problem_of(bytes_of("tinytrc\n")), Catch::Contains("ends after 8 of 64 bytes"));
  std::vector<std::byte> file = file_of(1);
  file[40] ^= std::byte{1};
  CHECK_THAT(problem_of(file), Catch::Contains("checksum of its header"));
  const auto newer = to_bytes(FileHeader{kVersion + 1, 0, 0, 0});
  CHECK_THAT(problem_of({newer.begin(), newer.end()}), Catch::Contains("version is 2"));
}

TEST_CASE("a record with a length that cannot be is no record") {
  for (const std::uint32_t size_B : {0u, 8u, 47u, 52u, 0x7ffffff8u, 0xffffffffu}) {
    std::vector<std::byte> bytes = to_bytes(sample(0));
    std::memcpy(bytes.data() + 4, &size_B, 4);
    seal(bytes);
    Record record;
    std::size_t read_B = 0;
    std::string problem;
    CHECK(parse_record(bytes, record, read_B, problem) == Parse::corrupt);
    CHECK_THAT(problem, Catch::Contains("cannot have"));
  }
}

TEST_CASE("parts that do not fill their record are found") {
  std::vector<std::byte> bytes = to_bytes(sample(0));
  for (const auto& [at, value] : {std::pair{40u, 1u},
                                  {40u, 3u},
                                  {40u, 0xffffffffu},
                                  {kRecordHeader_B + 4 * 8 + 4, 0xfffffff0u}}) {
    std::vector<std::byte> bad = bytes;
    std::memcpy(bad.data() + at, &value, 4);
    seal(bad);
    Record record;
    std::size_t read_B = 0;
    std::string problem;
    CHECK(parse_record(bad, record, read_B, problem) == Parse::corrupt);
    CHECK_THAT(problem, Catch::Contains("do not fill it"));
  }
  const std::uint16_t numbers = 0xffff;
  std::memcpy(bytes.data() + 14, &numbers, 2);
  seal(bytes);
  Record record;
  std::size_t read_B = 0;
  std::string problem;
  CHECK(parse_record(bytes, record, read_B, problem) == Parse::corrupt);
  CHECK_THAT(problem, Catch::Contains("cannot hold 65535 numbers"));
}
