"""What explain tells, as text and as a page; and that the demonstration's model is exact."""

import html.parser
import importlib
import pathlib
import re
import sys

import pytest
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
dynamo = importlib.import_module(f"{NAME}._dynamo")

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="asks for Taeda's own report")


SEEN = []


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.mode = "<fast>"

    def forward(self, x):
        x = t.relu(self.linear(x)) * (2 if self.mode == "<fast>" else 3)
        print(end="")
        if x.sum() > 1e6:
            x = x + 1
        return x.softmax(-1)


@pytest.fixture(scope="module")
def told():
    return dynamo.explain(Model())(t.ones(2, 4))


def line(offset):
    return Model.forward.__code__.co_firstlineno + offset


def test_breaks_have_place_cause_and_remedy(told):
    first, second = told.break_reasons
    assert (first.reason, first.line, first.function) == ("call of print", line(2), "forward")
    assert first.source == 'print(end="")' and "behind" in first.remedy
    assert second.line == line(3) and "taeda.where" in second.remedy
    (frame,) = first.user_stack
    assert (frame.filename, frame.lineno, frame.line) == (__file__, line(2), first.source)
    assert first.instruction.startswith("CALL")
    # Later versions of CPython make the truth value in an instruction of its own.
    assert second.instruction.startswith(("POP_JUMP", "TO_BOOL", "COMPARE_OP"))
    assert sum(told.natively.values()) == 2


def test_guards_are_sentences(told):
    texts = [guard.text for guard in told.out_guards]
    assert any(text.endswith("mode == '<fast>'") for text in texts)
    assert any("float32 tensor (2, 4) on cpu" in text for text in texts)
    assert not any("#" in text for text in texts)
    places = [place for place, _ in told.guards_by_region]
    assert places[0] == f"{__file__}:{line(0)}" and f"{__file__}:{line(2)}" in places[1:]


def test_kernels_name_the_programs_lines(told):
    by_line = {place for *_, lines in told.kernel_lines() for place in lines}
    assert any(text.startswith(f"{__file__}:{line(1)}: x = t.relu") for text in by_line)
    assert any(text.startswith(f"{__file__}:{line(5)}: return") for text in by_line)
    assert all(text.startswith(__file__) for text in by_line)


def test_the_text_is_pytorchs_and_more(told):
    text = str(told)
    for part in (
        "Graph Count: 3\nGraph Break Count: 2\nOp Count: ",
        "Break Reasons:\n  Break Reason 1:\n    Reason: call of print\n    User Stack:\n",
        f"      <FrameSummary file {__file__}, line {line(2)} in forward>\n",
        "Ops per Graph:\n  Ops 1:\n",
        "Out Guards:\n  Guard 1:\n",
        "Run natively:\n",
        "Kernels:\n  Graph 1:\n",
        "Compile Times: capture ",
    ):
        assert part in text


class Page(html.parser.HTMLParser):
    """Tags that are closed in their order, and all text."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.links = [], "", []

    def handle_starttag(self, tag, attributes):
        self.links += [v for k, v in attributes if k in ("src", "href")]
        if tag not in ("meta", "br", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag != "rect":
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_is_whole(told, tmp_path):
    told.html(tmp_path / "page.html")
    page = Page()
    page.feed((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.open == [] and page.links == []
    for part in ("Breaks", "call of print", "'<fast>'", "Recompiles", "Graph 3", "kernel0"):
        assert part in page.text
    with pytest.raises(OSError, match="page"):
        told.html(tmp_path / "absent" / "page.html")


def test_recompiles_inside_of_a_call():
    def step(x, name):
        t._dynamo.graph_break()
        return x * len(name)

    def program(x):
        for name in ("a", "bb"):
            x = step(x, name)
        return x

    told = dynamo.explain(program)(t.ones(2))
    assert any("expected 'a'" in text and "'bb'" in text for text in told.recompiles)


def test_a_function_that_fails_in_the_compiler_is_told(monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("no kernels today")

    monkeypatch.setattr(importlib.import_module(f"{NAME}._inductor"), "compile_open", fails)
    told = dynamo.explain(lambda x: x + 1)(t.ones(2))
    assert told.kernels == ["RuntimeError: no kernels today"]


@pytest.mark.slow
def test_exact_losses_are_eagers_bit_for_bit():
    examples = str(pathlib.Path(__file__).parents[2] / "examples")
    sys.path.insert(0, examples)
    try:
        gpt = importlib.import_module("char_gpt")
    finally:
        sys.path.remove(examples)

    def losses(compiled):
        t.manual_seed(0)
        model = gpt.GPT(30, 32, 32, 2, 2)
        loss_of = t.compile(model.loss, options={"exact": True}) if compiled else model.loss
        optimizer = t.optim.AdamW(model.parameters(), 5e-3)
        for _ in range(20):
            numbers = t.randint(0, 30, (8, 33))
            loss = loss_of(numbers[:, :-1], numbers[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield loss.item()

    assert list(losses(True)) == list(losses(False))


def test_recompiles_of_a_module_name_its_forward():
    class Block(nn.Module):
        def forward(self, x):
            for _ in range(3):
                SEEN.append(x.max().item())
                x = x * 2
            return x

    told = dynamo.explain(Block())(t.ones(2))
    place = f"{__file__}:{Block.forward.__code__.co_firstlineno}: "
    assert told.recompiles and all(text.startswith(place) for text in told.recompiles)


def test_the_limit_of_a_module_names_its_forward():
    class Sized(nn.Module):
        text = ""

        def forward(self, x):
            return x * len(self.text)

    model = Sized()
    compiled = t.compile(model, recompile_limit=2)
    place = f"{__file__}:{Sized.forward.__code__.co_firstlineno} was compiled 2 times"
    with pytest.warns(UserWarning, match=re.escape(place)):
        for size in range(4):
            model.text = "a" * size
            assert t.equal(compiled(t.ones(2)), t.full((2,), float(size)))


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (lambda x: (x * 2).sum().backward(), "behind the compiled function, whose backward"),
        (lambda x: t.autograd.grad((x * 2).sum(), x), "taeda.func.grad"),
        (lambda x: (x * 2).retain_grad(), "one compiled function give the tensor"),
        (lambda x: (x * 2).detach().requires_grad_(), "before the compiled function"),
        (lambda x: nn.Parameter(x * 2), "make parameters"),
        (lambda x: x * t.zeros(2, requires_grad=True), "make parameters"),
        (lambda x: x.register_hook(lambda grad, y=x * 2: grad * y), "register hooks before"),
        (lambda x: x * t.rand(2, generator=t.Generator()), "default generator"),
        (lambda x: dynamo.graph_break(), "the program asks"),
        (dynamo.disable(lambda x: x), "taeda.compiler.disable"),
    ],
)
def test_remedies_are_those_of_the_cause(program, words):
    told = dynamo.explain(lambda x: program(x))(t.ones(2, requires_grad=True))
    assert words in told.break_reasons[0].remedy
