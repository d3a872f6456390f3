// SPDX-License-Identifier: MIT
// Private values become tokens of the same length, the same everywhere, and nothing else changes.
#include <catch2/catch.hpp>

#include "tools/trace/scrub.h"

#include <sys/utsname.h>

#include <cstring>
#include <string>

using namespace tiny::trace;

namespace {

constexpr std::uint64_t kKey = 0x1234567;

std::string scrubbed(Scrubber& scrubber, std::string text) {
  scrubber.scrub(std::as_writable_bytes(std::span(text)));
  return text;
}

std::string raw(const Uuid& uuid) {
  return {reinterpret_cast<const char*>(uuid.data()), uuid.size()};
}

constexpr Uuid kUuid = {std::byte{0x5c}, std::byte{0x0b}, std::byte{0x11}, std::byte{0xfe},
                        std::byte{0x20}, std::byte{0x31}, std::byte{0x4a}, std::byte{0x77},
                        std::byte{0x8f}, std::byte{0x90}, std::byte{0x0d}, std::byte{0xe1},
                        std::byte{0xa2}, std::byte{0x33}, std::byte{0xc4}, std::byte{0xb5}};
const std::string kUuidText = "5c0b11fe-2031-4a77-8f90-0de1a233c4b5";

Record call(const std::string& path, std::uint32_t request, const std::string& before) {
  Record record;
  record.type = Type::ioctl;
  record.numbers = {3, request, 0, 0};
  record.blobs = {{Part::text, 0, std::as_bytes(std::span(path))},
                  {Part::before, 0, std::as_bytes(std::span(before))}};
  return record;
}

void learn(Scrubber& scrubber, const Record& record) {
  std::vector<std::byte> bytes = to_bytes(record);
  scrubber.scrub_call(record, blob_bytes(bytes, record));
}

}  // namespace

TEST_CASE("a secret is replaced everywhere by one token of its length") {
  Scrubber scrubber(kKey);
  scrubber.add_text("build-host-17", "HOST");
  const std::string out = scrubbed(scrubber, "x build-host-17 y\0build-host-17build-host-17");
  CHECK(out.size() == std::strlen("x build-host-17 y"));
  CHECK(out.substr(0, 2) == "x ");
  CHECK(out.substr(2, 5) == "HOST_");
  CHECK(out.substr(15) == " y");
  std::string twice("build-host-17\0build-host-17", 27);
  twice = scrubbed(scrubber, twice);
  CHECK(twice.substr(0, 13) == out.substr(2, 13));
  CHECK(twice.substr(14) == out.substr(2, 13));
}

TEST_CASE("a token depends on the key and does not hold the value") {
  Scrubber one(1), two(2);
  one.add_text("correct-horse-battery", "KEY");
  two.add_text("correct-horse-battery", "KEY");
  CHECK(scrubbed(one, "correct-horse-battery") != scrubbed(two, "correct-horse-battery"));
  CHECK(scrubbed(one, "correct-horse-battery").find("horse") == std::string::npos);
}

TEST_CASE("of overlapping secrets the longest wins") {
  Scrubber scrubber(kKey);
  scrubber.add_text("/home/alice", "HOME");
  scrubber.add_text("/home/alice/project", "PWD");
  CHECK(scrubbed(scrubber, "/home/alice/project").substr(0, 4) == "PWD_");
  CHECK(scrubbed(scrubber, "/home/alice/other").substr(0, 5) == "HOME_");
  CHECK(scrubbed(scrubber, "/home/alice/other").substr(11) == "/other");
}

TEST_CASE("short secrets are replaced as words only") {
  Scrubber scrubber(kKey);
  scrubber.add_text("bob", "USER");
  scrubber.add_text("ab", "USER");
  CHECK(scrubbed(scrubber, "bobbin bob. /bob/ kabob") == "bobbin USE. /USE/ kabob");
  CHECK(scrubbed(scrubber, "ab") == "ab");
}

TEST_CASE("host, user, home and environment values are private, device paths and root are not") {
  const char* environment[] = {"USER=alice-w",
                               "HOME=/home/alice-w",
                               "TOKEN=s3cr3t-value",
                               "SHELL=/bin/sh",
                               "DEVICE=/dev/nvidia0",
                               "LOGNAME=root",
                               "SHORT=abc",
                               "NOVALUE",
                               nullptr};
  Scrubber scrubber(kKey);
  scrubber.add_surroundings(environment);
  CHECK(scrubbed(scrubber, "alice-w") == "USER_" + scrubbed(scrubber, "alice-w").substr(5));
  CHECK(scrubbed(scrubber, "[s3cr3t-value]").find("s3cr3t") == std::string::npos);
  CHECK(scrubbed(scrubber, "[s3cr3t-value]").substr(0, 7) == "[TOKEN_");
  CHECK(scrubbed(scrubber, "/dev/nvidia0") == "/dev/nvidia0");
  CHECK(scrubbed(scrubber, "root abc") == "root abc");
  utsname system{};
  REQUIRE(uname(&system) == 0);
  const std::string host = system.nodename;
  if (host.size() >= 3 && host != "localhost")
    CHECK(scrubbed(scrubber, " " + host + " ").find(host) == std::string::npos);
}

TEST_CASE("a UUID as text becomes the text of its token, whatever stands before it") {
  Scrubber scrubber(kKey);
  const std::string plain = scrubbed(scrubber, kUuidText);
  CHECK(plain.size() == kUuidText.size());
  CHECK(plain.substr(0, 19) == "544f4b45-4e00-0000-");  // TOKEN
  CHECK(scrubbed(scrubber, "GPU-" + kUuidText + "\n") == "GPU-" + plain + "\n");
  CHECK(scrubbed(scrubber, "MIG-" + kUuidText) == "MIG-" + plain);
  CHECK(scrubbed(scrubber, "5C0B11FE-2031-4A77-8F90-0DE1A233C4B5") == plain);
  CHECK(scrubbed(scrubber, plain) == plain);  // twice is once
  CHECK(scrubbed(scrubber, "5c0b11fe-2031-4a77-8f90-0de1a233c4b") ==
        "5c0b11fe-2031-4a77-8f90-0de1a233c4b");
  CHECK(scrubbed(scrubber, "5c0b11fe-2031-4a77-8f90-0de1a233c4bg") ==
        "5c0b11fe-2031-4a77-8f90-0de1a233c4bg");
}

TEST_CASE("a binary UUID and its text have the same token") {
  Scrubber scrubber(kKey);
  scrubber.add_uuid(kUuid);
  const std::string binary = scrubbed(scrubber, "ab" + raw(kUuid) + raw(kUuid) + "c");
  CHECK(binary.size() == 35);
  CHECK(binary.substr(0, 7) == "abTOKEN");
  CHECK(binary.substr(2, 16) == binary.substr(18, 16));
  const std::string text = scrubbed(scrubber, kUuidText);
  char last[3];
  std::snprintf(last, sizeof last, "%02x", static_cast<unsigned char>(binary[17]));
  CHECK(text.substr(34) == last);
}

TEST_CASE("UUIDs of UVM calls are learned from their fields") {
  Scrubber scrubber(kKey);
  CHECK(scrubbed(scrubber, raw(kUuid)) == raw(kUuid));
  learn(scrubber, call("/dev/nvidia-uvm", 37, raw(kUuid) + std::string(24, '\0')));
  CHECK(scrubbed(scrubber, raw(kUuid)).substr(0, 5) == "TOKEN");
}

TEST_CASE("fields without a UUID teach nothing") {
  Scrubber scrubber(kKey);
  learn(scrubber, call("/dev/nvidia-uvm", 37, std::string(40, '\0')));
  learn(scrubber, call("/dev/nvidia-uvm", 37, std::string(40, '\xff')));
  learn(scrubber, call("/dev/nvidia-uvm", 37, raw(kUuid).substr(0, 15)));  // truncated
  learn(scrubber, call("/dev/kfd", 37, raw(kUuid) + std::string(24, '\0')));
  CHECK(scrubbed(scrubber, std::string(16, '\0')) == std::string(16, '\0'));
  CHECK(scrubbed(scrubber, raw(kUuid)) == raw(kUuid));
}

TEST_CASE("an RM control's UUID is learned, its serial numbers are blanked") {
  const auto control = [](std::uint32_t command) {
    std::string frame(32, '\0');
    const std::uint64_t params = 0x7000;
    std::memcpy(frame.data() + 8, &command, 4);
    std::memcpy(frame.data() + 16, &params, 8);
    return frame;
  };
  Scrubber scrubber(kKey);
  const std::string gid = std::string(12, '\0') + raw(kUuid) + std::string(240, '\0');
  const std::string gid_frame = control(0x2080014a), path = "/dev/nvidiactl";
  Record record = call(path, 0xc020462a, gid_frame);
  record.blobs.push_back({Part::attached_after, 0x7000, std::as_bytes(std::span(gid))});
  learn(scrubber, record);
  CHECK(scrubbed(scrubber, raw(kUuid)).substr(0, 5) == "TOKEN");

  const std::string board = "1234-SERIAL-0042-AND-MORE", board_frame = control(0x2080013f);
  record = call(path, 0xc020462a, board_frame);
  record.blobs.push_back({Part::attached_after, 0x7000, std::as_bytes(std::span(board))});
  std::vector<std::byte> bytes = to_bytes(record);
  const auto parts = blob_bytes(bytes, record);
  scrubber.scrub_call(record, parts);
  const std::string blanked(reinterpret_cast<const char*>(parts[2].data()), parts[2].size());
  CHECK(blanked.size() == board.size());
  CHECK(blanked.substr(0, 8) == "PRIVATE_");
  CHECK(blanked.find("SERIAL") == std::string::npos);
}

TEST_CASE("bytes without secrets stay as they are") {
  Scrubber scrubber(kKey);
  scrubber.add_text("secret-value", "X");
  scrubber.add_uuid(kUuid);
  std::string all;
  for (int i = 0; i < 4096; ++i) all += static_cast<char>(i * 7 + i / 256);
  CHECK(scrubbed(scrubber, all) == all);
  CHECK(scrubbed(scrubber, "").empty());
}
