"""The page of an explained program: breaks, graphs, guards, recompiles, kernels, time."""

from html import escape

from taeda._inductor._page import folded, page, parts_of, pre

__all__ = ["page_of"]


def _table(titles, rows):
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _code(text):
    return f"<code>{escape(text)}</code>"


def _breaks(output):
    if not output.break_reasons:
        return "<p>None: the program is captured as a whole.</p>"
    rows = [
        (
            _code(f"{reason.file}:{reason.line}"),
            _code(reason.source),
            escape(reason.reason),
            escape(reason.remedy),
        )
        for reason in output.break_reasons
    ]
    return _table(["place", "line", "cause", "remedy"], rows)


def _counts(counter, titles, nothing):
    if not counter:
        return f"<p>{nothing}</p>"
    return _table(titles, [(_code(name), str(count)) for name, count in counter.most_common()])


def _recompiles(output):
    if not output.recompiles:
        return "<p>None.</p>"
    return "<ul>" + "".join(f"<li>{_code(text)}</li>" for text in output.recompiles) + "</ul>"


def _guards(output):
    parts = []
    for place, guards in output.guards_by_region:
        text = "\n".join(f"{guard.text}   [{guard.guard_type}]" for guard in guards)
        parts.append(folded(f"{place}: {len(guards)} guards", text))
    return "".join(parts) or "<p>None.</p>"


def _time(seconds):
    """A bar per stage, as wide as its share."""
    whole = sum(seconds.values()) or 1.0
    rows = [
        (
            escape(stage),
            f"{value * 1e3:.2f} ms",
            f'<div class="bar" style="width: {max(value / whole * 20, 0.05):.2f}em"></div>',
        )
        for stage, value in seconds.items()
    ]
    return _table(["stage", "time", "share"], rows)


def _order(item):
    """By file, then by the number of the line."""
    file, _, rest = item[0].partition(":")
    number = rest.partition(":")[0]
    return file, int(number) if number.isdigit() else 0


def _lines_of(output):
    """The program's lines that kernels come from, each with its kernels."""
    by_line = {}
    for number, name, values, lines in output.kernel_lines():
        for line in lines:
            by_line.setdefault(line, []).append(f"graph {number + 1}: {name} ({', '.join(values)})")
    if not by_line:
        return "<p>No kernels.</p>"
    rows = [
        (_code(line), "<br>".join(escape(kernel) for kernel in kernels))
        for line, kernels in sorted(by_line.items(), key=_order)
    ]
    return _table(["line of the program", "kernels and calls"], rows)


def _graph(number, gm, compiled):
    parts = [f"<h2>Graph {number + 1}</h2>", pre(gm.code.strip())]
    if isinstance(compiled, str):
        return [*parts, f"<p>Not compiled, so it runs as it is: {escape(compiled)}</p>"]
    return parts + parts_of(compiled, level=3)


def page_of(output):
    """The text of the page."""
    body = [
        "<h1>A captured program</h1>",
        f"<p>{output.graph_count} graphs with {output.op_count} calls; "
        f"{output.graph_break_count} breaks; {len(output.recompiles)} recompiles.</p>",
        "<h2>Breaks</h2>",
        _breaks(output),
        "<h2>Instructions that ran as they are</h2>",
        _counts(output.natively, ["instruction", "times"], "None."),
        "<h2>Recompiles</h2>",
        _recompiles(output),
        "<h2>Guards</h2>",
        _guards(output),
        "<h2>Time of this call</h2>",
        _time(output.seconds),
        "<h2>Kernels beside the program</h2>",
        _lines_of(output),
    ]
    for number, (gm, compiled) in enumerate(zip(output.graphs, output.kernels, strict=True)):
        body += _graph(number, gm, compiled)
    return page("A captured program", body)
