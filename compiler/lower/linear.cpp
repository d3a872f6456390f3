// SPDX-License-Identifier: MIT
#include "compiler/lower/linear.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace tiny::lower {

namespace {

const char* spelling(Code c) {
  constexpr const char* names[] = {"alu",        "splat",   "extract",  "pack",    "fold",
                                   "group_fold", "barrier", "variable", "address", "choose",
                                   "load",       "store",   "loop",     "branch"};
  return names[static_cast<size_t>(c)];
}

class Printer {
 public:
  explicit Printer(const Function& f) : f_(f) {}
  std::string run() {
    block(f_.body, 1);
    return std::move(out_);
  }

 private:
  std::string name(Id id) const {
    if (id < 0) return "none";
    const LinearValue& v = f_.values[static_cast<size_t>(id)];
    if (v.kind != LinearValue::Kind::constant) return fmt::format("%{}", id);
    if (v.stride) return fmt::format("<{} + {}k>", v.integer, v.stride);
    return is_float(v.dtype) ? fmt::format("{}", v.real) : fmt::format("{}", v.integer);
  }
  void start(int depth) { out_.append(static_cast<size_t>(depth) * 2, ' '); }
  void block(const Block& b, int depth) {
    for (const Instruction& i : b) instruction(i, depth);
  }
  void instruction(const Instruction& i, int depth) {
    start(depth);
    if (i.code == Code::loop) return loop(*i.loop, depth);
    if (i.result >= 0) {
      const LinearValue& v = f_.values[static_cast<size_t>(i.result)];
      out_ += fmt::format("%{} : {}{} = ", i.result, tiny::name(v.dtype),
                          v.kind == LinearValue::Kind::address ? "*"
                          : v.lanes > 1                        ? fmt::format("x{}", v.lanes)
                                                               : "");
    }
    out_ += spelling(i.code);
    if (i.code == Code::alu || i.code == Code::fold || i.code == Code::group_fold)
      out_ += fmt::format(" {}", ir::info(i.op).name);
    for (Id a : i.args) out_ += " " + name(a);
    if (i.offset) out_ += fmt::format(" #{}", i.offset);
    out_ += '\n';
    if (i.code == Code::branch) block(i.loop->body, depth + 1);
  }
  void loop(const Loop& l, int depth) {
    out_ += fmt::format("loop %{} = {}..{}", l.index, name(l.begin), name(l.end));
    for (const auto& c : l.carried)
      out_ += fmt::format(" (%{} = {}, then {}, gives %{})", c.current, name(c.init), name(c.next),
                          c.result);
    out_ += '\n';
    block(l.body, depth + 1);
  }

  const Function& f_;
  std::string out_;
};

/// Walks a function as it runs; `seen` holds what is defined here.
class Checker {
 public:
  explicit Checker(const Function& f) : f_(f), seen_(f.values.size(), 0) {}
  std::string run() {
    define(f_.group);
    if (f_.item >= 0) define(f_.item);
    for (Id b : f_.bases) define(b);
    for (const Function::Local& l : f_.locals) {
      define(l.base);
      if (l.offset_B % 64 || l.offset_B < 0 || l.offset_B >= f_.local_B)
        fail(fmt::format("%{} is outside the local memory", l.base));
    }
    block(f_.body);
    return error_;
  }

 private:
  void fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }
  void define(Id id) {
    if (id < 0 || id >= static_cast<Id>(seen_.size())) return fail("no such value");
    if (seen_[static_cast<size_t>(id)]++) fail(fmt::format("%{} is defined twice", id));
    open_.push_back(id);
  }
  void use(Id id) {
    if (id < 0 || id >= static_cast<Id>(seen_.size())) return fail("no such value");
    const bool constant = f_.values[static_cast<size_t>(id)].kind == LinearValue::Kind::constant;
    if (!constant && seen_[static_cast<size_t>(id)] != 1)
      fail(fmt::format("%{} is used where it is not defined", id));
  }
  const LinearValue& value(Id id) const { return f_.values[static_cast<size_t>(id)]; }
  /// Values of a closed block are out of reach: marked 2.
  void close(size_t mark) {
    for (; open_.size() > mark; open_.pop_back()) seen_[static_cast<size_t>(open_.back())] = 2;
  }
  void block(const Block& b) {
    for (const Instruction& i : b) {
      if (!error_.empty()) return;
      instruction(i);
    }
  }
  void instruction(const Instruction& i) {
    if (i.code == Code::loop) return loop(*i.loop);
    for (Id a : i.args) use(a);
    if (!error_.empty()) return;
    if (i.code == Code::alu)
      for (Id a : i.args)
        if (value(a).lanes != value(i.result).lanes) fail(fmt::format("lanes of %{}", i.result));
    if (i.code == Code::load && value(i.result).dtype != value(i.args[0]).dtype)
      fail(fmt::format("dtype of load %{}", i.result));
    if (i.code == Code::store && value(i.args[1]).dtype != value(i.args[0]).dtype)
      fail("dtype of a store");
    if (i.result >= 0) define(i.result);
    if (i.code == Code::branch) {
      const size_t mark = open_.size();
      block(i.loop->body);
      close(mark);
    }
  }
  void loop(const Loop& l) {
    use(l.begin);
    use(l.end);
    for (const auto& c : l.carried) use(c.init);
    const size_t mark = open_.size();
    define(l.index);
    for (const auto& c : l.carried) define(c.current);
    block(l.body);
    for (const auto& c : l.carried) {
      use(c.next);
      if (!error_.empty()) return;
      if (value(c.next).lanes != value(c.current).lanes ||
          value(c.next).dtype != value(c.current).dtype)
        fail(fmt::format("type of carried %{}", c.current));
    }
    close(mark);
    for (const auto& c : l.carried) define(c.result);
  }

  const Function& f_;
  std::vector<char> seen_;
  std::vector<Id> open_;
  std::string error_;
};

}  // namespace

bool LinearCode::together() const {
  return group_size == 1 &&
         std::all_of(pieces.begin(), pieces.end(), [](const Function& f) { return f.groups == 1; });
}

int64_t LinearCode::groups_of(const Function& f) const {
  return f.item >= 0 ? f.groups : (f.groups + group_size - 1) / group_size;
}

int64_t LinearCode::groups() const {
  if (together()) return 1;
  int64_t total = 0;
  for (const Function& f : pieces) total += groups_of(f);
  return total;
}

int64_t LinearCode::local_B() const {
  int64_t most = 0;
  for (const Function& f : pieces) most = std::max(most, f.local_B);
  return most;
}

std::string print(const LinearCode& code) {
  std::string out = fmt::format("code {}\n", code.name);
  for (const Function& f : code.pieces) {
    out += fmt::format("piece, {} groups", f.groups);
    out += f.item >= 0 ? fmt::format(" of {} items\n", f.items) : "\n";
    for (const Function::Local& l : f.locals)
      out += fmt::format("  %{} : {}* = local + {} bytes\n", l.base,
                         name(f.values[static_cast<size_t>(l.base)].dtype), l.offset_B);
    out += Printer(f).run();
  }
  return out;
}

void verify(const LinearCode& code) {
  for (const Function& f : code.pieces) {
    const std::string what = Checker(f).run();
    CHECK_INVARIANT(what.empty(), what + "\n" + print(code));
  }
}

}  // namespace tiny::lower
