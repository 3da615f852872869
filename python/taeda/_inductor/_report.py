"""Reports of plans: dicts for programs, pictures in letters for people."""


def complete(plan):
    """The plans' own reports, with what follows from them."""
    reports = plan.report()
    for report in reports:
        steps = report["steps"]
        report["bytes_moved"] = sum(s["bytes_read"] + s["bytes_written"] for s in steps)
        report["bytes_saved"] = sum(s["bytes_saved"] for s in steps)
    if reports:
        reports[0]["seconds"] = {"trace": plan.trace_seconds()} | reports[0]["seconds"]
    return reports


def size_text(count):
    """1536 as "1.5 KiB"."""
    units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
    value, unit = float(count), 0
    while value >= 1024 and unit < len(units) - 1:
        value, unit = value / 1024, unit + 1
    return f"{count} bytes" if unit == 0 else f"{value:.1f} {units[unit]}"


def plan_names(compiled, count):
    """What the plans of a program are called. Those of regions, of frozen values and between sizes
    that only data tells have numbers."""
    if count == 1:
        return ["inference"]
    if count == 2 and compiled._plan.partition():
        return ["forward", "backward"]
    return [f"plan {i}" for i in range(count)]


def fusion_text(report):
    """One paragraph per step: what runs together, and the memory traffic that this saves."""
    lines = []
    for number, step in enumerate(report["steps"]):
        moved = f"{size_text(step['bytes_read'])} read, {size_text(step['bytes_written'])} written"
        made = f"gives {', '.join(step['values'])}; {moved}"
        if step["packed_bytes"]:
            made += f", {size_text(step['packed_bytes'])} kept in panels"
        name = step["name"] if step["kind"] == "kernel" else f"call {step['name']}"
        if step["members"] > 1:
            name += f", {step['members']} equal ones joined,"
        if step["singles"]:
            name += f" with {step['singles']} of single elements,"
        if step["family"] > 1:
            name += f", one of {step['family']} side by side,"
        if step["prologues"]:
            name += f", operands by {', '.join(step['prologues'])},"
        if step["epilogue"]:
            name += f", finished by {step['epilogue']},"
        if step["kind"] == "call" and not step["prologues"] and not step["epilogue"]:
            lines.append(f"{number}: {name} {made}")
            continue
        lines.append(f"{number}: {name} {made}, {size_text(step['bytes_saved'])} saved")
        lines += [f"     {node}" for node in step["nodes"]]
    return "\n".join(lines) + "\n"


def memory_text(report, width=64, rows=40):
    """The arena as a picture: steps go to the right, offsets downwards."""
    slots = sorted(report["arena"], key=lambda slot: (slot["offset"], slot["first"]))
    text = (
        f"arena of {size_text(report['arena_bytes'])} for {len(slots)} values, "
        f"outputs of {size_text(report['output_bytes'])}\n"
    )
    if not slots:
        return text
    steps = max(len(report["steps"]), 1)
    scale = max(steps / width, 1)
    columns = int((steps - 1) / scale) + 1
    for slot in slots[:rows]:
        first, last = int(slot["first"] / scale), int(slot["last"] / scale)
        bar = "." * first + "#" * (last - first + 1) + "." * (columns - last - 1)
        place = f"{slot['offset']:>12} +{size_text(slot['bytes']):<12}"
        text += f"{place} |{bar}| {slot['value']}\n"
    if len(slots) > rows:
        text += f"{'':>12}  and {len(slots) - rows} more\n"
    return text


def timing_text(reports):
    """The time of each stage, and of each step where runs were timed."""
    text = ""
    for report in reports:
        for stage, seconds in report["seconds"].items():
            text += f"{stage:<10}{seconds * 1e3:10.2f} ms\n"
        for number, step in enumerate(report["steps"]):
            if step["seconds"]:
                text += f"step {number:<5}{step['seconds'] * 1e6:10.2f} µs  {step['name']}\n"
    return text
