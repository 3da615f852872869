"""The text of a program that an instruction stands for, with marks below it, as tracebacks show."""

import ast
import linecache

__all__ = ["get_instruction_source_311"]


def _column(line, offset):
    """The place in a text of an offset in its bytes."""
    return len(line.encode()[:offset].decode(errors="replace"))


def _last_bracket(segment, opening, start):
    """The place of an opening bracket behind `start`, comments and white space skipped."""
    line, column = start
    while True:
        text = segment[line]
        while column < len(text) and text[column] != "#":
            if text[column] == opening:
                return line, column
            column += 1
        line, column = line + 1, 0


def _operator(segment, start):
    """Where an operator begins and ends behind its left operand, brackets and comments skipped."""
    line, column = start
    while True:
        text = segment[line]
        if column >= len(text) or text[column] in "#\\":
            line, column = line + 1, 0
        elif text[column].isspace() or text[column] == ")":
            column += 1
        else:
            is_two = text[column : column + 2] in ("**", "//", "<<", ">>")
            return (line, column), (line, column + 1 + is_two)


def _anchors(segment):
    """What of an expression is marked by ^: an operator, an index, the arguments of a call.

    segment: lines of the expression, from its first character to its last. None: all of it.
    """
    # In brackets, so that lines may end anywhere; they are the first line here.
    try:
        tree = ast.parse("(\n" + "\n".join(segment) + "\n)")
    except SyntaxError:
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return None
    expression = tree.body[0].value

    def end_of(node):
        line = node.end_lineno - 2
        return line, _column(segment[line], node.end_col_offset)

    last = (len(segment) - 1, len(segment[-1]))
    match expression:
        case ast.BinOp(left=left):
            return _operator(segment, end_of(left))
        case ast.Subscript(value=value):
            return _last_bracket(segment, "[", end_of(value)), last
        case ast.Call(func=func):
            return _last_bracket(segment, "(", end_of(func)), last
    return None


def _marks(line, first, end, at, anchors):
    """The line of marks below a line, from `first` to `end`."""
    marks = []
    for column in range(end):
        if column < first:
            marks.append(" ")
        elif anchors and anchors[0] <= (at, column) < anchors[1]:
            marks.append("^")
        else:
            marks.append("~")
    return "".join(marks).rstrip()


def get_instruction_source_311(code, inst):
    """The lines of the program that an instruction comes from, each with its marks below."""
    position = inst.positions
    if position is None or position.lineno is None or position.end_col_offset is None:
        return ""
    numbers = range(position.lineno, position.end_lineno + 1)
    lines = [linecache.getline(code.co_filename, number).rstrip("\n") for number in numbers]
    first = _column(lines[0], position.col_offset)
    end = _column(lines[-1], position.end_col_offset)
    segment = list(lines)
    segment[-1] = segment[-1][:end]
    segment[0] = segment[0][first:]
    anchors = _anchors(segment)
    if anchors:
        anchors = [(at, column + (first if at == 0 else 0)) for at, column in anchors]
    text = ""
    for at, line in enumerate(lines):
        begin = first if at == 0 else len(line) - len(line.lstrip())
        stop = end if at == len(lines) - 1 else len(line.rstrip())
        text += f"{line}\n{_marks(line, begin, stop, at, anchors)}\n"
    return text
