// SPDX-License-Identifier: MIT
// Linear regression by gradient descent: finds the weights that noisy measurements were made with.
#include <rt_tiny/rt_tiny.h>

#include <cstdio>

using namespace tiny;

int main() {
  manual_seed(1);
  const Tensor truth = Tensor::of({{2.0, -3.5, 0.5}});
  const Tensor x = Tensor::randn({1000, 3}).realize();
  const Tensor noise = Tensor::randn({1000, 1}) * 0.01;
  const Tensor y = (x.matmul(truth.t()) + 4 + noise).realize();

  nn::Linear line{3, 1};
  optim::SGD descent{nn::parameters(line), {.lr = 0.1}};
  auto step = jit([&] {
    const Tensor loss = line(x).mse_loss(y);
    descent.zero_grad();
    loss.backward();
    descent.step();
    return loss;
  });
  for (int i = 0; i <= 100; ++i) {
    const Tensor loss = step();
    if (i % 20 == 0) std::printf("step %3d  loss %.5f\n", i, loss.item<double>());
  }
  const auto weight = line.weight.to_vector<float>();
  std::printf("y = %.2f a %+.2f b %+.2f c %+.2f\n", weight[0], weight[1], weight[2],
              line.bias.item<float>());
}
