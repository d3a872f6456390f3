// SPDX-License-Identifier: MIT
// Every case of the golden set through Tensor: values and gradients are PyTorch's.
#include <catch2/catch.hpp>

#include "tests/frontend/golden_ops.h"

namespace tiny::golden {
namespace {

Tensor tensor_of(const Stored& s) { return Tensor::from_bytes(s.dtype, s.shape, s.bytes); }

std::string compare(const Stored& want, const Tensor& got, Tolerance tolerance, bool signed_zero) {
  return mismatch(want, got.dtype(), got.shape(), got.to_bytes(), tolerance, signed_zero);
}

struct Run {
  std::vector<Tensor> leaves, operands, outputs;
};

Run forward(const Case& c) {
  Run run;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    Tensor leaf = tensor_of(c.inputs[i]);
    if (c.has_grads() && c.grads[i]) leaf.requires_grad_();
    run.leaves.push_back(leaf);
    run.operands.push_back(moved(leaf, c.inputs[i].moves));
  }
  if (c.params.value("same_operand", false)) run.operands.resize(2, run.operands[0]);
  run.outputs = operations().at(c.op)(c.params, run.operands);
  return run;
}

std::string check_outputs(const Case& c, const Run& run) {
  if (run.outputs.size() != c.outputs.size())
    return std::to_string(run.outputs.size()) + " outputs, not " + std::to_string(c.outputs.size());
  for (size_t i = 0; i < c.outputs.size(); ++i)
    if (const auto text = compare(c.outputs[i], run.outputs[i], c.tolerance, c.signed_zero);
        !text.empty())
      return "output " + std::to_string(i) + ": " + text;
  return "";
}

std::string check_gradients(const Case& c, const Run& run) {
  for (size_t i = 0; i < c.outputs.size(); ++i)
    if (c.upstream[i] && run.outputs[i].requires_grad())
      run.outputs[i].backward({.gradient = tensor_of(*c.upstream[i]), .retain_graph = true});
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.grads[i]) continue;
    const Tensor g =
        run.leaves[i].grad().defined() ? run.leaves[i].grad() : run.leaves[i].zeros_like();
    if (const auto text = compare(*c.grads[i], g, c.grad_tolerance, false); !text.empty())
      return "gradient " + std::to_string(i) + ": " + text;
  }
  return "";
}

/// "" when the case behaves as PyTorch does.
std::string run_case(const Case& c) {
  try {
    if (!operations().count(c.op)) return "no such operation: " + c.op;
    const Run run = forward(c);
    std::string text = check_outputs(c, run);
    if (text.empty() && c.has_grads()) text = check_gradients(c, run);
    return text;
  } catch (const std::exception& e) {
    return std::string("threw ") + e.what();
  }
}

void run_file(const std::string& name) {
  const File file(std::string(GOLDEN_DIR) + "/" + name + ".golden.gz");
  REQUIRE(file.cases().size() > 10);
  for (const Case& c : file.cases()) {
    const std::string text = run_case(c);
    INFO(c.name << ": " << text);
    CHECK(text.empty());
  }
}

}  // namespace

#define GOLDEN_FILE(name) \
  TEST_CASE("golden: " #name " as PyTorch computes it", "[golden]") { run_file(#name); }
GOLDEN_FILE(binary)
GOLDEN_FILE(cast)
GOLDEN_FILE(creation)
GOLDEN_FILE(images)
GOLDEN_FILE(indexing)
GOLDEN_FILE(logic)
GOLDEN_FILE(losses_norms)
GOLDEN_FILE(matmul)
GOLDEN_FILE(movement)
GOLDEN_FILE(optimizers)
GOLDEN_FILE(promotion)
GOLDEN_FILE(reductions)
GOLDEN_FILE(unary)
#undef GOLDEN_FILE

TEST_CASE("golden: every file has its test", "[golden]") {
  std::string all;
  for (const std::string& path : files_in(GOLDEN_DIR)) {
    const std::string file = path.substr(path.find_last_of('/') + 1);
    all += file.substr(0, file.find('.')) + " ";
  }
  CHECK(all ==
        "binary cast creation images indexing logic losses_norms matmul movement optimizers "
        "promotion reductions unary ");
}

}  // namespace tiny::golden
