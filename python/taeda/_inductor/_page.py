"""One self-contained page about a compiled program: graph, partition, steps, memory, sources."""

from html import escape

from ._report import plan_names, size_text

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; }
pre { background: #f4f4f2; padding: .8em; overflow-x: auto; font-size: 13px; line-height: 1.35; }
table { border-collapse: collapse; font-size: 14px; }
td, th { border-bottom: 1px solid #ddd; padding: .25em .7em; text-align: left;
  vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { background: #6a8caf; height: .8em; } code { font-size: 13px; }
details { margin: .3em 0; } td details { margin: 0; } summary { cursor: pointer; }
rect { stroke: #fff; stroke-width: .5; } text { font: 11px system-ui, sans-serif; }
"""


def pre(text):
    return f"<pre>{escape(text)}</pre>"


def folded(title, text):
    return f"<details><summary>{escape(title)}</summary>{pre(text)}</details>"


def steps_table(report):
    rows = []
    for number, step in enumerate(report["steps"]):
        has_kernel = step["kind"] == "kernel" or step["epilogue"] or step["prologues"]
        form = "" if not has_kernel else "native" if step["native"] else "interpreted"
        name = " + ".join(filter(None, [*step["prologues"], step["name"], step["epilogue"]]))
        nodes = "\n".join(step["nodes"] + step["lines"])
        time = f"{step['seconds'] * 1e6:.1f}" if step["seconds"] else ""
        numbers = [step["bytes_read"], step["bytes_written"], step["bytes_saved"]]
        cells = "".join(f'<td class="n">{size_text(n)}</td>' for n in numbers)
        rows.append(
            f'<tr><td class="n">{number}</td><td>{escape(name)}</td><td>{form}</td>'
            f"<td>{folded(', '.join(step['values']), nodes)}</td>{cells}"
            f'<td class="n">{time}</td></tr>'
        )
    head = ["step", "runs", "form", "gives", "read", "written", "saved by fusion", "µs"]
    titles = "".join(f"<th>{title}</th>" for title in head)
    return f"<table><tr>{titles}</tr>{''.join(rows)}</table>"


def _color(number):
    return f"hsl({number * 137 % 360} 45% 68%)"


def memory_picture(report, width=900, height=320):
    """The arena as a picture: steps to the right, offsets downwards."""
    slots, total = report["arena"], report["arena_bytes"]
    note = (
        f"<p>An arena of {size_text(total)} for {len(slots)} values; "
        f"outputs of {size_text(report['output_bytes'])}.</p>"
    )
    if not slots:
        return note
    across, down = width / max(len(report["steps"]), 1), height / total
    parts = []
    for number, slot in enumerate(slots):
        x, y = slot["first"] * across, slot["offset"] * down
        wide = (slot["last"] - slot["first"] + 1) * across
        high = max(slot["bytes"] * down, 1)
        title = (
            f"{slot['value']}: {slot['bytes']} bytes at {slot['offset']}, "
            f"steps {slot['first']} to {slot['last']}"
        )
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}" '
            f'fill="{_color(number)}"><title>{escape(title)}</title></rect>'
        )
        if high >= 12 and wide >= 60:
            parts.append(f'<text x="{x + 4:.1f}" y="{y + 11:.1f}">{escape(slot["value"])}</text>')
    picture = f'<svg viewBox="0 0 {width} {height}" width="100%">{"".join(parts)}</svg>'
    return note + picture


def stages_table(report):
    rows = "".join(
        f'<tr><td>{escape(stage)}</td><td class="n">{seconds * 1e3:.2f} ms</td></tr>'
        for stage, seconds in report["seconds"].items()
    )
    return f"<table>{rows}</table>"


def summary(report):
    text = (
        f"{report['kernels']} kernels, {report['native']} of them native; "
        f"{len(report['library_calls'])} library calls, {len(report['fallbacks'])} fallbacks; "
        f"{size_text(report['bytes_moved'])} moved, "
        f"{size_text(report['bytes_saved'])} saved by fusion."
    )
    problem = f"<p>Not compiled: {escape(report['problem'])}</p>" if report["problem"] else ""
    fallbacks = ", ".join(sorted(set(report["fallbacks"])))
    return f"<p>{text}</p>{problem}" + (
        f"<p>Fallbacks: {escape(fallbacks)}</p>" if fallbacks else ""
    )


def parts_of(compiled, level=2):
    """What the page tells of each plan, under headings of a level."""
    reports = compiled.report()
    names = [name.capitalize() for name in plan_names(compiled, len(reports))]
    sources, texts = compiled._plan.sources(), compiled._plan.texts()
    body = []

    def head(text, below=0):
        return f"<h{level + below}>{text}</h{level + below}>"

    for name, report, source, text in zip(names, reports, sources, texts, strict=True):
        body += [head(name), summary(report)]
        body += [head("Steps", 1), steps_table(report), head("Memory", 1), memory_picture(report)]
        body += [head("Time of the compiler", 1), stages_table(report)]
        body += [folded("Kernels as C++", source), folded("Kernels before printing", text)]
    return body


def page(title, body):
    """A page of parts, with everything that it needs inside."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n"
    )


def page_of(compiled):
    """The text of the page."""
    body = ["<h1>A compiled program</h1>", "<h2>Graph</h2>", pre(str(compiled._graph))]
    if compiled._plan.partition():
        body += ["<h2>Partition</h2>", pre(compiled._plan.partition())]
    return page("A compiled program", body + parts_of(compiled))


def write_page(compiled, path):
    """Writes the page to a file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(page_of(compiled))
