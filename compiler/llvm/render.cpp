// SPDX-License-Identifier: MIT
#include "compiler/llvm/render.h"

#include <rt_tiny/runtime/base/error.h>

#include <fmt/format.h>

#include <bit>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

namespace tiny {

namespace {

using ir::Op;
using lower::Block;
using lower::Code;
using lower::Function;
using lower::Id;
using lower::Instruction;
using lower::LinearValue;
using lower::Loop;

std::string scalar_type(DType t) {
  switch (t) {
    case DType::boolean:
      return "i1";
    case DType::f16:
      return "half";
    case DType::bf16:
      return "i16";  // its bits: few targets know the type
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    default:
      return fmt::format("i{}", size_B(t) * 8);
  }
}

std::string type_of(DType t, int lanes) {
  return lanes == 1 ? scalar_type(t) : fmt::format("<{} x {}>", lanes, scalar_type(t));
}

/// As it lies in memory: bool is a byte.
DType stored(DType t) { return t == DType::boolean ? DType::u8 : t; }

int bits(DType t) { return static_cast<int>(size_B(t)) * 8; }

std::string literal(DType t, int64_t integer, double real) {
  switch (t) {
    case DType::boolean:
      return integer ? "true" : "false";
    case DType::f16:
      return fmt::format("0xH{:04X}", Half(static_cast<float>(real)).bits);
    case DType::bf16:
      return fmt::format("{}", BFloat16(static_cast<float>(real)).bits);
    case DType::f32:
    case DType::f64:
      return fmt::format("0x{:016X}", std::bit_cast<uint64_t>(real));
    default:
      return fmt::format("{}", integer);
  }
}

/// "v8f32", "i64": how intrinsics spell types.
std::string mangled(DType t, int lanes) {
  const std::string element = is_float(t) && t != DType::bf16 ? fmt::format("f{}", bits(t))
                              : t == DType::boolean           ? "i1"
                                                              : fmt::format("i{}", bits(t));
  return lanes == 1 ? element : fmt::format("v{}{}", lanes, element);
}

/// An operand as text with its type.
struct Operand {
  std::string text;
  DType dtype;
  int lanes;
};

class Renderer {
 public:
  Renderer(const lower::LinearCode& code, const Target& target, const RenderOptions& options)
      : code_(code), target_(target), options_(options) {}
  std::string run();

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_ += "  ";
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  std::string temp() { return fmt::format("%t{}", temps_++); }
  /// Defines a fresh name by the formatted right-hand side.
  template <class... Args>
  std::string let(fmt::format_string<Args...> format, Args&&... args) {
    std::string name = std::exchange(wanted_, {});
    if (name.empty()) name = temp();
    line("{} = {}", name, fmt::format(format, std::forward<Args>(args)...));
    return name;
  }

  Operand operand(Id id) const;
  std::string name_of(Id id) const;
  std::string constant(DType, int lanes, int64_t integer, double real) const;
  void label(const std::string& name);
  std::string call(const std::string& base, DType t, int lanes,
                   std::initializer_list<Operand> args);
  std::string select(const std::string& cond, const Operand& yes, const std::string& no);

  void function(size_t piece);
  void block(const Block&);
  void instruction(const Instruction&);
  void loop(const Loop&);
  void branch(const Instruction&);
  void address(const Instruction&);
  void choose(const Instruction&);
  std::string pointer(const Instruction&);
  void load(const Instruction&);
  void store(const Instruction&);
  void pack(const Instruction&);
  void splat(const Instruction&);
  void fold(const Instruction&);
  void group_fold(const Instruction&);
  std::string exchange(const Operand& x, int64_t distance);
  std::string across_waves(Op op, const Operand& x);
  void barrier();
  void call_piece(size_t piece, int64_t first_group);
  void entry();
  /// LLVM's number of the address space that buffers are in: 1 is global memory of every GPU.
  int space() const { return target_.is_cpu ? 0 : 1; }
  /// The same of the group's local memory.
  int local_space() const { return target_.is_cpu ? 0 : 3; }
  int space_of(Id address) const {
    return f_->values[static_cast<size_t>(address)].in_local ? local_space() : space();
  }
  static std::string pointer_type(int space) {
    return space ? fmt::format("ptr addrspace({})", space) : "ptr";
  }
  std::string pointer_type() const { return pointer_type(space()); }
  std::string group_number(int64_t first_group);
  std::string item_number(int64_t first_group);
  void call_items(size_t piece, int64_t first_group);
  void local_memory();
  void kernel();

  std::string alu(Op op, DType t, int lanes, const std::vector<Operand>& a, bool plain);
  std::string unary(Op op, const Operand& x);
  std::string floats(Op op, const Operand& a, const Operand& b);
  std::string integers(Op op, const Operand& a, const Operand& b, bool plain);
  std::string divide(Op op, const Operand& a, const Operand& b, bool plain);
  std::string shift(Op op, const Operand& a, const Operand& b, bool plain);
  std::string extreme(Op op, const Operand& a, const Operand& b);
  std::string compare(Op op, const Operand& a, const Operand& b);
  std::string cast(DType t, const Operand& x);
  std::string from_integer(DType t, const Operand& x);
  std::string to_integer(DType t, const Operand& x);
  std::string float_to_float(DType t, const Operand& x);
  std::string bitcast(DType t, const Operand& x);

  const lower::LinearCode& code_;
  const Target& target_;
  const RenderOptions& options_;
  const Function* f_ = nullptr;
  std::string out_, wanted_, block_label_;
  std::string item_;  ///< i32: number of this work-item in its group
  int temps_ = 0, labels_ = 0;
  std::set<std::string> declarations_;
};

// ---- operands

std::string Renderer::constant(DType t, int lanes, int64_t integer, double real) const {
  const std::string one = literal(t, integer, real);
  if (lanes == 1) return one;
  const std::string element = scalar_type(t) + " " + one;
  std::string s = "<";
  for (int k = 0; k < lanes; ++k) s += (k ? ", " : "") + element;
  return s + ">";
}

std::string Renderer::name_of(Id id) const {
  const LinearValue& v = f_->values[static_cast<size_t>(id)];
  if (v.kind != LinearValue::Kind::constant) return fmt::format("%v{}", id);
  if (!v.stride) return constant(v.dtype, v.lanes, v.integer, v.real);
  std::string s = "<";
  for (int k = 0; k < v.lanes; ++k)
    s += fmt::format("{}{} {}", k ? ", " : "", scalar_type(v.dtype), v.integer + k * v.stride);
  return s + ">";
}

Operand Renderer::operand(Id id) const {
  const LinearValue& v = f_->values[static_cast<size_t>(id)];
  return {name_of(id), v.dtype, v.lanes};
}

void Renderer::label(const std::string& name) {
  out_ += name + ":\n";
  block_label_ = name;
}

std::string Renderer::call(const std::string& base, DType t, int lanes,
                           std::initializer_list<Operand> args) {
  const std::string name = fmt::format("@llvm.{}.{}", base, mangled(t, lanes));
  std::string types, operands;
  for (const Operand& a : args) {
    types += (types.empty() ? "" : ", ") + type_of(a.dtype, a.lanes);
    operands += (operands.empty() ? "" : ", ") + type_of(a.dtype, a.lanes) + " " + a.text;
  }
  declarations_.insert(fmt::format("declare {} {}({})", type_of(t, lanes), name, types));
  return let("call {} {}({})", type_of(t, lanes), name, operands);
}

std::string Renderer::select(const std::string& cond, const Operand& yes, const std::string& no) {
  const std::string type = type_of(yes.dtype, yes.lanes);
  return let("select {} {}, {} {}, {} {}", type_of(DType::boolean, yes.lanes), cond, type, yes.text,
             type, no);
}

// ---- element-wise ops

std::string Renderer::compare(Op op, const Operand& a, const Operand& b) {
  const bool real = is_float(a.dtype) && a.dtype != DType::bf16;
  const bool is_signed = is_signed_int(a.dtype);
  const char* predicate = nullptr;
  switch (op) {
    case Op::CMPLT:
      predicate = real ? "olt" : is_signed ? "slt" : "ult";
      break;
    case Op::CMPLE:
      predicate = real ? "ole" : is_signed ? "sle" : "ule";
      break;
    case Op::CMPEQ:
      predicate = real ? "oeq" : "eq";
      break;
    default:
      predicate = real ? "une" : "ne";
  }
  return let("{} {} {} {}, {}", real ? "fcmp" : "icmp", predicate, type_of(a.dtype, a.lanes),
             a.text, b.text);
}

/// A constant other than NaN.
bool is_number(const std::string& text) {
  return text[0] != '%' && text.find("0x7FF8") == text.npos && text.find("0xFFF8") == text.npos;
}

/// The compare-and-select pair that x86 and others have as one instruction gives its second operand
/// when unordered; so b's NaN passes by itself, a's by another select unless a is a number.
std::string Renderer::extreme(Op op, const Operand& a, const Operand& b) {
  const std::string type = type_of(a.dtype, a.lanes);
  if (a.dtype == DType::boolean)
    return let("{} {} {}, {}", op == Op::MAX ? "or" : "and", type, a.text, b.text);
  if (!is_float(a.dtype)) {
    const char* sign = is_unsigned(a.dtype) ? "u" : "s";
    return call(fmt::format("{}{}", sign, op == Op::MAX ? "max" : "min"), a.dtype, a.lanes, {a, b});
  }
  if (is_number(b.text) && !is_number(a.text)) return extreme(op, b, a);
  const std::string wanted = std::exchange(wanted_, {});
  const bool whole = is_number(a.text);
  const std::string better =
      let("fcmp {} {} {}, {}", op == Op::MAX ? "ogt" : "olt", type, a.text, b.text);
  if (whole) wanted_ = wanted;
  const std::string best = select(better, a, b.text);
  if (whole) return best;
  const std::string nan = let("fcmp uno {} {}, {}", type, a.text, a.text);
  wanted_ = wanted;
  return select(nan, a, best);
}

std::string Renderer::floats(Op op, const Operand& a, const Operand& b) {
  const char* name = nullptr;
  switch (op) {
    case Op::ADD:
      name = "fadd contract";
      break;
    case Op::SUB:
      name = "fsub contract";
      break;
    case Op::MUL:
      name = "fmul contract";
      break;
    case Op::FDIV:
      name = "fdiv";
      break;
    default:
      CHECK_INVARIANT(false, std::string(ir::info(op).name) + " is no float op");
  }
  // Not reassoc, nnan, ninf or nsz even then: decomposed functions cancel rounding errors on
  // purpose.
  const bool reciprocal = options_.fast_math && op == Op::FDIV;
  return let("{}{} {} {}, {}", name, reciprocal ? " arcp afn" : "", type_of(a.dtype, a.lanes),
             a.text, b.text);
}

/// x / 0 = 0, least / -1 wraps: the divisor is replaced where LLVM would have no answer.
std::string Renderer::divide(Op op, const Operand& a, const Operand& b, bool plain) {
  const std::string type = type_of(a.dtype, a.lanes);
  const bool quotient = op == Op::IDIV || op == Op::FLOORDIV;
  const bool is_signed = is_signed_int(a.dtype);
  const bool floored = is_signed && !plain && (op == Op::FLOORDIV || op == Op::FLOORMOD);
  const char* sign = is_signed && !plain ? "s" : "u";
  if (plain) return let("{}{} {} {}, {}", sign, quotient ? "div" : "rem", type, a.text, b.text);
  const std::string wanted = std::exchange(wanted_, {});
  const auto number = [&](int64_t v) { return constant(a.dtype, a.lanes, v, 0); };
  const std::string zero = number(0), mask_type = type_of(DType::boolean, a.lanes);
  const std::string by_zero = let("icmp eq {} {}, {}", type, b.text, zero);
  std::string unsafe = by_zero, by_minus;
  if (is_signed) {
    by_minus = let("icmp eq {} {}, {}", type, b.text, number(-1));
    unsafe = let("or {} {}, {}", mask_type, by_zero, by_minus);
  }
  const std::string safe = select(unsafe, {number(1), a.dtype, a.lanes}, b.text);
  std::string result;
  if (quotient || floored) result = let("{}div {} {}, {}", sign, type, a.text, safe);
  std::string rest;
  if (!quotient || floored) rest = let("{}rem {} {}, {}", sign, type, a.text, safe);
  if (floored) {
    const std::string inexact = let("icmp ne {} {}, {}", type, rest, zero);
    const std::string mixed = let("xor {} {}, {}", type, a.text, b.text);
    const std::string below = let("icmp slt {} {}, {}", type, mixed, zero);
    const std::string down = let("and {} {}, {}", mask_type, inexact, below);
    if (quotient) {
      const std::string less = let("sub {} {}, {}", type, result, number(1));
      result = select(down, {less, a.dtype, a.lanes}, result);
    } else {
      const std::string more = let("add {} {}, {}", type, rest, safe);
      rest = select(down, {more, a.dtype, a.lanes}, rest);
    }
  }
  if (!quotient) {  // by the 1 that stands for 0 and -1, the rest is 0
    wanted_ = wanted;
    return select(by_zero, {zero, a.dtype, a.lanes}, rest);
  }
  if (is_signed) {
    const std::string negated = let("sub {} {}, {}", type, zero, a.text);
    result = select(by_minus, {negated, a.dtype, a.lanes}, result);
  }
  wanted_ = wanted;
  return select(by_zero, {zero, a.dtype, a.lanes}, result);
}

std::string Renderer::shift(Op op, const Operand& a, const Operand& b, bool plain) {
  const std::string type = type_of(a.dtype, a.lanes);
  const bool arithmetic = op == Op::SHR && is_signed_int(a.dtype);
  const char* name = op == Op::SHL ? "shl" : arithmetic ? "ashr" : "lshr";
  if (plain) return let("{} {} {}, {}", name, type, a.text, b.text);
  const std::string wanted = std::exchange(wanted_, {});
  const std::string inside =
      let("icmp ult {} {}, {}", type, b.text, constant(a.dtype, a.lanes, bits(a.dtype), 0));
  const std::string most = constant(a.dtype, a.lanes, bits(a.dtype) - 1, 0);
  const std::string zero = constant(a.dtype, a.lanes, 0, 0);
  const std::string amount = select(inside, b, arithmetic ? most : zero);
  if (arithmetic) wanted_ = wanted;
  const std::string shifted = let("{} {} {}, {}", name, type, a.text, amount);
  if (arithmetic) return shifted;
  wanted_ = wanted;
  return select(inside, {shifted, a.dtype, a.lanes}, zero);
}

std::string Renderer::integers(Op op, const Operand& a, const Operand& b, bool plain) {
  const bool boolean = a.dtype == DType::boolean;
  const char* name = nullptr;
  switch (op) {
    case Op::ADD:
      name = boolean ? "or" : "add";
      break;
    case Op::SUB:
      name = "sub";
      break;
    case Op::MUL:
      name = boolean ? "and" : "mul";
      break;
    case Op::AND:
      name = "and";
      break;
    case Op::OR:
      name = "or";
      break;
    case Op::XOR:
      name = "xor";
      break;
    case Op::SHL:
    case Op::SHR:
      return shift(op, a, b, plain);
    default:
      return divide(op, a, b, plain);
  }
  return let("{} {} {}, {}", name, type_of(a.dtype, a.lanes), a.text, b.text);
}

std::string Renderer::unary(Op op, const Operand& x) {
  const std::string type = type_of(x.dtype, x.lanes);
  switch (op) {
    case Op::NEG:
      if (is_float(x.dtype)) return let("fneg {} {}", type, x.text);
      return let("sub {} {}, {}", type, constant(x.dtype, x.lanes, 0, 0), x.text);
    case Op::ABS:
      if (is_float(x.dtype)) return call("fabs", x.dtype, x.lanes, {x});
      if (!is_signed_int(x.dtype))
        return let("add {} {}, {}", type, x.text, constant(x.dtype, x.lanes, 0, 0));
      return call("abs", x.dtype, x.lanes, {x, {"false", DType::boolean, 1}});
    case Op::SQRT:
      return call("sqrt", x.dtype, x.lanes, {x});
    case Op::TRUNC:
      return call("trunc", x.dtype, x.lanes, {x});
    case Op::FLOOR:
      return call("floor", x.dtype, x.lanes, {x});
    case Op::CEIL:
      return call("ceil", x.dtype, x.lanes, {x});
    default:
      return call("roundeven", x.dtype, x.lanes, {x});
  }
}

std::string Renderer::bitcast(DType t, const Operand& x) {
  if (t == DType::boolean) return cast(t, {x.text, DType::u8, x.lanes});
  if (x.dtype == DType::boolean)
    return let("zext {} {} to {}", type_of(x.dtype, x.lanes), x.text, type_of(t, x.lanes));
  return let("bitcast {} {} to {}", type_of(x.dtype, x.lanes), x.text, type_of(t, x.lanes));
}

std::string Renderer::from_integer(DType t, const Operand& x) {
  if (is_float(t))
    return let("{} {} {} to {}", is_signed_int(x.dtype) ? "sitofp" : "uitofp",
               type_of(x.dtype, x.lanes), x.text, type_of(t, x.lanes));
  const int from = x.dtype == DType::boolean ? 1 : bits(x.dtype), to = bits(t);
  const char* name = from > to                ? "trunc"
                     : from == to             ? "bitcast"
                     : is_signed_int(x.dtype) ? "sext"
                                              : "zext";
  return let("{} {} {} to {}", name, type_of(x.dtype, x.lanes), x.text, type_of(t, x.lanes));
}

/// Narrow types through i32, u32 through i64, u64 by its upper half apart (compiler/ir/scalar.h).
/// Frozen: where the value does not fit LLVM has no answer, and the machine's will do.
std::string Renderer::to_integer(DType t, const Operand& x) {
  const std::string from = type_of(x.dtype, x.lanes);
  const auto convert = [&](const std::string& text, DType via) {
    const std::string raw = let("fptosi {} {} to {}", from, text, type_of(via, x.lanes));
    return let("freeze {} {}", type_of(via, x.lanes), raw);
  };
  const std::string wanted = std::exchange(wanted_, {});
  if (t == DType::u64) {
    const std::string half = constant(x.dtype, x.lanes, 0, 9223372036854775808.0);
    const std::string large = let("fcmp oge {} {}, {}", from, x.text, half);
    const std::string low = convert(x.text, DType::i64);
    const std::string shifted = let("fsub {} {}, {}", from, x.text, half);
    const std::string type = type_of(t, x.lanes);
    const std::string high =
        let("xor {} {}, {}", type, convert(shifted, DType::i64),
            constant(DType::i64, x.lanes, std::numeric_limits<int64_t>::min(), 0));
    wanted_ = wanted;
    return select(large, {high, t, x.lanes}, low);
  }
  const DType via = t == DType::i64 || t == DType::u32 ? DType::i64 : DType::i32;
  const std::string raw = let("fptosi {} {} to {}", from, x.text, type_of(via, x.lanes));
  if (bits(via) == bits(t)) {
    wanted_ = wanted;
    return let("freeze {} {}", type_of(via, x.lanes), raw);
  }
  const std::string frozen = let("freeze {} {}", type_of(via, x.lanes), raw);
  wanted_ = wanted;
  return let("trunc {} {} to {}", type_of(via, x.lanes), frozen, type_of(t, x.lanes));
}

/// Between f32 and f64 directly; the 16-bit types go through f32, bf16 by integer arithmetic.
std::string Renderer::float_to_float(DType t, const Operand& x) {
  const auto type = [&](DType d) { return type_of(d, x.lanes); };
  const std::string wanted = std::exchange(wanted_, {});
  std::string text = x.text;
  DType now = x.dtype;
  const auto last = [&](DType result) {
    now = result;
    if (result == t) wanted_ = wanted;
  };
  if (now == DType::bf16) {
    const std::string wide = let("zext {} {} to {}", type(DType::bf16), text, type(DType::u32));
    const std::string high =
        let("shl {} {}, {}", type(DType::u32), wide, constant(DType::u32, x.lanes, 16, 0));
    last(DType::f32);
    text = let("bitcast {} {} to {}", type(DType::u32), high, type(DType::f32));
  } else if (now == DType::f16) {
    last(DType::f32);
    text = let("fpext {} {} to {}", type(DType::f16), text, type(DType::f32));
  }
  if (now == DType::f64) {
    last(DType::f32);
    text = let("fptrunc {} {} to {}", type(DType::f64), text, type(DType::f32));
  }
  if (t == now) return text;
  if (t == DType::f64) {
    last(t);
    return let("fpext {} {} to {}", type(DType::f32), text, type(t));
  }
  if (t == DType::f16) {
    last(t);
    return let("fptrunc {} {} to {}", type(DType::f32), text, type(t));
  }
  const auto number = [&](int64_t v) { return constant(DType::u32, x.lanes, v, 0); };
  const std::string u32 = type(DType::u32);
  const std::string raw = let("bitcast {} {} to {}", type(DType::f32), text, u32);
  const std::string up = let("lshr {} {}, {}", u32, raw, number(16));
  const std::string odd = let("and {} {}, {}", u32, up, number(1));
  const std::string bias = let("add {} {}, {}", u32, odd, number(0x7fff));
  const std::string rounded = let("add {} {}, {}", u32, raw, bias);
  const std::string nan = let("fcmp uno {} {}, {}", type(DType::f32), text, text);
  const std::string quiet = let("or {} {}, {}", u32, raw, number(0x400000));
  const std::string picked = select(nan, {quiet, DType::u32, x.lanes}, rounded);
  const std::string high = let("lshr {} {}, {}", u32, picked, number(16));
  wanted_ = wanted;
  return let("trunc {} {} to {}", u32, high, type(t));
}

std::string Renderer::cast(DType t, const Operand& x) {
  const std::string type = type_of(x.dtype, x.lanes);
  if (t == x.dtype) return let("bitcast {} {} to {}", type, x.text, type);
  const bool half = x.dtype == DType::f16 || x.dtype == DType::bf16;
  if (half && !is_float(t)) {
    const std::string wanted = std::exchange(wanted_, {});
    const std::string wide = float_to_float(DType::f32, x);
    wanted_ = wanted;
    return cast(t, {wide, DType::f32, x.lanes});
  }
  if (t == DType::boolean)
    return let("{} {} {}, {}", is_float(x.dtype) ? "fcmp une" : "icmp ne", type, x.text,
               constant(x.dtype, x.lanes, 0, 0));
  if (is_float(x.dtype)) return is_float(t) ? float_to_float(t, x) : to_integer(t, x);
  if (t == DType::f16 || t == DType::bf16) {
    const std::string wanted = std::exchange(wanted_, {});
    const std::string wide = from_integer(DType::f32, x);
    wanted_ = wanted;
    return float_to_float(t, {wide, DType::f32, x.lanes});
  }
  return from_integer(t, x);
}

std::string Renderer::alu(Op op, DType t, int lanes, const std::vector<Operand>& a, bool plain) {
  switch (ir::info(op).kind) {
    case ir::OpKind::compare:
      return compare(op, a[0], a[1]);
    case ir::OpKind::unary:
      if (op == Op::CAST) return cast(t, a[0]);
      if (op == Op::BITCAST) return bitcast(t, a[0]);
      return unary(op, a[0]);
    case ir::OpKind::ternary:
      break;
    default:
      if (op == Op::MAX || op == Op::MIN) return extreme(op, a[0], a[1]);
      return is_float(t) ? floats(op, a[0], a[1]) : integers(op, a[0], a[1], plain);
  }
  if (op == Op::WHERE) return select(a[0].text, a[1], a[2].text);
  if (is_float(t)) return call("fmuladd", t, lanes, {a[0], a[1], a[2]});
  const std::string wanted = std::exchange(wanted_, {});
  const std::string product = let("mul {} {}, {}", type_of(t, lanes), a[0].text, a[1].text);
  wanted_ = wanted;
  return let("add {} {}, {}", type_of(t, lanes), product, a[2].text);
}

// ---- memory

/// The address in args[0] moved by the instruction's constant offset.
std::string Renderer::pointer(const Instruction& i) {
  const std::string base = name_of(i.args[0]);
  if (i.offset == 0) return base;
  const DType t = f_->values[static_cast<size_t>(i.args[0])].dtype;
  return let("getelementptr {}, {} {}, i64 {}", scalar_type(stored(t)),
             pointer_type(space_of(i.args[0])), base, i.offset);
}

void Renderer::address(const Instruction& i) {
  const DType t = f_->values[static_cast<size_t>(i.args[0])].dtype;
  line("%v{} = getelementptr {}, {} {}, i64 {}", i.result, scalar_type(stored(t)),
       pointer_type(space_of(i.args[0])), name_of(i.args[0]), name_of(i.args[1]));
}

void Renderer::choose(const Instruction& i) {
  Instruction moved;
  moved.args = {i.args[1]};
  moved.offset = i.offset;
  const std::string p = pointer(moved), type = pointer_type(space_of(i.args[1]));
  line("%v{} = select i1 {}, {} {}, {} {}", i.result, name_of(i.args[0]), type, p, type,
       name_of(i.args[2]));
}

void Renderer::load(const Instruction& i) {
  const LinearValue& v = f_->values[static_cast<size_t>(i.result)];
  const std::string p = pointer(i);
  const int space = space_of(i.args[0]);
  const std::string type = type_of(stored(v.dtype), v.lanes), to = pointer_type(space);
  if (i.args.size() > 1) {
    const std::string mask = type_of(DType::boolean, v.lanes);
    const std::string name =
        fmt::format("@llvm.masked.load.{}.p{}", mangled(v.dtype, v.lanes), space);
    declarations_.insert(fmt::format("declare {} {}({}, i32, {}, {})", type, name, to, mask, type));
    line("%v{} = call {} {}({} {}, i32 {}, {} {}, {} zeroinitializer)", i.result, type, name, to, p,
         size_B(v.dtype), mask, name_of(i.args[1]), type);
    return;
  }
  if (v.dtype != DType::boolean) {
    line("%v{} = load {}, {} {}, align {}", i.result, type, to, p, size_B(v.dtype));
    return;
  }
  const std::string raw = let("load {}, {} {}, align 1", type, to, p);
  line("%v{} = icmp ne {} {}, zeroinitializer", i.result, type, raw);
}

void Renderer::store(const Instruction& i) {
  Operand v = operand(i.args[1]);
  const std::string p = pointer(i);
  if (v.dtype == DType::boolean) {
    v.text =
        let("zext {} {} to {}", type_of(v.dtype, v.lanes), v.text, type_of(DType::u8, v.lanes));
    v.dtype = DType::u8;
  }
  const int space = space_of(i.args[0]);
  const std::string type = type_of(v.dtype, v.lanes), to = pointer_type(space);
  if (i.args.size() < 3) {
    line("store {} {}, {} {}, align {}", type, v.text, to, p, size_B(v.dtype));
    return;
  }
  const std::string mask = type_of(DType::boolean, v.lanes);
  const std::string name =
      fmt::format("@llvm.masked.store.{}.p{}", mangled(v.dtype, v.lanes), space);
  declarations_.insert(fmt::format("declare void {}({}, {}, i32, {})", name, type, to, mask));
  line("call void {}({} {}, {} {}, i32 {}, {} {})", name, type, v.text, to, p, size_B(v.dtype),
       mask, name_of(i.args[2]));
}

void Renderer::pack(const Instruction& i) {
  const LinearValue& v = f_->values[static_cast<size_t>(i.result)];
  std::string now = "poison";
  for (size_t k = 0; k < i.args.size(); ++k) {
    if (k + 1 == i.args.size()) wanted_ = fmt::format("%v{}", i.result);
    now = let("insertelement {} {}, {} {}, i32 {}", type_of(v.dtype, v.lanes), now,
              scalar_type(v.dtype), name_of(i.args[k]), k);
  }
}

void Renderer::splat(const Instruction& i) {
  const LinearValue& v = f_->values[static_cast<size_t>(i.result)];
  const std::string type = type_of(v.dtype, v.lanes);
  const std::string one =
      let("insertelement {} poison, {} {}, i32 0", type, scalar_type(v.dtype), name_of(i.args[0]));
  line("%v{} = shufflevector {} {}, {} poison, <{} x i32> zeroinitializer", i.result, type, one,
       type, v.lanes);
}

/// Halves are folded together until two lanes are left.
void Renderer::fold(const Instruction& i) {
  Operand now = operand(i.args[0]);
  const auto half = [&](int from, int count) {
    std::string mask = "<";
    for (int k = 0; k < count; ++k) mask += fmt::format("{}i32 {}", k ? ", " : "", from + k);
    const std::string type = type_of(now.dtype, now.lanes);
    return let("shufflevector {} {}, {} poison, <{} x i32> {}>", type, now.text, type, count, mask);
  };
  while (now.lanes > 2) {
    CHECK_INVARIANT(now.lanes % 2 == 0, "lanes are a power of two");
    const int count = now.lanes / 2;
    const Operand low{half(0, count), now.dtype, count}, high{half(count, count), now.dtype, count};
    now = {alu(i.op, now.dtype, count, {low, high}, false), now.dtype, count};
  }
  const auto lane = [&](int k) {
    return Operand{let("extractelement {} {}, i32 {}", type_of(now.dtype, now.lanes), now.text, k),
                   now.dtype, 1};
  };
  const Operand a = lane(0), b = lane(1);
  wanted_ = fmt::format("%v{}", i.result);
  alu(i.op, now.dtype, 1, {a, b}, false);
}

// ---- work-items of a group

/// Waits for every item of the group, and makes their stores to shared memory seen.
void Renderer::barrier() {
  declarations_.insert("declare void @llvm.amdgcn.s.barrier()");
  line("fence syncscope(\"workgroup\") release");
  line("call void @llvm.amdgcn.s.barrier()");
  line("fence syncscope(\"workgroup\") acquire");
}

/// x of the item whose number in the wave differs in one bit.
std::string Renderer::exchange(const Operand& x, int64_t distance) {
  declarations_.insert("declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)");
  const std::string other = let("xor i32 {}, {}", item_, distance);
  const std::string place = let("shl i32 {}, 2", other);
  const std::string type = scalar_type(x.dtype);
  const bool narrow = bits(x.dtype) < 32, wide = bits(x.dtype) > 32;
  const std::string words = wide ? "<2 x i32>" : "i32";
  const std::string raw = let("{} {} {} to {}", narrow ? "zext" : "bitcast", type, x.text, words);
  const auto moved = [&](const std::string& word) {
    return let("call i32 @llvm.amdgcn.ds.bpermute(i32 {}, i32 {})", place, word);
  };
  std::string now;
  if (wide) {
    const std::string low = moved(let("extractelement <2 x i32> {}, i32 0", raw));
    const std::string high = moved(let("extractelement <2 x i32> {}, i32 1", raw));
    const std::string half = let("insertelement <2 x i32> poison, i32 {}, i32 0", low);
    now = let("insertelement <2 x i32> {}, i32 {}, i32 1", half, high);
  } else {
    now = moved(raw);
  }
  return let("{} {} {} to {}", narrow ? "trunc" : "bitcast", words, now, type);
}

/// One value a wave goes through shared memory; each item folds them all, in the same order.
std::string Renderer::across_waves(Op op, const Operand& x) {
  const int64_t waves = f_->items / kWaveItems;
  const DType memory = stored(x.dtype);
  const std::string type = scalar_type(memory);
  const std::string shared = fmt::format("@{}.shared.{}", code_.name, name(memory));
  declarations_.insert(fmt::format("{} = internal addrspace(3) global [{} x {}] poison, align 8",
                                   shared, waves, type));
  const std::string text = memory == x.dtype ? x.text : let("zext i1 {} to i8", x.text);
  const std::string wave = let("lshr i32 {}, {}", item_, std::countr_zero(uint64_t(kWaveItems)));
  const std::string lane = let("and i32 {}, {}", item_, kWaveItems - 1);
  const std::string first = let("icmp eq i32 {}, 0", lane);
  const int n = labels_++;
  barrier();  // the items may still read what an earlier fold left
  line("br i1 {}, label %then{}, label %after{}", first, n, n);
  label(fmt::format("then{}", n));
  const std::string to = let("getelementptr {}, ptr addrspace(3) {}, i32 {}", type, shared, wave);
  line("store {} {}, ptr addrspace(3) {}", type, text, to);
  line("br label %after{}", n);
  label(fmt::format("after{}", n));
  barrier();
  Operand now{"", x.dtype, 1};
  for (int64_t w = 0; w < waves; ++w) {
    const std::string from = let("getelementptr {}, ptr addrspace(3) {}, i32 {}", type, shared, w);
    std::string part = let("load {}, ptr addrspace(3) {}", type, from);
    if (memory != x.dtype) part = let("trunc i8 {} to i1", part);
    now.text = w == 0 ? part : alu(op, x.dtype, 1, {now, {part, x.dtype, 1}}, false);
  }
  return now.text;
}

/// Neighbours first: after the last exchange every item of the wave has the wave's value.
void Renderer::group_fold(const Instruction& i) {
  Operand now = operand(i.args[0]);
  const std::string type = scalar_type(now.dtype);
  for (int64_t d = 1; d < std::min(f_->items, kWaveItems); d *= 2)
    now.text = alu(i.op, now.dtype, 1, {now, {exchange(now, d), now.dtype, 1}}, false);
  if (f_->items > kWaveItems) now.text = across_waves(i.op, now);
  line("%v{} = bitcast {} {} to {}", i.result, type, now.text, type);
}

// ---- control

void Renderer::loop(const Loop& l) {
  const int n = labels_++;
  const std::string head = fmt::format("loop{}", n), done = fmt::format("done{}", n);
  const std::string from = block_label_;
  const std::string begin = name_of(l.begin), end = name_of(l.end);
  if (l.nonempty) {
    line("br label %{}", head);
  } else {
    const std::string any = let("icmp slt i64 {}, {}", begin, end);
    line("br i1 {}, label %{}, label %{}", any, head, done);
  }
  label(head);
  // The incoming block of the back edge is known only after the body.
  const size_t place = out_.size();
  block(l.body);
  const std::string next = let("add nuw nsw i64 %v{}, 1", l.index);
  const std::string more = let("icmp slt i64 {}, {}", next, end);
  const std::string latch = block_label_;
  line("br i1 {}, label %{}, label %{}", more, head, done);
  std::string body = out_.substr(place);
  out_.resize(place);
  line("%v{} = phi i64 [ {}, %{} ], [ {}, %{} ]", l.index, begin, from, next, latch);
  for (const Loop::Carried& c : l.carried) {
    const Operand init = operand(c.init);
    line("%v{} = phi {} [ {}, %{} ], [ {}, %{} ]", c.current, type_of(init.dtype, init.lanes),
         init.text, from, name_of(c.next), latch);
  }
  out_ += body;
  label(done);
  for (const Loop::Carried& c : l.carried) {
    const Operand init = operand(c.init);
    const std::string type = type_of(init.dtype, init.lanes);
    if (l.nonempty)
      line("%v{} = phi {} [ {}, %{} ]", c.result, type, name_of(c.next), latch);
    else
      line("%v{} = phi {} [ {}, %{} ], [ {}, %{} ]", c.result, type, init.text, from,
           name_of(c.next), latch);
  }
}

void Renderer::branch(const Instruction& i) {
  const int n = labels_++;
  line("br i1 {}, label %then{}, label %after{}", name_of(i.args[0]), n, n);
  label(fmt::format("then{}", n));
  block(i.loop->body);
  line("br label %after{}", n);
  label(fmt::format("after{}", n));
}

void Renderer::instruction(const Instruction& i) {
  switch (i.code) {
    case Code::alu: {
      std::vector<Operand> args;
      for (Id a : i.args) args.push_back(operand(a));
      const LinearValue& v = f_->values[static_cast<size_t>(i.result)];
      wanted_ = fmt::format("%v{}", i.result);
      alu(i.op, v.dtype, v.lanes, args, i.offset != 0);
      CHECK_INVARIANT(wanted_.empty(), "a result was not named");
      return;
    }
    case Code::splat:
      return splat(i);
    case Code::extract: {
      const Operand v = operand(i.args[0]);
      return line("%v{} = extractelement {} {}, i32 {}", i.result, type_of(v.dtype, v.lanes),
                  v.text, i.offset);
    }
    case Code::pack:
      return pack(i);
    case Code::fold:
      return fold(i);
    case Code::group_fold:
      return group_fold(i);
    case Code::barrier:
      return barrier();
    case Code::variable:
      return line("%v{} = add i64 %var{}, 0", i.result, i.offset);
    case Code::address:
      return address(i);
    case Code::choose:
      return choose(i);
    case Code::load:
      return load(i);
    case Code::store:
      return store(i);
    case Code::loop:
      return loop(*i.loop);
    case Code::branch:
      return branch(i);
  }
}

void Renderer::block(const Block& b) {
  for (const Instruction& i : b) instruction(i);
}

void Renderer::function(size_t piece) {
  f_ = &code_.pieces[piece];
  temps_ = labels_ = 0;
  std::string parameters;
  for (size_t i = 0; i < f_->buffers.size(); ++i) {
    const KernelBuffer& b = code_.buffers[static_cast<size_t>(f_->buffers[i])];
    parameters += fmt::format("{} noalias {}%v{}, ", pointer_type(), b.written ? "" : "readonly ",
                              f_->bases[i]);
  }
  for (const lower::Function::Local& l : f_->locals)
    // Other items of a GPU's group write there too.
    parameters += fmt::format("{}{} align 64 %v{}, ", pointer_type(local_space()),
                              target_.is_cpu ? " noalias" : "", l.base);
  for (int v = 0; v < code_.variables; ++v) parameters += fmt::format("i64 %var{}, ", v);
  if (f_->item >= 0) parameters += fmt::format("i64 %v{}, ", f_->item);
  // A CPU calls a piece once a group; a GPU has no cheap calls.
  out_ += fmt::format("define internal void @{}.p{}({}i64 %v{}) {} nounwind {{\n", code_.name,
                      piece, parameters, f_->group, target_.is_cpu ? "noinline" : "alwaysinline");
  label("entry");
  if (f_->item >= 0) item_ = let("trunc i64 %v{} to i32", f_->item);
  block(f_->body);
  out_ += "  ret void\n}\n\n";
}

/// Loads the piece's arguments and calls it.
void Renderer::call_piece(size_t p, int64_t first) {
  const Function& f = code_.pieces[p];
  std::string args;
  const auto argument = [&](size_t slot, const char* type) {
    const std::string place = let("getelementptr i8, ptr %kernarg, i64 {}", slot * 8);
    args += fmt::format("{} {}, ", type, let("load {}, ptr {}, align 8", type, place));
  };
  for (int b : f.buffers) argument(static_cast<size_t>(b), "ptr");
  for (const lower::Function::Local& l : f.locals)
    args += fmt::format("ptr {}, ", let("getelementptr i8, ptr %scratch, i64 {}", l.offset_B));
  for (int v = 0; v < code_.variables; ++v)
    argument(code_.buffers.size() + static_cast<size_t>(v), "i64");
  const std::string group = let("sub i64 %g, {}", first);
  line("call void @{}.p{}({}i64 {})", code_.name, p, args, group);
}

/// Hands the group to its piece, or runs them all.
void Renderer::entry() {
  out_ += fmt::format("define void @{}(ptr %kernarg, ptr %group, ptr %scratch) nounwind {{\n",
                      code_.name);
  label("entry");
  temps_ = 0;
  line("%g = load i64, ptr %group, align 8");
  const bool together = code_.together();
  int64_t first = 0;
  for (size_t p = 0; p < code_.pieces.size(); ++p) {
    const bool last = together || p + 1 == code_.pieces.size();
    if (!last) {
      const std::string mine = let("icmp slt i64 %g, {}", first + code_.pieces[p].groups);
      line("br i1 {}, label %piece{}, label %after{}", mine, p, p);
      label(fmt::format("piece{}", p));
    }
    call_piece(p, first);
    if (together) continue;
    line("ret void");
    first += code_.pieces[p].groups;
    if (!last) label(fmt::format("after{}", p));
  }
  if (together) line("ret void");
  out_ += "}\n";
}

// ---- a GPU's entry: one work-item a group number

/// The number of this group among those of the piece that starts at `first`.
std::string Renderer::group_number(int64_t first) {
  const std::string group = let("sub i32 %group, {}", first);
  return let("zext i32 {} to i64", group);
}

/// The number of this work-item among those of the piece.
std::string Renderer::item_number(int64_t first) {
  const std::string group = group_number(first);
  const std::string start = let("mul nuw nsw i64 {}, {}", group, code_.group_size);
  const std::string item = let("zext i32 %item to i64");
  return let("add nuw nsw i64 {}, {}", start, item);
}

void Renderer::call_items(size_t p, int64_t first) {
  const Function& f = code_.pieces[p];
  std::string args;
  for (int b : f.buffers) args += fmt::format("{} %b{}, ", pointer_type(), b);
  for (const lower::Function::Local& l : f.locals)
    args += fmt::format(
        "ptr addrspace(3) {}, ",
        let("getelementptr i8, ptr addrspace(3) @{}.local, i32 {}", code_.name, l.offset_B));
  for (int v = 0; v < code_.variables; ++v) args += fmt::format("i64 %var{}, ", v);
  const bool numbered = f.item >= 0;
  const std::string number = numbered ? group_number(first) : item_number(first);
  if (numbered) args += fmt::format("i64 {}, ", let("zext i32 %item to i64"));
  if (!numbered && f.groups % code_.group_size != 0) {
    const std::string mine = let("icmp slt i64 {}, {}", number, f.groups);
    line("br i1 {}, label %items{}, label %none{}", mine, p, p);
    label(fmt::format("none{}", p));
    line("ret void");
    label(fmt::format("items{}", p));
  }
  line("call void @{}.p{}({}i64 {})", code_.name, p, args, number);
  line("ret void");
}

/// Arrays of all pieces share the group's memory: a group runs one piece.
void Renderer::local_memory() {
  if (code_.local_B() == 0) return;
  declarations_.insert(
      fmt::format("@{}.local = internal addrspace(3) global [{} x i8] poison, align 64", code_.name,
                  code_.local_B()));
}

void Renderer::kernel() {
  local_memory();
  std::string parameters;
  for (size_t b = 0; b < code_.buffers.size(); ++b)
    parameters += fmt::format("{}{} noalias {}%b{}", b ? ", " : "", pointer_type(),
                              code_.buffers[b].written ? "" : "readonly ", b);
  for (int v = 0; v < code_.variables; ++v)
    parameters += fmt::format("{}i64 %var{}", parameters.empty() ? "" : ", ", v);
  out_ += fmt::format("define amdgpu_kernel void @{}({}) #0 {{\n", code_.name, parameters);
  label("entry");
  temps_ = 0;
  line("%group = call i32 @llvm.amdgcn.workgroup.id.x()");
  line("%item = call i32 @llvm.amdgcn.workitem.id.x()");
  declarations_.insert("declare i32 @llvm.amdgcn.workgroup.id.x()");
  declarations_.insert("declare i32 @llvm.amdgcn.workitem.id.x()");
  int64_t first = 0;
  for (size_t p = 0; p < code_.pieces.size(); ++p) {
    const int64_t end = first + code_.groups_of(code_.pieces[p]);
    const bool last = p + 1 == code_.pieces.size();
    if (!last) {
      const std::string mine = let("icmp ult i32 %group, {}", end);
      line("br i1 {}, label %piece{}, label %after{}", mine, p, p);
      label(fmt::format("piece{}", p));
    }
    call_items(p, first);
    if (!last) label(fmt::format("after{}", p));
    first = end;
  }
  out_ += "}\n";
  // Without these the code generator asks for every hidden argument that ROCm knows.
  out_ += fmt::format(
      "attributes #0 = {{ nounwind \"amdgpu-flat-work-group-size\"=\"{0},{0}\" "
      "\"uniform-work-group-size\"=\"true\" \"amdgpu-no-implicitarg-ptr\" "
      "\"amdgpu-no-dispatch-ptr\" \"amdgpu-no-dispatch-id\" \"amdgpu-no-queue-ptr\" "
      "\"amdgpu-no-workgroup-id-y\" \"amdgpu-no-workgroup-id-z\" \"amdgpu-no-workitem-id-y\" "
      "\"amdgpu-no-workitem-id-z\" \"amdgpu-no-lds-kernel-id\" \"amdgpu-no-heap-ptr\" "
      "\"amdgpu-no-hostcall-ptr\" \"amdgpu-no-multigrid-sync-arg\" "
      "\"amdgpu-no-default-queue\" \"amdgpu-no-completion-action\" }}\n"
      "!llvm.module.flags = !{{!0}}\n!0 = !{{i32 1, !\"amdhsa_code_object_version\", i32 500}}\n",
      code_.group_size);
}

std::string Renderer::run() {
  for (size_t p = 0; p < code_.pieces.size(); ++p) function(p);
  target_.is_cpu ? entry() : kernel();
  for (const std::string& d : declarations_) out_ += d + "\n";
  if (!target_.triple.empty())
    out_ = fmt::format("target triple = \"{}\"\n\n", target_.triple) + out_;
  return std::move(out_);
}

}  // namespace

std::string render_llvm(const lower::LinearCode& code, const Target& target,
                        const RenderOptions& options) {
  return Renderer(code, target, options).run();
}

}  // namespace tiny
