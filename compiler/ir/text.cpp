// SPDX-License-Identifier: MIT
#include "compiler/ir/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rt_tiny/runtime/base/error.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "compiler/ir/scalar.h"

namespace tiny::ir {

namespace {

std::string print_real(double v) {
  if (std::isnan(v)) return fmt::format("nan:{:016x}", std::bit_cast<uint64_t>(v));
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  return fmt::format("{}", v);
}

class Printer {
 public:
  std::string run(std::span<const Node* const> roots) {
    for (const Node* n : topological_order(roots)) line(n);
    text_ += "return";
    for (const Node* n : roots) text_ += fmt::format(" %{}", numbers_.at(n));
    return text_ + "\n";
  }

 private:
  void line(const Node* n) {
    const size_t number = numbers_.size();
    numbers_.emplace(n, number);
    text_ += fmt::format("%{} = {} {}", number, info(n->op()).name, name(n->dtype()));
    for (const Node* s : n->sources()) text_ += fmt::format(" %{}", numbers_.at(s));
    argument(n);
    if (!n->shape().empty()) text_ += " ; " + to_string(n->shape());
    text_ += '\n';
  }

  void argument(const Node* n) {
    const Arg& a = n->arg();
    const bool constant = n->is_const();
    if (a.value != 0 || (constant && !is_float(n->dtype())))
      text_ += fmt::format(" value={}", a.value);
    if (std::bit_cast<uint64_t>(a.real) != 0 || (constant && is_float(n->dtype())))
      text_ += " real=" + print_real(a.real);
    if (!a.list.empty()) text_ += fmt::format(" list=[{}]", fmt::join(a.list, ","));
    if (a.object) {
      const size_t number = objects_.try_emplace(a.object.get(), objects_.size()).first->second;
      text_ += fmt::format(" object=@{}", number);
    }
  }

  std::string text_;
  std::unordered_map<const Node*, size_t> numbers_;
  std::unordered_map<const Object*, size_t> objects_;
};

std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line.substr(0, line.find(';'));
}

class Parser {
 public:
  Parser(Arena& arena, std::span<const std::shared_ptr<Object>> objects)
      : arena_(arena), objects_(objects.begin(), objects.end()) {}

  std::vector<const Node*> run(std::string_view text) {
    while (!text.empty()) {
      ++number_;
      rest_ = take_line(text);
      const std::string_view first = word();
      if (first.empty()) continue;
      if (done_) fail("text after return");
      if (first == "return")
        roots();
      else
        node(first);
    }
    if (!done_) fail("no return line");
    return roots_;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw UsageError(fmt::format("[parse] line {}: {}", number_, why));
  }

  std::string_view word() {
    const size_t begin = rest_.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return rest_ = {};
    rest_.remove_prefix(begin);
    const size_t end = std::min(rest_.find_first_of(" \t\r"), rest_.size());
    const std::string_view w = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return w;
  }

  template <class T>
  T number(std::string_view s, int base = 10) const {
    T v{};
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v, base);
    if (error != std::errc() || end != s.data() + s.size()) fail(fmt::format("bad number '{}'", s));
    return v;
  }

  double real(std::string_view s) const {
    if (s.starts_with("nan:")) return std::bit_cast<double>(number<uint64_t>(s.substr(4), 16));
    if (s == "inf") return HUGE_VAL;
    if (s == "-inf") return -HUGE_VAL;
    double v = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (error != std::errc() || end != s.data() + s.size()) fail(fmt::format("bad real '{}'", s));
    return v;
  }

  const Node* reference(std::string_view s) const {
    const size_t index = number<size_t>(s.substr(1));
    if (index >= nodes_.size()) fail(fmt::format("'{}' is not defined yet", s));
    return nodes_[index];
  }

  std::vector<int64_t> list(std::string_view s) const {
    if (s.size() < 2 || s.front() != '[' || s.back() != ']') fail(fmt::format("bad list '{}'", s));
    s = s.substr(1, s.size() - 2);
    std::vector<int64_t> values;
    while (!s.empty()) {
      const size_t end = std::min(s.find(','), s.size());
      values.push_back(number<int64_t>(s.substr(0, end)));
      s.remove_prefix(std::min(end + 1, s.size()));
    }
    return values;
  }

  std::shared_ptr<Object> object(std::string_view s) {
    if (!s.starts_with('@')) fail(fmt::format("bad object '{}'", s));
    const size_t index = number<size_t>(s.substr(1));
    if (index > objects_.size()) fail("objects are numbered in order of appearance");
    if (index == objects_.size()) objects_.push_back(std::make_shared<Object>());
    return objects_[index];
  }

  Op op(std::string_view s) const {
    for (int i = 0; i < op_count(); ++i)
      if (info(static_cast<Op>(i)).name == s) return static_cast<Op>(i);
    fail(fmt::format("unknown op '{}'", s));
  }

  DType dtype(std::string_view s) const {
    for (int i = 0; i < kDTypeCount; ++i)
      if (name(static_cast<DType>(i)) == s) return static_cast<DType>(i);
    fail(fmt::format("unknown dtype '{}'", s));
  }

  void field(Arg& arg, std::string_view w) {
    const size_t eq = w.find('=');
    if (eq == std::string_view::npos) fail(fmt::format("unexpected '{}'", w));
    const std::string_view key = w.substr(0, eq), value = w.substr(eq + 1);
    if (key == "value")
      arg.value = number<int64_t>(value);
    else if (key == "real")
      arg.real = real(value);
    else if (key == "list")
      arg.list = list(value);
    else if (key == "object")
      arg.object = object(value);
    else
      fail(fmt::format("unknown field '{}'", key));
  }

  void node(std::string_view first) {
    if (first != fmt::format("%{}", nodes_.size()))
      fail(fmt::format("expected '%{} ='", nodes_.size()));
    if (word() != "=") fail("expected '='");
    const Op o = op(word());
    const DType t = dtype(word());
    std::vector<const Node*> sources;
    Arg arg;
    for (std::string_view w = word(); !w.empty(); w = word()) {
      if (w.front() == '%')
        sources.push_back(reference(w));
      else
        field(arg, w);
    }
    if (const std::string why = broken_rule(o, t, sources); !why.empty()) fail(why);
    if (const std::string why = broken_shape(o, sources, arg); !why.empty()) fail(why);
    nodes_.push_back(arena_.make(o, t, std::move(sources), std::move(arg)));
  }

  void roots() {
    for (std::string_view w = word(); !w.empty(); w = word()) {
      if (w.front() != '%') fail(fmt::format("unexpected '{}'", w));
      roots_.push_back(reference(w));
    }
    done_ = true;
  }

  Arena& arena_;
  std::vector<std::shared_ptr<Object>> objects_;
  std::string_view rest_;
  size_t number_ = 0;
  std::vector<const Node*> nodes_, roots_;
  bool done_ = false;
};

/// Infix with the fewest parentheses; recursion ends at kMaxDepth, text at kMaxLength.
class Infix {
 public:
  std::string run(const Node* n) {
    write(n, 0, 0);
    return std::move(out_);
  }

 private:
  static constexpr int kMaxDepth = 40;
  static constexpr size_t kMaxLength = 2000;
  enum Level : int { choice, either, both, order, sum, product, atom };

  struct Infixed {
    const char* sign;
    Level level;
  };

  static Infixed infix(const Node* n) {
    const bool boolean = n->dtype() == DType::boolean;
    switch (n->op()) {
      case Op::ADD:
        return {" + ", sum};
      case Op::SUB:
        return {" - ", sum};
      case Op::MUL:
        return {"*", product};
      case Op::FDIV:
        return {"/", product};
      case Op::FLOORDIV:
        return {"//", product};
      case Op::FLOORMOD:
        return {"%", product};
      case Op::CMPLT:
        return {" < ", order};
      case Op::CMPLE:
        return {" <= ", order};
      case Op::CMPEQ:
        return {" == ", order};
      case Op::CMPNE:
        return {" != ", order};
      case Op::AND:
        return {" & ", boolean ? both : product};
      case Op::OR:
        return {" | ", boolean ? either : product};
      default:
        return {nullptr, atom};
    }
  }

  void write(const Node* n, int level, int depth) {
    if (depth > kMaxDepth || out_.size() > kMaxLength) {
      if (!out_.ends_with("…")) out_ += "…";
      return;
    }
    const Infixed how = infix(n);
    const Level own = n->op() == Op::WHERE ? choice : how.level;
    if (own < level) out_ += '(';
    if (how.sign)
      binary(n, how, depth);
    else if (n->op() == Op::WHERE)
      where(n, depth);
    else
      other(n, depth);
    if (own < level) out_ += ')';
  }

  void binary(const Node* n, const Infixed& how, int depth) {
    const Node* b = n->source(1);
    if (n->op() == Op::MUL && is_signed_int(n->dtype()) && b->is_int_const(-1)) {
      out_ += '-';
      return write(n->source(0), atom, depth + 1);
    }
    write(n->source(0), how.level, depth + 1);
    const bool integers = is_signed_int(n->dtype());
    if (n->op() == Op::ADD && integers && b->is_const() && b->arg().value < 0) {
      out_ += fmt::format(" - {}", -static_cast<uint64_t>(b->arg().value));
    } else if (n->op() == Op::ADD && integers && b->op() == Op::MUL &&
               b->source(1)->is_int_const(-1)) {
      out_ += " - ";
      write(b->source(0), product, depth + 1);
    } else {
      out_ += how.sign;
      write(b, how.level + 1, depth + 1);
    }
  }

  void where(const Node* n, int depth) {
    write(n->source(0), either, depth + 1);
    out_ += " ? ";
    write(n->source(1), either, depth + 1);
    out_ += " : ";
    write(n->source(2), choice, depth + 1);
  }

  void arguments(const Node* n, char open, char close, int depth) {
    out_ += open;
    for (size_t i = 0; i < n->sources().size(); ++i) {
      if (i) out_ += n->op() == Op::LOAD || n->op() == Op::STAGE ? " if " : ", ";
      write(n->source(i), choice, depth + 1);
    }
    out_ += close;
  }

  void constant(const Node* n) {
    if (is_float(n->dtype()))
      out_ += print_real(n->arg().real);
    else if (n->dtype() == DType::boolean)
      out_ += n->arg().value ? "true" : "false";
    else if (n->dtype() == DType::u64)
      out_ += fmt::format("{}", static_cast<uint64_t>(n->arg().value));
    else
      out_ += fmt::format("{}", n->arg().value);
  }

  void other(const Node* n, int depth) {
    switch (n->op()) {
      case Op::CONST:
        return constant(n);
      case Op::RANGE:
        out_ += fmt::format("r{}", n->arg().value);
        return;
      case Op::VAR:
        out_ += fmt::format("v{}", n->arg().value);
        return;
      case Op::PARAM:
        out_ += fmt::format("p{}", n->arg().value);
        return;
      case Op::BUFFER:
        out_ += "buffer";
        return;
      case Op::LOAD:
        out_ += fmt::format("b{}", n->arg().value);
        return arguments(n, '[', ']', depth);
      case Op::STAGE:
        out_ += fmt::format("s{}", n->arg().value);
        return n->sources().empty() ? void() : arguments(n, '[', ']', depth);
      case Op::CAST:
        out_ += name(n->dtype());
        return arguments(n, '(', ')', depth);
      default:
        break;
    }
    if (n->op() == Op::XOR && n->dtype() == DType::boolean && n->source(1)->is_int_const(1)) {
      out_ += '!';
      return write(n->source(0), atom, depth + 1);
    }
    for (char c : info(n->op()).name) out_ += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    if (!n->arg().list.empty()) out_ += fmt::format("{}", n->arg().list);
    arguments(n, '(', ')', depth);
  }

  std::string out_;
};

}  // namespace

std::string print(std::span<const Node* const> roots) { return Printer().run(roots); }

std::string print(const Node* root) {
  const Node* roots[] = {root};
  return print(roots);
}

std::vector<const Node*> parse_all(Arena& arena, std::string_view text,
                                   std::span<const std::shared_ptr<Object>> objects) {
  return Parser(arena, objects).run(text);
}

const Node* parse(Arena& arena, std::string_view text) {
  const auto roots = parse_all(arena, text);
  if (roots.size() != 1)
    throw UsageError(fmt::format("[parse] {} roots, expected one", roots.size()));
  return roots[0];
}

std::string pretty(const Node* n) { return Infix().run(n); }

}  // namespace tiny::ir
