// SPDX-License-Identifier: MIT
#include "tests/frontend/golden_ops.h"

#include <rt_tiny/frontend/nn/nn.h>
#include <rt_tiny/frontend/optim/optim.h>

namespace tiny::golden {

using Json = nlohmann::json;
using Tensors = std::vector<Tensor>;

namespace {

using Table = std::map<std::string, Operation>;

Shape shape_of(const Json& j) { return j.get<Shape>(); }
Axes axes_of(const Json& j) { return j.is_null() ? Axes{} : Axes(j.get<std::vector<int64_t>>()); }
Pair pair_of(const Json& j) { return {j[0].get<int64_t>(), j[1].get<int64_t>()}; }
Padding pairs_of(const Json& j) { return j.get<Padding>(); }
DType dtype_of_param(const Json& p) { return parse_dtype(p.at("dtype").get<std::string>()); }
std::optional<int64_t> optional_int(const Json& j) {
  return j.is_null() ? std::nullopt : std::optional(j.get<int64_t>());
}
std::optional<Scalar> optional_scalar(const Json& j) {
  return j.is_null() ? std::nullopt : std::optional(scalar(j));
}
Reduction reduction_of(const Json& p) {
  const std::string name = p.at("reduction");
  return name == "mean" ? Reduction::mean : name == "sum" ? Reduction::sum : Reduction::none;
}
Tensor optional_operand(const Operands& x, size_t i) { return i < x.size() ? x[i] : Tensor(); }

void unary(Table& t, const std::string& name, Tensor (Tensor::*fn)() const) {
  t[name] = [fn](const Json&, const Operands& x) { return Tensors{(x[0].*fn)()}; };
}

/// Tensor–tensor, tensor–scalar and scalar–tensor forms of one operator.
template <class F>
void binary(Table& t, const std::string& name, F fn) {
  t[name] = [fn](const Json& p, const Operands& x) -> Tensors {
    if (!p.contains("scalar")) return {fn(x[0], x[1])};
    const Scalar s = scalar(p["scalar"]);
    if (p.value("scalar_left", false)) {
      if constexpr (requires { fn(s, x[0]); }) return {fn(s, x[0])};
    }
    if constexpr (requires { fn(x[0], s); }) return {fn(x[0], s)};
    throw std::runtime_error("no such form");
  };
}

void creation(Table& t) {
  t["zeros"] = [](const Json& p, const Operands&) -> Tensors {
    return {Tensor::zeros(shape_of(p["shape"]), dtype_of_param(p))};
  };
  t["ones"] = [](const Json& p, const Operands&) -> Tensors {
    return {Tensor::ones(shape_of(p["shape"]), dtype_of_param(p))};
  };
  t["full"] = [](const Json& p, const Operands&) -> Tensors {
    return {Tensor::full(shape_of(p["shape"]), scalar(p["value"]), dtype_of_param(p))};
  };
  t["arange"] = [](const Json& p, const Operands&) -> Tensors {
    return {
        Tensor::arange(scalar(p["begin"]), scalar(p["end"]), scalar(p["step"]), dtype_of_param(p))};
  };
  t["linspace"] = [](const Json& p, const Operands&) -> Tensors {
    return {Tensor::linspace(real(p["begin"]), real(p["end"]), p["count"], dtype_of_param(p))};
  };
  t["eye"] = [](const Json& p, const Operands&) -> Tensors {
    return {Tensor::eye(p["rows"], optional_int(p.value("columns", Json())), dtype_of_param(p))};
  };
}

void movement(Table& t) {
  t["reshape"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].reshape(shape_of(p["shape"]))};
  };
  t["expand"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].expand(shape_of(p["shape"]))};
  };
  t["permute"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].permute(shape_of(p["axes"]))};
  };
  t["flip"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].flip(axes_of(p["axes"]))};
  };
  t["transpose"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].transpose(p["a"], p["b"])};
  };
  t["pad"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].pad(pairs_of(p["padding"]), scalar(p["value"]))};
  };
  t["shrink"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].shrink(pairs_of(p["ranges"]))};
  };
  t["slice"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].slice(p["axis"], optional_int(p["begin"]), optional_int(p["end"]), p["step"])};
  };
  t["select"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].select(p["axis"], p["index"])};
  };
  t["squeeze"] = [](const Json& p, const Operands& x) -> Tensors {
    return {p.contains("axis") ? x[0].squeeze(p["axis"].get<int64_t>()) : x[0].squeeze()};
  };
  t["unsqueeze"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].unsqueeze(p["axis"])};
  };
  t["flatten"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].flatten(p["first"], p["last"])};
  };
  t["unflatten"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].unflatten(p["axis"], shape_of(p["shape"]))};
  };
  t["repeat"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].repeat(shape_of(p["times"]))};
  };
  t["repeat_interleave"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].repeat_interleave(p["times"], p["axis"])};
  };
  t["roll"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].roll(p["shift"], p["axis"])};
  };
  t["unfold"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].unfold(p["axis"], p["size"], p["step"])};
  };
  unary(t, "diagonal", &Tensor::diagonal);
  t["tril"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].tril(p["diagonal"])};
  };
  t["triu"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].triu(p["diagonal"])};
  };
  t["cat"] = [](const Json& p, const Operands& x) -> Tensors { return {cat(x, p["axis"])}; };
  t["stack"] = [](const Json& p, const Operands& x) -> Tensors { return {stack(x, p["axis"])}; };
  t["split"] = [](const Json& p, const Operands& x) {
    if (p.contains("sizes")) return x[0].split(shape_of(p["sizes"]), p["axis"]);
    return x[0].split(p["size"].get<int64_t>(), p["axis"]);
  };
  t["chunk"] = [](const Json& p, const Operands& x) { return x[0].chunk(p["count"], p["axis"]); };
  t["cast"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].cast(dtype_of_param(p))};
  };
}

Index index_of(const Json& j, const Operands& x) {
  if (j.is_number_integer()) return j.get<int64_t>();
  const std::string kind = j[0];
  if (kind == "newaxis") return NewAxis{};
  if (kind == "ellipsis") return Ellipsis{};
  if (kind == "tensor") return x.at(j[1].get<size_t>());
  return Slice{optional_int(j[1]), optional_int(j[2]), j[3].is_null() ? 1 : j[3].get<int64_t>()};
}

void indexing(Table& t) {
  t["take"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].take(x[1], p["axis"])};
  };
  t["gather"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].gather(p["axis"], x[1])};
  };
  t["scatter"] = [](const Json& p, const Operands& x) -> Tensors {
    if (p.contains("value")) return {x[0].scatter(p["axis"], x[1], scalar(p["value"]))};
    return {x[0].scatter(p["axis"], x[1], x[2])};
  };
  t["scatter_add"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].scatter_add(p["axis"], x[1], x[2])};
  };
  t["one_hot"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].one_hot(p["classes"])};
  };
  t["embedding"] = [](const Json&, const Operands& x) -> Tensors {
    nn::Embedding layer(1, 1);
    layer.weight = x[1];
    return {layer(x[0])};
  };
  t["at"] = [](const Json& p, const Operands& x) -> Tensors {
    std::vector<Index> indices;
    for (const Json& j : p["index"]) indices.push_back(index_of(j, x));
    return {x[0].at(indices)};
  };
  t["where"] = [](const Json&, const Operands& x) -> Tensors { return {where(x[0], x[1], x[2])}; };
  t["masked_fill"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].masked_fill(x[1], scalar(p["value"]))};
  };
}

void elementwise(Table& t) {
  using M = Tensor (Tensor::*)() const;
  const std::pair<const char*, M> plain[] = {{"abs", &Tensor::abs},
                                             {"sign", &Tensor::sign},
                                             {"floor", &Tensor::floor},
                                             {"ceil", &Tensor::ceil},
                                             {"trunc", &Tensor::trunc},
                                             {"round", &Tensor::round},
                                             {"frac", &Tensor::frac},
                                             {"square", &Tensor::square},
                                             {"sqrt", &Tensor::sqrt},
                                             {"rsqrt", &Tensor::rsqrt},
                                             {"reciprocal", &Tensor::reciprocal},
                                             {"exp", &Tensor::exp},
                                             {"exp2", &Tensor::exp2},
                                             {"expm1", &Tensor::expm1},
                                             {"log", &Tensor::log},
                                             {"log2", &Tensor::log2},
                                             {"log10", &Tensor::log10},
                                             {"log1p", &Tensor::log1p},
                                             {"sin", &Tensor::sin},
                                             {"cos", &Tensor::cos},
                                             {"tan", &Tensor::tan},
                                             {"sinh", &Tensor::sinh},
                                             {"cosh", &Tensor::cosh},
                                             {"tanh", &Tensor::tanh},
                                             {"erf", &Tensor::erf},
                                             {"sigmoid", &Tensor::sigmoid},
                                             {"logsigmoid", &Tensor::logsigmoid},
                                             {"relu", &Tensor::relu},
                                             {"relu6", &Tensor::relu6},
                                             {"silu", &Tensor::silu},
                                             {"mish", &Tensor::mish},
                                             {"selu", &Tensor::selu},
                                             {"softsign", &Tensor::softsign},
                                             {"hardsigmoid", &Tensor::hardsigmoid},
                                             {"hardswish", &Tensor::hardswish},
                                             {"isnan", &Tensor::isnan},
                                             {"isinf", &Tensor::isinf},
                                             {"isfinite", &Tensor::isfinite},
                                             {"logical_not", &Tensor::logical_not}};
  for (const auto& [name, fn] : plain) unary(t, name, fn);
  t["neg"] = [](const Json&, const Operands& x) -> Tensors { return {-x[0]}; };
  t["bitwise_not"] = [](const Json&, const Operands& x) -> Tensors { return {~x[0]}; };
  t["gelu"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].gelu(p["tanh_approximation"])};
  };
  t["leaky_relu"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].leaky_relu(real(p["slope"]))};
  };
  t["elu"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].elu(real(p["alpha"]))};
  };
  t["celu"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].celu(real(p["alpha"]))};
  };
  t["softplus"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].softplus(real(p["beta"]), real(p["threshold"]))};
  };
  t["hardtanh"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].hardtanh(real(p["low"]), real(p["high"]))};
  };
  t["clamp"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].clamp(optional_scalar(p["low"]), optional_scalar(p["high"]))};
  };
}

void operators(Table& t) {
  binary(
      t, "add",
      [](const auto& a, const auto& b)
        requires requires { a + b; }
      { return a + b; });
  binary(t, "sub", [](const auto& a, const auto& b) { return a - b; });
  binary(t, "mul", [](const auto& a, const auto& b) { return a * b; });
  binary(t, "div", [](const auto& a, const auto& b) { return a / b; });
  binary(t, "mod", [](const auto& a, const auto& b) { return a % b; });
  binary(t, "eq", [](const auto& a, const auto& b) { return a == b; });
  binary(t, "ne", [](const auto& a, const auto& b) { return a != b; });
  binary(t, "lt", [](const auto& a, const auto& b) { return a < b; });
  binary(t, "le", [](const auto& a, const auto& b) { return a <= b; });
  binary(t, "gt", [](const auto& a, const auto& b) { return a > b; });
  binary(t, "ge", [](const auto& a, const auto& b) { return a >= b; });
  binary(t, "bitwise_and", [](const auto& a, const auto& b) { return a & b; });
  binary(t, "bitwise_or", [](const auto& a, const auto& b) { return a | b; });
  binary(t, "bitwise_xor", [](const auto& a, const auto& b) { return a ^ b; });
  binary(t, "shift_left", [](const auto& a, const auto& b) { return a << b; });
  binary(t, "shift_right", [](const auto& a, const auto& b) { return a >> b; });
  binary(t, "floordiv", [](const Tensor& a, const auto& b) { return a.floordiv(b); });
  binary(t, "fmod", [](const Tensor& a, const auto& b) { return fmod(a, b); });
  binary(t, "maximum", [](const Tensor& a, const auto& b) { return maximum(a, b); });
  binary(t, "minimum", [](const Tensor& a, const auto& b) { return minimum(a, b); });
  t["pow"] = [](const Json& p, const Operands& x) -> Tensors {
    if (!p.contains("scalar")) return {x[0].pow(x[1])};
    if (p.value("scalar_left", false)) return {pow(scalar(p["scalar"]), x[0])};
    return {x[0].pow(scalar(p["scalar"]))};
  };
  t["logical_and"] = [](const Json&, const Operands& x) -> Tensors {
    return {x[0].logical_and(x[1])};
  };
  t["logical_or"] = [](const Json&, const Operands& x) -> Tensors {
    return {x[0].logical_or(x[1])};
  };
  t["logical_xor"] = [](const Json&, const Operands& x) -> Tensors {
    return {x[0].logical_xor(x[1])};
  };
}

void reductions(Table& t) {
  using M = Tensor (Tensor::*)(const Axes&, bool) const;
  const std::pair<const char*, M> plain[] = {
      {"sum", &Tensor::sum},   {"mean", &Tensor::mean},          {"prod", &Tensor::prod},
      {"amax", &Tensor::amax}, {"amin", &Tensor::amin},          {"any", &Tensor::any},
      {"all", &Tensor::all},   {"logsumexp", &Tensor::logsumexp}};
  for (const auto& [name, fn] : plain)
    t[name] = [fn = fn](const Json& p, const Operands& x) -> Tensors {
      return {(x[0].*fn)(axes_of(p["axes"]), p["keepdim"])};
    };
  t["var"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].var(axes_of(p["axes"]), p["correction"], p["keepdim"])};
  };
  t["std"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].std(axes_of(p["axes"]), p["correction"], p["keepdim"])};
  };
  t["max"] = [](const Json& p, const Operands& x) -> Tensors {
    const auto [values, indices] = x[0].max(p["axis"], p["keepdim"]);
    return {values, indices};
  };
  t["min"] = [](const Json& p, const Operands& x) -> Tensors {
    const auto [values, indices] = x[0].min(p["axis"], p["keepdim"]);
    return {values, indices};
  };
  t["argmax"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].argmax(optional_int(p["axis"]), p["keepdim"])};
  };
  t["argmin"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].argmin(optional_int(p["axis"]), p["keepdim"])};
  };
  t["cumsum"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].cumsum(p["axis"])};
  };
  t["softmax"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].softmax(p["axis"])};
  };
  t["log_softmax"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].log_softmax(p["axis"])};
  };
}

Tensors batch_norm(const Json& p, const Operands& x) {
  const double epsilon = real(p["epsilon"]), momentum = real(p["momentum"]);
  const Tensor weight = optional_operand(x, 3), bias = optional_operand(x, 4);
  if (!p["training"].get<bool>()) return {x[0].batch_norm(x[1], x[2], weight, bias, epsilon)};
  // A layer of images; other ranks are images with axes of extent 1.
  Shape image = x[0].shape();
  while (image.size() < 4) image.push_back(1);
  nn::BatchNorm2d layer(x[0].dim(1), epsilon, momentum, false);
  layer.weight = weight;
  layer.bias = bias;
  layer.running_mean = x[1].detach().clone();
  layer.running_var = x[2].detach().clone();
  nn::Training training;
  const Tensor y = layer(x[0].reshape(image)).reshape(x[0].shape());
  return {y, layer.running_mean, layer.running_var};
}

void layers(Table& t) {
  t["matmul"] = [](const Json&, const Operands& x) -> Tensors { return {x[0].matmul(x[1])}; };
  t["linear"] = [](const Json&, const Operands& x) -> Tensors {
    return {x[0].linear(x[1], optional_operand(x, 2))};
  };
  t["conv2d"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].conv2d(x[1], optional_operand(x, 2),
                        {.stride = pair_of(p["stride"]),
                         .padding = pair_of(p["padding"]),
                         .dilation = pair_of(p["dilation"]),
                         .groups = p["groups"]})};
  };
  t["max_pool2d"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].max_pool2d({.kernel = pair_of(p["kernel"]),
                             .stride = pair_of(p["stride"]),
                             .padding = pair_of(p["padding"]),
                             .dilation = pair_of(p["dilation"])})};
  };
  t["avg_pool2d"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].avg_pool2d({.kernel = pair_of(p["kernel"]),
                             .stride = pair_of(p["stride"]),
                             .padding = pair_of(p["padding"]),
                             .count_include_pad = p["count_include_pad"]})};
  };
  t["batch_norm"] = batch_norm;
  t["layer_norm"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].layer_norm(shape_of(p["shape"]), optional_operand(x, 1), optional_operand(x, 2),
                            real(p["epsilon"]))};
  };
}

void losses(Table& t) {
  t["cross_entropy"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].cross_entropy(x[1], {.label_smoothing = real(p["label_smoothing"]),
                                      .ignore_index = p["ignore_index"],
                                      .reduction = reduction_of(p)})};
  };
  t["nll_loss"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].nll_loss(x[1], reduction_of(p), p["ignore_index"])};
  };
  t["mse_loss"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].mse_loss(x[1], reduction_of(p))};
  };
  t["l1_loss"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].l1_loss(x[1], reduction_of(p))};
  };
  t["bce_with_logits"] = [](const Json& p, const Operands& x) -> Tensors {
    return {x[0].bce_with_logits(x[1], reduction_of(p))};
  };
}

/// Runs `steps` steps with the given gradients; each parameter after every step, stacked.
template <class Make>
Tensors optimize(const Json& p, const Operands& x, Make make) {
  const size_t count = p["parameters"];
  Tensors parameters;
  for (size_t i = 0; i < count; ++i) parameters.push_back(x[i].detach().clone().requires_grad_());
  const auto optimizer = make(parameters);
  std::vector<Tensors> history(count);
  for (int64_t step = 0; step < p["steps"].get<int64_t>(); ++step) {
    optimizer->zero_grad();
    for (size_t i = 0; i < count; ++i) parameters[i].set_grad(x[count + i].select(0, step));
    optimizer->step();
    for (size_t i = 0; i < count; ++i) history[i].push_back(parameters[i].detach().clone());
  }
  Tensors result;
  for (const Tensors& h : history) result.push_back(stack(h));
  return result;
}

void optimizers(Table& t) {
  t["sgd"] = [](const Json& p, const Operands& x) {
    return optimize(p, x, [&](const Tensors& parameters) {
      return std::make_unique<optim::SGD>(parameters,
                                          optim::SGDOptions{.lr = real(p["lr"]),
                                                            .momentum = real(p["momentum"]),
                                                            .dampening = real(p["dampening"]),
                                                            .weight_decay = real(p["weight_decay"]),
                                                            .nesterov = p["nesterov"]});
    });
  };
  const auto adam = [](auto make) {
    return [make](const Json& p, const Operands& x) {
      return optimize(p, x, [&](const Tensors& parameters) {
        return make(parameters, real(p["lr"]), real(p["betas"][0]), real(p["betas"][1]),
                    real(p["eps"]), real(p["weight_decay"]));
      });
    };
  };
  t["adam"] = adam([](const Tensors& w, double lr, double b1, double b2, double eps, double decay) {
    return std::make_unique<optim::Adam>(w, optim::AdamOptions{lr, b1, b2, eps, decay});
  });
  t["adamw"] =
      adam([](const Tensors& w, double lr, double b1, double b2, double eps, double decay) {
        return std::make_unique<optim::AdamW>(w, optim::AdamWOptions{lr, b1, b2, eps, decay});
      });
}

Table make_table() {
  Table t;
  creation(t);
  movement(t);
  indexing(t);
  elementwise(t);
  operators(t);
  reductions(t);
  layers(t);
  losses(t);
  optimizers(t);
  return t;
}

}  // namespace

Scalar scalar(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  return real(value);
}

Tensor moved(Tensor x, const Json& moves) {
  for (const Json& move : moves) {
    const std::string kind = move[0];
    if (kind == "reshape") x = x.reshape(shape_of(move[1]));
    if (kind == "permute") x = x.permute(shape_of(move[1]));
    if (kind == "expand") x = x.expand(shape_of(move[1]));
    if (kind == "flip") x = x.flip(axes_of(move[1]));
    if (kind == "slice")
      x = x.slice(move[1], optional_int(move[2]), optional_int(move[3]), move[4]);
  }
  return x;
}

const std::map<std::string, Operation>& operations() {
  static const Table table = make_table();
  return table;
}

}  // namespace tiny::golden
