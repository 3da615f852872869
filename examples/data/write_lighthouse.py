"""Writes lighthouse.txt: the log of an invented lighthouse, assembled from a small grammar.

The text is original and belongs to the public domain. It gives the character transformer something
with spelling, punctuation, dates, recurring people and sentence patterns to learn. A grammar rule
is a list of alternatives; `{name}` inside an alternative expands that rule in place.
"""

import pathlib
import random
import re

RULES = {
    "sky": [
        "a low grey sky",
        "clear weather",
        "thick fog",
        "a high thin cloud",
        "rain from the south",
        "a hard frost",
        "a pale sun",
        "stars until dawn",
        "sleet in the morning",
        "a warm haze",
        "broken cloud",
        "a red sky at evening",
        "thunder far away",
        "a ring around the moon",
    ],
    "wind": [
        "no wind at all",
        "a light wind from the west",
        "a steady wind from the north",
        "half a gale from the south",
        "a gale that shook the lamp room",
        "a breeze off the land",
        "gusts that changed their mind",
        "a cold wind from the east",
        "a soft wind with salt in it",
    ],
    "weather": [
        "{Sky}, and {wind}.",
        "{Sky}; {wind}.",
        "The day began with {sky} and {wind}.",
        "{Wind}, under {sky}.",
        "Woke to {sky}.",
        "{Sky} before noon, {sky} after.",
        "We had {wind} and {sky}.",
        "The glass is {glass}; {wind}.",
    ],
    "glass": ["falling", "rising", "steady", "lower than I have seen it", "high and still"],
    "who": [
        "Marta",
        "old Teodor",
        "the boy Anselm",
        "the schoolteacher",
        "the carpenter",
        "my sister",
        "the ferryman",
        "the doctor's wife",
        "Ilse",
        "the priest",
        "the net maker",
        "the postman",
    ],
    "ship": [
        "the Patience",
        "the Northern Lily",
        "a coal barge",
        "the ferry",
        "a schooner with red sails",
        "the Hanna",
        "two herring boats",
        "a grey steamer",
        "the mail boat",
        "a yacht without a name",
        "the Good Neighbour",
        "a trawler from the islands",
    ],
    "thing": [
        "a tin of oil",
        "bread and onions",
        "a letter",
        "four new wicks",
        "a basket of eggs",
        "a coil of rope",
        "a bag of flour",
        "the newspaper of last week",
        "a jar of honey",
        "a box of nails",
        "a brass hinge",
        "a kitten",
        "seed potatoes",
        "a blue scarf",
        "a book about comets",
        "half a cheese",
        "a pane of glass",
        "a clock that runs backwards",
    ],
    "creature": [
        "a seal",
        "three porpoises",
        "a heron",
        "the white gull",
        "a tired swallow",
        "a small owl",
        "a hundred geese",
        "a crab as big as a plate",
        "the neighbour's goat",
        "a shoal of mackerel",
    ],
    "place": [
        "on the rocks below",
        "in the harbour",
        "behind the reef",
        "near the old wreck",
        "beyond the second buoy",
        "at the foot of the stairs",
        "in the lee of the island",
        "off the long sandbank",
        "by the well",
        "where the current turns",
    ],
    "work": [
        "cleaned the great lens",
        "trimmed the wick",
        "painted the iron railing",
        "mended the boat",
        "oiled the clockwork",
        "carried oil up the stairs",
        "wrote to the harbour office",
        "swept the stairs",
        "counted the candles",
        "polished the brass",
        "dug the garden",
        "repaired the roof",
        "tested the fog bell",
        "wound the weights twice",
        "darned my coat",
    ],
    "time": [
        "before breakfast",
        "at noon",
        "in the afternoon",
        "towards evening",
        "at midnight",
        "an hour before dawn",
        "after the lamp was lit",
        "when the tide turned",
        "at low water",
    ],
    "number": ["two", "three", "four", "five", "seven", "nine", "eleven", "twelve", "twenty"],
    "passing": [
        "{Ship} passed {place} {time}.",
        "{Time} {ship} came in slowly and anchored {place}.",
        "Saw {ship} {place}, and answered with the flag.",
        "{Ship} waited {number} hours {place}.",
        "Nothing passed but {ship}.",
        "{Time} I counted {number} sails {place}.",
        "{Ship} blew the horn {number} times to thank us.",
        "No ships. The sea belongs to {creature}.",
    ],
    "labour": [
        "{Time} I {work}.",
        "I {work} and {work}.",
        "With the help of {who} I {work}.",
        "I {work}, which took {number} hours.",
        "{Who} and I {work} {time}.",
        "I should have {work_done}, but slept instead.",
        "Again I {work}; it will not last.",
    ],
    "work_done": [
        "cleaned the lens",
        "mended the net",
        "written to the office",
        "painted the door",
        "wound the clock",
        "aired the blankets",
        "answered the letter",
    ],
    "visit": [
        "{Who} came with {thing} and stayed until dark.",
        "{Who} rowed over {time} with {thing}.",
        "{Who} asked for {thing}; I gave {thing} instead.",
        "{Who} brought {thing} and no news.",
        "Gave {who} {thing} in return for {thing}.",
        "{Who} says that {claim}.",
        '"{Claim}," said {who}. I said nothing.',
        "{Who} told me again that {claim}.",
    ],
    "claim": [
        "the herring will come late this year",
        "the light can be seen from the mainland hills",
        "the old wreck moves a little every winter",
        "a keeper needs {number} kinds of patience",
        "the fog is only the sea thinking",
        "nobody has ever counted the stairs correctly",
        "the moon pulls harder on an empty boat",
        "my bell is half a tone too low",
        "the price of oil will double before spring",
        "the town wants a second lighthouse",
        "there is gold in the well",
        "the island grows by {number} stones a year",
        "one can smell snow {number} days before it falls",
    ],
    "wonder": [
        "{Time} {creature} rested {place}.",
        "Found {creature} {place}, and left it in peace.",
        "{Creature} looked at me as if I owed it {thing}.",
        "The light drew {creature} to the glass.",
        "At night the water shone green {place}.",
        "Heard singing {place}; it was only the wind.",
        "The sea left {thing} {place}.",
        "{Creature} has made a home {place}.",
    ],
    "thought": [
        "I do not think that I shall leave.",
        "It is good to be useful to people one never meets.",
        "The stairs were longer today.",
        "A lamp is a promise that is kept every night.",
        "Quiet is not the same as empty.",
        "I read until the oil was low.",
        "If the sea has an opinion, it keeps it to itself.",
        "Everything here tastes of salt.",
        "Whoever built this tower loved corners less than I do.",
        "Tomorrow the same, I hope.",
        "The dark is wide, but it ends where our light begins.",
        "I miss the sound of trees.",
        "One learns to tell the hours by the colour of the water.",
        "All is well.",
        "It is a small life, and it fits me.",
        "The lamp burned clean until morning.",
    ],
    "lamp": [
        "Lamp lit at {hour}, out at {morning}.",
        "Lit the lamp at {hour}. {Number} gallons used.",
        "The lamp smoked at {hour}; trimmed it.",
        "Light steady from {hour} to {morning}.",
        "Oil in store: {number} barrels.",
    ],
    "hour": ["four", "half past four", "five", "half past five", "six", "seven", "half past eight"],
    "morning": ["five", "half past five", "six", "half past six", "seven", "eight"],
    "verse": [
        "{Line_a},\n{line_b};\n{Line_c},\n{line_d}.",
        "{Line_c},\n{line_d};\n{Line_a},\n{line_b}.",
    ],
    "line_a": [
        "The tide goes out, the tide comes in",
        "The keeper climbs with oil and flame",
        "The boats come home on silver foam",
        "The north wind knocks, the south wind sings",
        "The lamp turns round and never tires",
    ],
    "line_b": [
        "and where it ends the songs begin",
        "and no two nights are quite the same",
        "and every wave has far to roam",
        "and both have salt upon their wings",
        "and ships are warmed by distant fires",
    ],
    "line_c": [
        "O gull that sleeps upon the mast",
        "O moon that walks upon the bay",
        "O bell that counts the foggy hours",
        "O stone that holds against the storm",
        "O star that looks on sea and land",
    ],
    "line_d": [
        "the longest night is always past",
        "be kind to those who lose their way",
        "remember gardens, rain and flowers",
        "keep all within your circle warm",
        "take every sailor by the hand",
    ],
}
MONTHS = {
    "January": 31,
    "February": 28,
    "March": 31,
    "April": 30,
    "May": 31,
    "June": 30,
    "July": 31,
    "August": 31,
    "September": 30,
    "October": 31,
    "November": 30,
    "December": 31,
}
SENTENCES = ("passing", "labour", "visit", "wonder", "thought", "passing", "labour", "visit")


def expand(rule, rng):
    """One random expansion of a rule; a capitalized name gives a capitalized expansion."""
    text = rng.choice(RULES[rule.lower()])
    text = re.sub(r"\{(\w+)\}", lambda match: expand(match[1], rng), text)
    return text[0].upper() + text[1:] if rule[0].isupper() else text


def entry(month, day, rng):
    kinds = rng.sample(SENTENCES, rng.randint(2, 5))
    sentences = [expand("weather", rng), *(expand(kind, rng) for kind in kinds)]
    if rng.random() < 0.6:
        sentences.append(expand("lamp", rng))
    text = f"{month} {day}. " + " ".join(sentences)
    if rng.random() < 0.08:
        text += "\n\n" + expand("verse", rng)
    return text


def main():
    rng = random.Random(1884)
    parts = ["THE LOG OF THE LIGHTHOUSE AT FARROW POINT"]
    for year in ("FIRST", "SECOND"):
        parts.append(f"THE {year} YEAR")
        for month, days in MONTHS.items():
            parts += [entry(month, day, rng) for day in range(1, days + 1) if rng.random() < 0.42]
    path = pathlib.Path(__file__).with_name("lighthouse.txt")
    path.write_text("\n\n".join(parts) + "\n")
    print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
