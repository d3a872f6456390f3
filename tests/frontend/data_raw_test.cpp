// SPDX-License-Identifier: MIT
// Data sets as bytes: the bundled digits, files under every name in use, files that do not fit.
#include "frontend/data/raw_dataset.h"
#include "tests/frontend/io_mutate.h"

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/base/knobs.h>

#include <catch2/catch.hpp>

#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <numeric>

using namespace tiny;
using tiny::data::RawDataset;
using tiny::testing::Bytes;

namespace {

struct TempDir {
  TempDir() {
    char name[] = "/tmp/rt_tiny_data_XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  ~TempDir() { std::filesystem::remove_all(path); }
  std::string path;
};

Bytes idx_images(uint8_t count, uint8_t first_pixel) {
  Bytes file{0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 2, 0, 0, 0, 2};
  for (int i = 0; i < count * 4; ++i) file.push_back(static_cast<uint8_t>(first_pixel + i));
  return file;
}

Bytes idx_labels(const Bytes& labels) {
  Bytes file{0, 0, 8, 1, 0, 0, 0, static_cast<uint8_t>(labels.size())};
  for (const uint8_t label : labels) file.push_back(label);
  return file;
}

/// Writes a folder of two training images and one test image.
void write_family(const std::string& dir, const std::string& joint, bool gz, uint8_t first_pixel) {
  std::filesystem::create_directories(dir);
  const auto put = [&](const std::string& stem, int rank, const Bytes& plain) {
    const std::string path = dir + "/" + stem + joint + std::to_string(rank) + "-ubyte";
    write_file_atomic(gz ? path + ".gz" : path, gz ? tiny::testing::gzip(plain) : plain);
  };
  put("train-images", 3, idx_images(2, first_pixel));
  put("train-labels", 1, idx_labels({3, 9}));
  put("t10k-images", 3, idx_images(1, first_pixel));
  put("t10k-labels", 1, idx_labels({5}));
}

std::string pair_error(const Bytes& images, const Bytes& labels, uint8_t max_pixel = 255) {
  try {
    data::pair_idx(images, "x", labels, "y", max_pixel);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

std::string mnist_error(const data::MnistFamily& family, const std::string& dir) {
  try {
    data::raw_mnist(family, dir, data::train);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the bundled digits are 1797 images of 8x8, every fifth held out") {
  const RawDataset train = data::raw_digits(data::train), test = data::raw_digits(data::test);
  CHECK(train.shape == std::array<int64_t, 3>{1437, 8, 8});
  CHECK(test.shape == std::array<int64_t, 3>{360, 8, 8});
  CHECK(train.images.size() == 1437 * 64);
  CHECK(test.labels.size() == 360);
  CHECK(*std::max_element(train.images.begin(), train.images.end()) == 16);
  CHECK(train.max_pixel == 16);
  // Image 0 of the file is held out, image 1 is the first to train on (scikit-learn, load_digits).
  CHECK(test.labels[0] == 0);
  CHECK(Bytes(test.images.begin(), test.images.begin() + 8) == Bytes{0, 0, 5, 13, 9, 1, 0, 0});
  CHECK(train.labels[0] == 1);
  CHECK(Bytes(train.images.begin(), train.images.begin() + 8) == Bytes{0, 0, 0, 12, 13, 5, 0, 0});
  CHECK(test.labels[1] == 5);
}

TEST_CASE("the bundled digits have the class counts of the original") {
  std::array<int, 10> count{};
  for (const auto split : {data::train, data::test})
    for (const uint8_t label : data::raw_digits(split).labels) ++count[label];
  CHECK(count == std::array<int, 10>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180});
}

TEST_CASE("mnist reads files under every name in use, packed or not") {
  for (const char* joint : {"-idx", ".idx"})
    for (const bool gz : {false, true}) {
      TempDir dir;
      write_family(dir.path, joint, gz, 100);
      const RawDataset train = data::raw_mnist(data::kMnist, dir.path, data::train);
      CHECK(train.shape == std::array<int64_t, 3>{2, 2, 2});
      CHECK(train.images == Bytes{100, 101, 102, 103, 104, 105, 106, 107});
      CHECK(train.labels == Bytes{3, 9});
      CHECK(data::raw_mnist(data::kMnist, dir.path, data::test).labels == Bytes{5});
    }
}

TEST_CASE("mnist and fashion_mnist look into TINY_DATA when no folder is named") {
  TempDir dir;
  ScopedKnobs knob({{"TINY_DATA", dir.path}});
  write_family(dir.path, "-idx", true, 1);
  CHECK(data::raw_mnist(data::kMnist, "", data::train).images[0] == 1);
  write_family(dir.path + "/mnist", "-idx", true, 2);
  write_family(dir.path + "/fashion-mnist", "-idx", true, 3);
  CHECK(data::raw_mnist(data::kMnist, "", data::train).images[0] == 2);
  CHECK(data::raw_mnist(data::kFashionMnist, "", data::train).images[0] == 3);
}

TEST_CASE("a missing data set is one error that tells how to get it") {
  ScopedKnobs knob({{"TINY_DATA", ""}});
  CHECK(mnist_error(data::kMnist, "/nonexistent") ==
        "[mnist] no train-images-idx3-ubyte or train-images-idx3-ubyte.gz in /nonexistent. HINT: "
        "name "
        "the folder with the four files of yann.lecun.com/exdb/mnist, or set TINY_DATA to it");
  CHECK_THAT(mnist_error(data::kMnist, ""), Catch::Contains("without a folder"));
  CHECK_THAT(mnist_error(data::kFashionMnist, "/nonexistent"),
             Catch::Contains("dataset-fashion-mnist"));
}

TEST_CASE("a damaged file of a data set is named") {
  TempDir dir;
  write_family(dir.path, "-idx", true, 0);
  const std::string path = dir.path + "/train-images-idx3-ubyte.gz";
  Bytes bytes = read_file(path);
  bytes.resize(bytes.size() - 5);
  write_file_atomic(path, bytes);
  CHECK_THAT(mnist_error(data::kMnist, dir.path),
             Catch::StartsWith("[gzip] " + path + ": truncated"));
}

TEST_CASE("images and labels that do not fit together are refused") {
  CHECK(pair_error(idx_images(2, 0), idx_labels({1, 2})).empty());
  CHECK(pair_error(idx_images(2, 0), idx_labels({1})) ==
        "[data] y: 1 labels for the 2 images of x");
  CHECK(pair_error(idx_images(2, 0), idx_labels({1, 10})) == "[data] y: label 1 is 10, above 9");
  CHECK(pair_error(idx_images(2, 12), idx_labels({1, 2}), 16) ==
        "[data] x: pixel 5 is 17, above 16");
  CHECK(pair_error(idx_labels({1}), idx_labels({1})) ==
        "[data] x: holds u8 of shape [1], expected u8 of rank 3");
}
