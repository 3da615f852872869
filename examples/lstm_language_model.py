"""Trains an LSTM to continue a text, character by character, with its state carried on.

The text is cut into parallel streams that are read from their beginnings to their ends; the state
behind one stretch is the state before the next. The sample is drawn one character at a time.
"""

from example import Speed, parse_options, prepare_folder, run, steps
from text_data import Text

import taeda as torch

nn, F = torch.nn, torch.nn.functional


class LanguageModel(nn.Module):
    def __init__(self, characters, width, layers):
        super().__init__()
        self.embedding = nn.Embedding(characters, width)
        self.lstm = nn.LSTM(width, width, num_layers=layers)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(width, characters)

    def forward(self, numbers, state):
        hidden, state = self.lstm(self.dropout(self.embedding(numbers)), state)
        return self.head(self.dropout(hidden)), state

    def started(self, batch):
        """The state before a text."""
        shape = (self.lstm.num_layers, batch, self.lstm.hidden_size)
        return torch.zeros(shape), torch.zeros(shape)

    def loss(self, numbers, following, state):
        logits, state = self(numbers, state)
        return F.cross_entropy(logits.flatten(0, 1), following.flatten()), state


def stretches(numbers, batch, length):
    """Endless (characters, the following ones, whether the streams start again)."""
    size = len(numbers) // batch
    streams = numbers[: size * batch].view(batch, size).t()
    while True:
        for start in range(0, size - 1 - length, length):
            yield (
                streams[start : start + length],
                streams[start + 1 : start + length + 1],
                start == 0,
            )


@torch.no_grad()
def generate(model, text, prompt, count, temperature=0.5):
    model.eval()
    logits, state = model(torch.tensor(text.encode(prompt)).view(-1, 1), model.started(1))
    written = []
    for _ in range(count):
        chosen = torch.multinomial((logits[-1, 0] / temperature).softmax(-1), 1)
        written.append(chosen.item())
        logits, state = model(chosen.view(1, 1), state)
    return prompt + text.decode(written)


def main():
    sizes = {"batch": (16, 4), "length": (48, 12), "width": (128, 16), "characters": (400, 20)}
    options = parse_options(__doc__, 500, 6, **sizes)
    prepare_folder(options.out)
    torch.manual_seed(options.seed)
    text = Text()
    model = LanguageModel(len(text), options.width, layers=1)
    loss_of = torch.compile(model.loss) if options.compile else model.loss
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps, 1e-3)
    data = stretches(torch.tensor(text.train), options.batch, options.length)
    losses, speed = [], Speed()
    for _ in steps(options, "training", lambda: f"loss {losses[-1]:.3f}"):
        numbers, following, is_new = next(data)
        if is_new:
            state = model.started(options.batch)
        with speed:
            loss, state = loss_of(numbers, following, state)
            state = tuple(part.detach() for part in state)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
    print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}; {speed}")
    sample = generate(model, text, "March 7. ", options.characters)
    print(f"\n{sample}\n")
    path = options.out / "lstm_language_model.txt"
    path.write_text(sample + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    run(main)
