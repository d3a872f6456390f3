// SPDX-License-Identifier: MIT
// Random numbers: known vectors of the generator, reproducibility, and the shape of distributions.
#include <rt_tiny/frontend/random.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontend/cell.h"

namespace tiny {
namespace {

struct Moments {
  double mean, deviation, least, most;
};
Moments moments(const Tensor& t) {
  const std::vector<double> v = t.to_vector<double>();
  const double n = static_cast<double>(v.size()),
               mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
  double square = 0;
  for (double x : v) square += (x - mean) * (x - mean);
  return {mean, std::sqrt(square / n), *std::min_element(v.begin(), v.end()),
          *std::max_element(v.begin(), v.end())};
}

uint64_t threefry(uint64_t counter, uint64_t key) {
  const auto one = [](uint64_t v) { return Tensor::from(std::vector<uint64_t>{v}); };
  return detail::build(ir::Op::THREEFRY, DType::u64, one(counter), one(key)).item<uint64_t>();
}

}  // namespace

TEST_CASE("threefry2x32-20 gives the vectors of Random123's kat_vectors", "[random]") {
  // Words there, low word first here: 6b200159 99ba4efe; 1cb996fc bb002be7; c4923a9c 483df7a0.
  CHECK(threefry(0, 0) == 0x99ba4efe6b200159);
  CHECK(threefry(~uint64_t{0}, ~uint64_t{0}) == 0xbb002be71cb996fc);
  CHECK(threefry(0x85a308d3243f6a88, 0x0370734413198a2e) == 0x483df7a0c4923a9c);
}

TEST_CASE("a seed gives the same numbers again, another seed others", "[random]") {
  manual_seed(7);
  const auto a = Tensor::rand({16}).to_vector<float>(), b = Tensor::rand({16}).to_vector<float>();
  manual_seed(7);
  const auto again = Tensor::rand({16}).to_vector<float>();
  manual_seed(8);
  const auto other = Tensor::rand({16}).to_vector<float>();
  CHECK(a == again);
  CHECK(a != b);
  CHECK(a != other);
}

TEST_CASE("one tensor has one set of numbers, however often it is read", "[random]") {
  const Tensor t = Tensor::rand({4});
  const auto twice = (t - t).to_vector<float>();
  CHECK(twice == std::vector<float>(4, 0));
  CHECK(t.to_vector<float>() == (t + 0).to_vector<float>());
}

TEST_CASE("a traced counter draws what the host's would", "[random]") {
  manual_seed(3);
  const auto first = Tensor::rand({5}).to_vector<float>(),
             second = Tensor::randn({5}).to_vector<float>();
  manual_seed(3);
  random_state().begin_trace();
  const Tensor a = Tensor::rand({5}), b = Tensor::randn({5});
  CHECK(random_state().end_trace() == 10);
  CHECK(a.to_vector<float>() == first);
  CHECK(b.to_vector<float>() == second);
  const uint64_t before = random_position();
  advance_random(10);
  CHECK(random_state().counter().item<uint64_t>() == before + 10);
}

TEST_CASE("uniform, normal and integer draws have their distributions", "[random]") {
  manual_seed(1);
  const int64_t n = 20000;
  const Moments u = moments(Tensor::rand({n}));
  CHECK(u.mean == Approx(0.5).margin(0.01));
  CHECK(u.deviation == Approx(std::sqrt(1.0 / 12)).margin(0.01));
  CHECK(u.least >= 0);
  CHECK(u.most < 1);
  const Moments g = moments(Tensor::randn({n}));
  CHECK(g.mean == Approx(0).margin(0.03));
  CHECK(g.deviation == Approx(1).margin(0.03));
  CHECK(g.most > 3);
  CHECK(g.most < 7);
  const Moments d = moments(Tensor::randint({n}, -3, 4));
  CHECK(d.least == -3);
  CHECK(d.most == 3);
  CHECK(d.mean == Approx(0).margin(0.05));
  const Moments w = moments(Tensor::uniform({n}, -2, 6));
  CHECK(w.mean == Approx(2).margin(0.08));
  CHECK(w.least >= -2);
  CHECK(w.most < 6);
  const Moments h = moments(Tensor::rand({n}, DType::f16));
  CHECK(h.most < 1);
}

TEST_CASE("randperm is a permutation that moves", "[random]") {
  manual_seed(2);
  std::vector<int64_t> p = Tensor::randperm(100).to_vector<int64_t>(), sorted(100);
  std::iota(sorted.begin(), sorted.end(), 0);
  CHECK(p != sorted);
  std::sort(p.begin(), p.end());
  CHECK(p == sorted);
}

TEST_CASE("dropout keeps the expected share and scales it", "[random]") {
  manual_seed(4);
  const std::vector<float> v = Tensor::ones({10000}).dropout(0.25).to_vector<float>();
  const auto zeros = std::count(v.begin(), v.end(), 0.0f);
  CHECK(zeros > 2300);
  CHECK(zeros < 2700);
  CHECK(std::count_if(v.begin(), v.end(), [](float x) { return x == Approx(1 / 0.75); }) ==
        10000 - zeros);
}

}  // namespace tiny
