// Trains one model per name and prints its losses; test_cpp_training.py has the same in Python.
#include <taeda/nn.h>
#include <taeda/optim.h>

#include <cstdio>

using namespace taeda;
namespace F = taeda::nn::functional;

struct ConvNetImpl : nn::Cloneable<ConvNetImpl> {
  ConvNetImpl() { ConvNetImpl::reset(); }
  void reset() override {
    first = register_module("first", nn::Conv2d(nn::Conv2dOptions(1, 4, 3).padding(1)));
    norm = register_module("norm", nn::BatchNorm2d(4));
    second = register_module(
        "second", nn::Conv2d(nn::Conv2dOptions(4, 6, 3).padding_mode(kCircular).padding(1)));
    drop = register_module("drop", nn::Dropout2d(0.25));
    last = register_module("last", nn::Linear(6 * 4, 3));
  }
  Tensor forward(Tensor x) {
    x = F::max_pool2d(F::relu(norm(first(x))), F::MaxPool2dFuncOptions(2));
    x = F::adaptive_avg_pool2d(F::gelu(drop(second(x))), F::AdaptiveAvgPool2dFuncOptions(2));
    return last(x.flatten(1));
  }
  nn::Conv2d first{nullptr}, second{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Dropout2d drop{nullptr};
  nn::Linear last{nullptr};
};
TAEDA_MODULE(ConvNet);

struct RecurrentImpl : nn::Module {
  Tensor forward(const Tensor& tokens) {
    auto [hidden, state] = lstm(table(tokens));
    auto [other, last] = gru(hidden);
    return head(norm(last[0]));
  }
  nn::Embedding table =
      register_module("table", nn::Embedding(nn::EmbeddingOptions(7, 4).padding_idx(0)));
  nn::LSTM lstm =
      register_module("lstm", nn::LSTM(nn::LSTMOptions(4, 5).num_layers(2).bidirectional(true)));
  nn::GRU gru = register_module("gru", nn::GRU(10, 6));
  nn::LayerNorm norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({6})));
  nn::Linear head = register_module("head", nn::Linear(6, 3));
};
TAEDA_MODULE(Recurrent);

template <class Model, class Optimizer>
void train(const char* name, Model& model, Optimizer& optimizer, const Tensor& x, const Tensor& y) {
  nn::CrossEntropyLoss loss_of(nn::CrossEntropyLossOptions().label_smoothing(0.1));
  optim::StepLR schedule(optimizer, 2, 0.5);
  std::printf("%s", name);
  for (int step = 0; step < 5; ++step) {
    Tensor loss = optimizer.step([&] {
      optimizer.zero_grad();
      Tensor out = loss_of(model(x), y);
      out.backward();
      nn::utils::clip_grad_norm_(model->parameters(), 0.5);
      return out;
    });
    schedule.step();
    std::printf(" %.9g", loss.item<double>());
  }
  std::printf("\n");
}

int main() {
  manual_seed(1);
  ConvNet conv;
  Tensor images = randn({6, 1, 8, 8}), labels = randint(0, 3, {6});
  optim::SGD sgd(conv->parameters(), optim::SGDOptions(0.1).momentum(0.9).nesterov(true));
  train("conv", conv, sgd, images, labels);

  manual_seed(2);
  Recurrent recurrent;
  Tensor tokens = randint(0, 7, {9, 4}), classes = randint(0, 3, {4});
  optim::RMSprop rmsprop(recurrent->parameters(),
                         optim::RMSpropOptions(0.01).centered(true).momentum(0.5));
  train("recurrent", recurrent, rmsprop, tokens, classes);

  manual_seed(3);
  nn::TransformerEncoder encoder(nn::TransformerEncoderOptions(
      nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16).dropout(0), 2));
  // Parts in statements of their own: arguments are made in an order that compilers choose.
  nn::Sequential transformer;
  transformer->push_back(encoder);
  transformer->push_back(nn::Linear(8, 3));
  transformer->push_back(nn::Flatten(nn::FlattenOptions().start_dim(0).end_dim(1)));
  Tensor rows = randn({5, 4, 8}), answers = randint(0, 3, {20});
  optim::AdamW adamw(transformer->parameters(), optim::AdamWOptions(0.01).amsgrad(true));
  train("transformer", transformer, adamw, rows, answers);

  manual_seed(4);
  nn::Sequential plain;
  plain->push_back(nn::Linear(4, 5));
  plain->push_back(nn::Tanh());
  plain->push_back(nn::Linear(nn::LinearOptions(5, 3).bias(false)));
  Tensor points = randn({10, 4}), kinds = randint(0, 3, {10});
  optim::Adagrad adagrad(plain->parameters(), optim::AdagradOptions(0.1).lr_decay(0.01));
  train("adagrad", plain, adagrad, points, kinds);
  optim::LBFGS lbfgs(plain->parameters(),
                     optim::LBFGSOptions(1).max_iter(4).line_search_fn("strong_wolfe"));
  train("lbfgs", plain, lbfgs, points, kinds);
}
