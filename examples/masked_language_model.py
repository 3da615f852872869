"""Trains a BERT-style encoder to fill gaps in a text.

Words are tokens; of those chosen most are hidden, some replaced, some left as they are, and the
encoder must say what stood there. The sample shows lines with gaps and how they were filled.
"""

import re

from example import Speed, parse_options, prepare_folder, run, steps
from text_data import PATH

import taeda as torch

nn, F = torch.nn, torch.nn.functional
PAD, MASK, UNKNOWN = range(3)


def read_words(path, length):
    """(words by number, lines of `length` numbers): words that stand only once are unknown."""
    lines = [re.findall(r"[\w']+|[^\w\s]", line) for line in path.read_text().splitlines()]
    counts = {}
    for word in (word for line in lines for word in line):
        counts[word] = counts.get(word, 0) + 1
    words = ["[pad]", "[mask]", "[unk]", *sorted(w for w, n in counts.items() if n > 1)]
    number = {word: i for i, word in enumerate(words)}
    stream = [number.get(word, UNKNOWN) for line in lines for word in line]
    rows = [stream[i : i + length] for i in range(0, len(stream) - length, length)]
    return words, rows


class Encoder(nn.Module):
    def __init__(self, words, length, width, layers):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=PAD)
        self.places = nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        layer = nn.TransformerEncoderLayer(
            width, 4, 4 * width, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.bias = nn.Parameter(torch.zeros(words))
        nn.init.normal_(self.words.weight, std=0.05)
        nn.init.normal_(self.places.weight, std=0.05)

    def forward(self, tokens):
        places = self.places(torch.arange(tokens.size(1)))
        x = self.encoder(self.norm(self.words(tokens) + places))
        return F.linear(x, self.words.weight, self.bias)  # the table of words answers, too


def hidden(tokens, words, share=0.15):
    """(tokens with gaps, what stood there and -100 elsewhere)."""
    is_chosen = (torch.rand(tokens.shape) < share) & (tokens != UNKNOWN)
    fate = torch.rand(tokens.shape)
    replaced = torch.where(fate < 0.9, torch.randint(3, words, tokens.shape), tokens)
    shown = torch.where(fate < 0.8, torch.full_like(tokens, MASK), replaced)
    return torch.where(is_chosen, shown, tokens), tokens.masked_fill(~is_chosen, -100)


@torch.no_grad()
def fill(model, words, row, gap):
    """A line with a gap, and the same with the likeliest word in it."""
    model.eval()
    asked = row.clone()
    asked[gap] = MASK
    answer = model(asked.unsqueeze(0))[0, gap].argmax().item()
    line = [words[number] for number in asked.tolist()]
    return " ".join(line), words[answer], words[row[gap].item()]


def main():
    sizes = {"batch": (24, 4), "length": (24, 12), "width": (96, 16), "layers": (2, 1)}
    options = parse_options(__doc__, 800, 6, **sizes)
    prepare_folder(options.out)
    torch.manual_seed(options.seed)
    words, rows = read_words(PATH, options.length)
    rows = torch.tensor(rows)
    cut = len(rows) * 19 // 20
    model = Encoder(len(words), options.length, options.width, options.layers)
    forward = torch.compile(model) if options.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=options.steps)
    losses, speed = [], Speed()
    for _ in steps(options, "training", lambda: f"loss {losses[-1]:.3f}"):
        batch = rows[torch.randint(0, cut, (options.batch,))]
        shown, expected = hidden(batch, len(words))
        with speed:
            logits = forward(shown)
            loss = F.cross_entropy(logits.flatten(0, 1), expected.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
    print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}; {speed}")
    sample = []
    for i, row in enumerate(rows[cut : cut + 8]):
        line, answer, stood = fill(model, words, row, 4 + i % (options.length - 8))
        sample.append(f"{line}\n    says {answer}, there stood {stood}")
    print("\n" + "\n".join(sample) + "\n")
    path = options.out / "masked_language_model.txt"
    path.write_text("\n".join(sample) + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    run(main)
