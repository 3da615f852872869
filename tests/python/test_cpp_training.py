"""Models written in C++ and in Python have equal losses from equal seeds."""

import pathlib

import pytest
from cpp_program import run_program
from taeda.run.answer import PYTORCH_VERSION

import taeda as t
from taeda import nn
from taeda.nn import functional as F

pytestmark = pytest.mark.slow

PROGRAMS = pathlib.Path(__file__).with_name("programs")


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular")
        self.drop = nn.Dropout2d(0.25)
        self.last = nn.Linear(6 * 4, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        x = F.adaptive_avg_pool2d(F.gelu(self.drop(self.second(x))), 2)
        return self.last(x.flatten(1))


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 5)
        self.conv2 = nn.Conv2d(4, 8, 5)
        self.drop = nn.Dropout2d()
        self.fc1 = nn.Linear(128, 16)
        self.fc2 = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.drop(self.conv2(x)), 2))
        x = F.relu(self.fc1(x.view(-1, 128)))
        return F.log_softmax(self.fc2(F.dropout(x, training=self.training)), 1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 4, padding_idx=0)
        self.lstm = nn.LSTM(4, 5, num_layers=2, bidirectional=True)
        self.gru = nn.GRU(10, 6)
        self.norm = nn.LayerNorm([6])
        self.head = nn.Linear(6, 3)

    def forward(self, tokens):
        hidden, _ = self.lstm(self.table(tokens))
        _, last = self.gru(hidden)
        return self.head(self.norm(last[0]))


def train(model, optimizer, x, y):
    schedule = t.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        return loss

    losses = []
    for _ in range(5):
        losses.append(optimizer.step(closure).item())
        schedule.step()
    return losses


def conv():
    t.manual_seed(1)
    model = ConvNet()
    x, y = t.randn(6, 1, 8, 8), t.randint(0, 3, (6,))
    return train(model, t.optim.SGD(model.parameters(), 0.1, momentum=0.9, nesterov=True), x, y)


def recurrent():
    t.manual_seed(2)
    model = Recurrent()
    x, y = t.randint(0, 7, (9, 4)), t.randint(0, 3, (4,))
    optimizer = t.optim.RMSprop(model.parameters(), 0.01, centered=True, momentum=0.5)
    return train(model, optimizer, x, y)


def transformer():
    t.manual_seed(3)
    layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    model = nn.Sequential(encoder, nn.Linear(8, 3), nn.Flatten(0, 1))
    x, y = t.randn(5, 4, 8), t.randint(0, 3, (20,))
    return train(model, t.optim.AdamW(model.parameters(), 0.01, amsgrad=True), x, y)


def plain():
    t.manual_seed(4)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3, bias=False))
    x, y = t.randn(10, 4), t.randint(0, 3, (10,))
    yield train(model, t.optim.Adagrad(model.parameters(), 0.1, lr_decay=0.01), x, y)
    lbfgs = t.optim.LBFGS(model.parameters(), max_iter=4, line_search_fn="strong_wolfe")
    yield train(model, lbfgs, x, y)


@pytest.fixture(scope="module")
def losses(tmp_path_factory):
    """The losses that the C++ program prints, by model."""
    source = (PROGRAMS / "training.cpp").read_text()
    lines = run_program(source, tmp_path_factory.mktemp("training")).splitlines()
    return {name: [float(x) for x in numbers] for name, *numbers in map(str.split, lines)}


@pytest.mark.parametrize("model", [conv, recurrent, transformer])
def test_a_model_has_equal_losses_in_both_languages(losses, model):
    expected = model()
    assert losses[model.__name__] == pytest.approx(expected, rel=1e-5)
    assert expected[-1] != expected[0]


def test_adagrad_and_lbfgs_have_equal_losses_in_both_languages(losses):
    adagrad, lbfgs = plain()
    assert losses["adagrad"] == pytest.approx(adagrad, rel=1e-5)
    assert losses["lbfgs"] == pytest.approx(lbfgs, rel=1e-4)


def test_a_program_written_for_pytorch_trains_and_saves(tmp_path):
    source = (PROGRAMS / "torch_training.cpp").read_text()
    rate, *facts, model = run_program(source, tmp_path, with_torch_names=True).split("\n", 5)
    assert rate == "0.05"
    assert facts == ["true"] * 4
    assert model == (
        "NetImpl(\n"
        "  (conv): torch::nn::Conv2d(1, 4, kernel_size=[3, 3], stride=[1, 1], padding='same')\n"
        "  (fc): torch::nn::Linear(in_features=16, out_features=3, bias=true)\n"
        ")\n"
    )


def test_every_name_of_pytorchs_interface_is_there(tmp_path):
    source = (PROGRAMS / "torch_names.cpp").read_text()
    assert source.count("using ::torch::") > 600
    run_program(source, tmp_path, with_torch_names=True)


def test_small_names_of_pytorchs_interface(tmp_path):
    source = (PROGRAMS / "torch_small_names.cpp").read_text()
    assert run_program(source, tmp_path, with_torch_names=True).splitlines() == [
        "index: index 5 is out of bounds for dimensi",
        "value: bad 3",
        "not implemented: later",
        "any: a type",
        "1.5 2.5 10110 2",
        "4 0.5 5 (1,2)",
        "10010 ComplexFloat",
        "cuda:1 100 cuda:0 3",
        "00 sizes 3 of 4.5",
        "1110 cpu",
        "[1, 2, 3][2, 3]",
        "499500 11 5",
        "9 3 weight bias running_mean running_var num_batches_tracked 2",
        "torch::nn::Sequential(",
        "  (0): torch::nn::Conv2d(1, 2, kernel_size=[3, 3], stride=[1, 1])",
        "  (1): torch::nn::ReLU()",
        ")",
        f"{PYTORCH_VERSION} {PYTORCH_VERSION}",
    ]


def test_namespaces_under_a_using_directive(tmp_path):
    source = (PROGRAMS / "torch_using.cpp").read_text()
    assert run_program(source, tmp_path, with_torch_names=True).splitlines() == [
        "4 100 0.5 [1] ComplexFloat",
        "1",
        "torch::nn::SequentialImpl torch::nn::LinearImpl ",
        "torch::nn::ParameterList(",
        "(0): Parameter containing: [Float of size [2]]",
        ")",
        "torch::nn::ParameterDict(",
        "(a): Parameter containing: [Float of size [2, 3]]",
        ")",
        "torch::nn::MultiheadAttention(",
        "  (out_proj): torch::nn::Linear(in_features=2, out_features=2, bias=true)",
        ")",
    ]


def test_functions_by_the_names_of_their_namespaces(tmp_path):
    run_program((PROGRAMS / "torch_short_names.cpp").read_text(), tmp_path, with_torch_names=True)


def test_a_network_for_digits_written_for_pytorch(tmp_path):
    source = (PROGRAMS / "torch_digits.cpp").read_text()
    *printed, correct = run_program(source, tmp_path, with_torch_names=True).split()
    t.manual_seed(1)
    net = Digits()
    x, y = t.randn(6, 1, 28, 28), t.randint(0, 10, (6,))
    optimizer = t.optim.SGD(net.parameters(), 0.05, momentum=0.5)
    expected = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = F.nll_loss(net(x), y)
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    net.eval()
    with t.no_grad():
        output = net(x)
    expected.append(F.nll_loss(output, y, reduction="sum").item())
    assert [float(number) for number in printed] == pytest.approx(expected, rel=1e-4)
    assert int(correct) == (output.argmax(1) == y).sum().item()
