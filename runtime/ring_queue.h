// SPDX-License-Identifier: MIT
// A first-in first-out queue that keeps its slots: once it is as long as it gets, it allocates
// nothing any more (a std::deque gives memory back and asks for it again as it moves along).
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace tiny {

/// T is default-constructible and movable. A popped slot keeps its value: what must not live on
/// there (references) the user clears before.
template <class T>
class RingQueue {
 public:
  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  T& front() { return slots_[first_]; }
  T& back() { return slots_[(first_ + count_ - 1) & (capacity_ - 1)]; }
  void pop() {
    first_ = (first_ + 1) & (capacity_ - 1);
    --count_;
  }
  /// A slot at the end, with whatever value its last user left.
  T& push() {
    if (count_ == capacity_) [[unlikely]]
      grow();
    return slots_[(first_ + count_++) & (capacity_ - 1)];
  }

 private:
  void grow() {
    constexpr size_t kFirst = 16;
    const size_t larger = capacity_ ? capacity_ * 2 : kFirst;
    auto slots = std::make_unique<T[]>(larger);
    for (size_t i = 0; i < count_; ++i)
      slots[i] = std::move(slots_[(first_ + i) & (capacity_ - 1)]);
    slots_ = std::move(slots);
    capacity_ = larger;
    first_ = 0;
  }

  std::unique_ptr<T[]> slots_;
  size_t capacity_ = 0;  ///< a power of two
  size_t first_ = 0, count_ = 0;
};

}  // namespace tiny
