// A generator and a discriminator of small images, as programs for PyTorch write them: transposed
// convolutions, a loader with workers, two optimizers, checkpoints. Prints both losses of each
// step.
#include <torch/torch.h>

#include <cstdio>
#include <string>

using namespace torch;

const int64_t kNoiseSize = 10;
const int64_t kBatchSize = 16;

struct PainterImpl : nn::Module {
  explicit PainterImpl(int64_t noise)
      : conv1(nn::ConvTranspose2dOptions(noise, 16, 4).bias(false)),
        batch_norm1(16),
        conv2(nn::ConvTranspose2dOptions(16, 8, 3).stride(2).padding(1).bias(false)),
        batch_norm2(8),
        conv3(nn::ConvTranspose2dOptions(8, 4, 4).stride(2).padding(1).bias(false)),
        batch_norm3(4),
        conv4(nn::ConvTranspose2dOptions(4, 1, 4).stride(2).padding(1).bias(false)) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv3", conv3);
    register_module("conv4", conv4);
    register_module("batch_norm1", batch_norm1);
    register_module("batch_norm2", batch_norm2);
    register_module("batch_norm3", batch_norm3);
  }

  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(batch_norm1(conv1(x)));
    x = torch::relu(batch_norm2(conv2(x)));
    x = torch::relu(batch_norm3(conv3(x)));
    return torch::tanh(conv4(x));
  }

  nn::ConvTranspose2d conv1;
  nn::BatchNorm2d batch_norm1;
  nn::ConvTranspose2d conv2;
  nn::BatchNorm2d batch_norm2;
  nn::ConvTranspose2d conv3;
  nn::BatchNorm2d batch_norm3;
  nn::ConvTranspose2d conv4;
};
TORCH_MODULE(Painter);

// Layers with random weights are made one after the other: the order of arguments is not fixed.
nn::Sequential create_discriminator() {
  nn::Conv2d conv1(nn::Conv2dOptions(1, 4, 4).stride(2).padding(1).bias(false));
  nn::Conv2d conv2(nn::Conv2dOptions(4, 8, 4).stride(2).padding(1).bias(false));
  nn::Conv2d conv3(nn::Conv2dOptions(8, 16, 4).stride(2).padding(1).bias(false));
  nn::Conv2d conv4(nn::Conv2dOptions(16, 1, 3).stride(1).padding(0).bias(false));
  const auto slope = nn::LeakyReLUOptions().negative_slope(0.2);
  return nn::Sequential(conv1, nn::LeakyReLU(slope), conv2, nn::BatchNorm2d(8),
                        nn::LeakyReLU(slope), conv3, nn::BatchNorm2d(16), nn::LeakyReLU(slope),
                        conv4, nn::Sigmoid());
}

int main(int argc, const char* argv[]) {
  torch::manual_seed(1);
  torch::Device device(torch::kCPU);
  Painter generator(kNoiseSize);
  generator->to(device);
  nn::Sequential discriminator = create_discriminator();
  discriminator->to(device);

  auto dataset = torch::data::datasets::MNIST(argv[1])
                     .map(torch::data::transforms::Normalize<>(0.5, 0.5))
                     .map(torch::data::transforms::Stack<>());
  auto data_loader = torch::data::make_data_loader(
      std::move(dataset), torch::data::DataLoaderOptions().batch_size(kBatchSize).workers(2));

  torch::optim::Adam generator_optimizer(
      generator->parameters(), torch::optim::AdamOptions(2e-3).betas(std::make_tuple(0.5, 0.5)));
  torch::optim::Adam discriminator_optimizer(
      discriminator->parameters(),
      torch::optim::AdamOptions(2e-3).betas(std::make_tuple(0.5, 0.5)));

  for (int64_t epoch = 1; epoch <= 2; ++epoch) {
    for (const torch::data::Example<>& batch : *data_loader) {
      discriminator->zero_grad();
      torch::Tensor real_images = batch.data.to(device);
      torch::Tensor real_labels = torch::empty(batch.data.size(0), device).uniform_(0.8, 1.0);
      torch::Tensor real_output = discriminator->forward(real_images).reshape(real_labels.sizes());
      torch::Tensor d_loss_real = torch::binary_cross_entropy(real_output, real_labels);
      d_loss_real.backward();

      torch::Tensor noise = torch::randn({batch.data.size(0), kNoiseSize, 1, 1}, device);
      torch::Tensor fake_images = generator->forward(noise);
      torch::Tensor fake_labels = torch::zeros(batch.data.size(0), device);
      torch::Tensor fake_output =
          discriminator->forward(fake_images.detach()).reshape(fake_labels.sizes());
      torch::Tensor d_loss_fake = torch::binary_cross_entropy(fake_output, fake_labels);
      d_loss_fake.backward();
      torch::Tensor d_loss = d_loss_real + d_loss_fake;
      discriminator_optimizer.step();

      generator->zero_grad();
      fake_labels.fill_(1);
      fake_output = discriminator->forward(fake_images).reshape(fake_labels.sizes());
      torch::Tensor g_loss = torch::binary_cross_entropy(fake_output, fake_labels);
      g_loss.backward();
      generator_optimizer.step();
      std::printf("%.6f %.6f ", d_loss.item<float>(), g_loss.item<float>());
    }
  }
  torch::save(generator, "generator.pt");
  torch::save(discriminator_optimizer, "discriminator-optimizer.pt");
  torch::load(discriminator_optimizer, "discriminator-optimizer.pt");
  generator->eval();
  torch::Tensor samples = generator->forward(torch::ones({2, kNoiseSize, 1, 1}, device));
  torch::save((samples + 1.0) / 2.0, torch::str("sample-", 1, ".pt"));
}
