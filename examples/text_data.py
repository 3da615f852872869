"""The text that the examples of language learn from, as numbers of characters."""

import pathlib

PATH = pathlib.Path(__file__).parent / "data" / "lighthouse.txt"


class Text:
    """Characters and their numbers; a training part and a held-out tail, as lists of numbers."""

    def __init__(self, path=PATH):
        text = path.read_text()
        self.characters = sorted(set(text))
        self.number = {character: i for i, character in enumerate(self.characters)}
        numbers = self.encode(text)
        cut = len(numbers) * 19 // 20
        self.train, self.held_out = numbers[:cut], numbers[cut:]

    def __len__(self):
        """How many kinds of characters there are."""
        return len(self.characters)

    def encode(self, text):
        return [self.number[character] for character in text]

    def decode(self, numbers):
        return "".join(self.characters[number] for number in numbers)
