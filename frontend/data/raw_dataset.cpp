// SPDX-License-Identifier: MIT
// Data set files: found under the names in use, unpacked with a cap, checked against each other.
#include "frontend/data/raw_dataset.h"

#include "frontend/data/embedded.h"
#include "frontend/io/gzip.h"
#include "frontend/io/idx.h"

#include <rt_tiny/runtime/base/error.h>
#include <rt_tiny/runtime/base/file.h>
#include <rt_tiny/runtime/base/knobs.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace tiny::data {
namespace {

constexpr uint8_t kMaxLabel = 9;
constexpr size_t kMaxUnpacked_B = size_t{1} << 30;  // EMNIST, the largest of the family, has 548 MB
constexpr size_t kDigitsMaxUnpacked_B = 1 << 20;
constexpr uint8_t kDigitsMaxPixel = 16;
constexpr int64_t kHeldOutEvery = 5;

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw UsageError(fmt::format("[data] {}: {}", path, reason));
}

void check_range(std::span<const uint8_t> values, uint8_t max, const char* what,
                 const std::string& path) {
  const auto bad = std::find_if(values.begin(), values.end(), [max](uint8_t v) { return v > max; });
  if (bad != values.end())
    fail(path, fmt::format("{} {} is {}, above {}", what, bad - values.begin(), *bad, max));
}

io::IdxArray parse_bytes(std::span<const uint8_t> file, size_t rank, const std::string& path) {
  io::IdxArray array = io::parse_idx(file, path);
  if (array.dtype != DType::u8 || array.shape.size() != rank)
    fail(path, fmt::format("holds {} of shape [{}], expected u8 of rank {}", name(array.dtype),
                           fmt::join(array.shape, ", "), rank));
  return array;
}

/// Keeps the images whose index is (or is not) a multiple of kHeldOutEvery.
RawDataset split_digits(const RawDataset& all, bool held_out) {
  RawDataset part{.images = {},
                  .shape = {0, all.shape[1], all.shape[2]},
                  .max_pixel = all.max_pixel,
                  .labels = {}};
  const int64_t size_B = all.shape[1] * all.shape[2];
  for (int64_t i = 0; i < all.shape[0]; ++i) {
    if ((i % kHeldOutEvery == 0) != held_out) continue;
    const auto begin = all.images.begin() + i * size_B;
    part.images.insert(part.images.end(), begin, begin + size_B);
    part.labels.push_back(all.labels[static_cast<size_t>(i)]);
  }
  part.shape[0] = static_cast<int64_t>(part.labels.size());
  return part;
}

/// The folders to look in, best first.
std::vector<std::string> folders(const MnistFamily& family, const std::string& dir) {
  if (!dir.empty()) return {dir};
  std::vector<std::string> all;
  if (const std::string& root = knobs().data; !root.empty()) {
    all.push_back(root + "/" + family.subfolder);
    if (&family == &kMnist) all.push_back(root);
  }
  if (*family.system_dir) all.push_back(family.system_dir);
  return all;
}

/// Finds "train-images" + "-idx3-ubyte" under any of the names in use; "" when there is none.
std::string find_file(const std::string& dir, const std::string& stem, int rank) {
  for (const char* form : {"{}/{}-idx{}-ubyte", "{}/{}.idx{}-ubyte"})
    for (const char* ending : {"", ".gz"}) {
      const std::string path = fmt::format(fmt::runtime(form), dir, stem, rank) + ending;
      std::error_code ignored;
      if (std::filesystem::is_regular_file(path, ignored)) return path;
    }
  return "";
}

std::string need_file(const MnistFamily& family, const std::vector<std::string>& dirs,
                      const std::string& stem, int rank) {
  for (const std::string& dir : dirs)
    if (std::string path = find_file(dir, stem, rank); !path.empty()) return path;
  const std::string where =
      dirs.empty() ? "without a folder" : fmt::format("in {}", fmt::join(dirs, " or "));
  throw UsageError(fmt::format("[{}] no {}-idx{}-ubyte or {}-idx{}-ubyte.gz {}. HINT: {}",
                               family.op, stem, rank, stem, rank, where, family.how_to_get));
}

std::vector<uint8_t> read_unpacked(const std::string& path) {
  std::vector<uint8_t> bytes = read_file(path);
  return io::is_gzip(bytes) ? io::gunzip(bytes, path, kMaxUnpacked_B) : bytes;
}

}  // namespace

const MnistFamily kMnist{
    .op = "mnist",
    .subfolder = "mnist",
    .system_dir = "",
    .how_to_get =
        "name the folder with the four files of yann.lecun.com/exdb/mnist, or set "
        "TINY_DATA to it"};
const MnistFamily kFashionMnist{
    .op = "fashion_mnist",
    .subfolder = "fashion-mnist",
    .system_dir = "/usr/share/datasets/fashion-mnist",
    .how_to_get =
        "install the Debian package dataset-fashion-mnist, or name the folder with the "
        "four files of github.com/zalandoresearch/fashion-mnist"};

RawDataset pair_idx(std::span<const uint8_t> images, const std::string& images_path,
                    std::span<const uint8_t> labels, const std::string& labels_path,
                    uint8_t max_pixel) {
  const io::IdxArray x = parse_bytes(images, 3, images_path);
  const io::IdxArray y = parse_bytes(labels, 1, labels_path);
  if (x.shape[0] != y.shape[0])
    fail(labels_path,
         fmt::format("{} labels for the {} images of {}", y.shape[0], x.shape[0], images_path));
  check_range(x.data, max_pixel, "pixel", images_path);
  check_range(y.data, kMaxLabel, "label", labels_path);
  return {.images = {x.data.begin(), x.data.end()},
          .shape = {x.shape[0], x.shape[1], x.shape[2]},
          .max_pixel = max_pixel,
          .labels = {y.data.begin(), y.data.end()}};
}

RawDataset raw_digits(Split split) {
  const std::string images_path = "bundled digits-images", labels_path = "bundled digits-labels";
  const auto images = io::gunzip(digits_images_gz(), images_path, kDigitsMaxUnpacked_B);
  const auto labels = io::gunzip(digits_labels_gz(), labels_path, kDigitsMaxUnpacked_B);
  const RawDataset all = pair_idx(images, images_path, labels, labels_path, kDigitsMaxPixel);
  return split_digits(all, split == Split::test);
}

RawDataset raw_mnist(const MnistFamily& family, const std::string& dir, Split split) {
  const std::vector<std::string> from = folders(family, dir);
  const std::string part = split == Split::train ? "train" : "t10k";
  const std::string images_path = need_file(family, from, part + "-images", 3);
  const std::string labels_path = need_file(family, from, part + "-labels", 1);
  return pair_idx(read_unpacked(images_path), images_path, read_unpacked(labels_path), labels_path,
                  255);
}

}  // namespace tiny::data
