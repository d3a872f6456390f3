// SPDX-License-Identifier: MIT
#include "models/amd/order.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace tiny::models::amd {
namespace {

constexpr size_t kTexts = 64;
uint64_t key_of(const void* word) { return reinterpret_cast<uint64_t>(word) >> 3; }

}  // namespace

void Clock::set(unsigned line, uint32_t sequence) {
  if (line >= seen_.size()) seen_.resize(line + 1);
  seen_[line] = std::max(seen_[line], sequence);
}

void Clock::join(const Clock& other) {
  if (seen_.size() < other.seen_.size()) seen_.resize(other.seen_.size());
  for (size_t i = 0; i < other.seen_.size(); ++i) seen_[i] = std::max(seen_[i], other.seen_[i]);
}

unsigned OrderBook::add_line(std::string name, unsigned gpu) {
  lines_.push_back({std::move(name), gpu, 0, {}});
  return unsigned(lines_.size() - 1);
}

uint32_t OrderBook::add_task(unsigned line, std::string text) {
  Line& l = lines_[line];
  l.texts.emplace_back(++l.last, std::move(text));
  if (l.texts.size() > kTexts) l.texts.pop_front();
  return l.last;
}

std::string OrderBook::describe(unsigned line, uint32_t sequence) const {
  const Line& l = lines_[line];
  for (const auto& [number, text] : l.texts)
    if (number == sequence) return fmt::format("{} ({})", text, l.name);
  return fmt::format("task {} of {}", sequence, l.name);
}

void OrderBook::release(const void* word, const Clock& clock) {
  words_[key_of(word)].join(clock);
  host_.join(clock);
}

void OrderBook::acquire(const void* word, Clock& clock) const {
  const auto at = words_.find(key_of(word));
  clock.join(at == words_.end() ? host_ : at->second);
}

void OrderBook::forget(const void* from, const void* to) {
  std::erase_if(words_, [&](const auto& entry) {
    return entry.first >= key_of(from) && entry.first < key_of(to);
  });
}

}  // namespace tiny::models::amd
