"""Functions of the standard library that work on text."""

import ast
import base64
import binascii
import configparser
import csv
import difflib
import fnmatch
import html
import html.parser
import io
import json
import json.decoder
import json.encoder
import keyword
import posixpath
import quopri
import re
import shlex
import string
import sys
import textwrap
import tokenize
import urllib.parse

from frames_corpus import over

parser, compiler = re._parser, re._compiler
if sys.version_info < (3, 12):
    tokens_of = tokenize._tokenize
else:
    tokens_of = tokenize._generate_tokens_from_c_tokenizer

TEXT = """    Hello there, this is a paragraph of some length.
      It has two lines and long-winded words.

    And a second one.
"""


@over(textwrap.dedent)
def case_dedent(p):
    return textwrap.dedent(TEXT), textwrap.dedent("\ta\n\t  b\n"), textwrap.dedent(" x\ny")


@over(textwrap.TextWrapper._wrap_chunks, textwrap.TextWrapper._handle_long_word)
def case_wrap(p):
    return textwrap.wrap(TEXT.replace("\n", " "), 24), textwrap.wrap("extraordinarily long", 6)


@over(textwrap.TextWrapper._split, textwrap.TextWrapper._fix_sentence_endings)
def case_fill(p):
    return textwrap.fill("One two. Three-four five.", 14, fix_sentence_endings=True)


@over(textwrap.indent, textwrap.shorten)
def case_indent_and_shorten(p):
    return textwrap.indent("a\n\nb\n", "> "), textwrap.shorten("Hello  big world", width=11)


@over(json.decoder.py_scanstring)
def case_json_scanstring(p):
    scan = json.decoder.py_scanstring
    out = [scan('ab\\n\\u00e9\\ud83d\\ude00c" rest', 0)]
    for bad in ('"open', '\\q"', 'a\nb"', '\\u12"'):
        try:
            scan(bad, 0)
        except json.JSONDecodeError as error:
            out.append(str(error))
    return out


@over(json.decoder.JSONObject, json.decoder.JSONArray)
def case_json_pure_decoder(p):
    decoder = json.decoder.JSONDecoder()
    decoder.parse_string = json.decoder.py_scanstring
    decoder.scan_once = json.scanner.py_make_scanner(decoder)
    out = [decoder.decode(' {"a": [1, 2.5, true, null], "b": {}, "c": []} ')]
    for bad in ("[1 2]", '{"a" 1}', "[1,]", '{"a": }'):
        try:
            decoder.decode(bad)
        except json.JSONDecodeError as error:
            out.append(str(error))
    return out


@over(json.scanner.py_make_scanner)
def case_json_pure_scanner(p):
    decoder = json.decoder.JSONDecoder(parse_float=str)
    scan = json.scanner.py_make_scanner(decoder)
    return scan("[1, -2.5e3, NaN, false]", 0), scan("true", 0)


@over(json.encoder._make_iterencode)
def case_json_pure_encoder(p):
    encoder = json.encoder.JSONEncoder(indent=1, sort_keys=True)
    return "".join(
        encoder.iterencode({"b": [1, 2.5, None, [], {}], "a": {"x": True, "y": "é"}, "c": {3: 4}})
    )


@over(json.encoder.JSONEncoder.default, json.encoder._make_iterencode)
def case_json_encoder_errors(p):
    out = []
    loop = []
    loop.append(loop)
    for value in ({"k": {1}}, loop, {(1,): 2}):
        try:
            list(json.JSONEncoder(indent=1).iterencode(value))
        except (TypeError, ValueError) as error:
            out.append(str(error))
    return out


@over(difflib.SequenceMatcher.find_longest_match, difflib.SequenceMatcher.get_matching_blocks)
def case_sequence_matcher(p):
    m = difflib.SequenceMatcher(None, "abxcd", "abcd")
    return m.get_opcodes(), round(m.ratio(), 3)


@over(difflib.unified_diff)
def case_unified_diff(p):
    a, b = ["one", "two", "three"], ["one", "2", "three", "four"]
    return list(difflib.unified_diff(a, b, "a", "b", lineterm="", n=1))


@over(difflib.Differ.compare, difflib.Differ._fancy_replace)
def case_ndiff(p):
    return list(difflib.ndiff(["abc\n", "x\n"], ["abd\n", "x\n", "y\n"]))


@over(difflib.get_close_matches)
def case_close_matches(p):
    return difflib.get_close_matches("appel", ["ape", "apple", "peach"])


@over(shlex.shlex.read_token)
def case_shlex_read_token(p):
    return shlex.split('a \'b c\' d\\ e "f \\" g" # no', comments=True)


@over(shlex.quote, shlex.join, shlex.shlex.get_token)
def case_shlex_quote(p):
    try:
        shlex.split("'open")
    except ValueError as error:
        p.log(str(error))
    return shlex.join(["a b", "c", "d'e", ""])


@over(fnmatch.translate)
def case_fnmatch_translate(p):
    return [fnmatch.translate(t) for t in ("*.py", "a?[!b-d]*", "[", "**x")]


@over(fnmatch.filter, fnmatch.fnmatchcase)
def case_fnmatch_filter(p):
    return fnmatch.filter(["a.py", "b.txt", "c.py"], "[ab].*"), fnmatch.fnmatchcase("A", "a")


@over(posixpath.join, posixpath.split, posixpath.splitext)
def case_posixpath(p):
    return (
        posixpath.join("a", "b/", "/c", "d"),
        posixpath.split("/a/b"),
        posixpath.splitext("x.tar.gz"),
    )


@over(posixpath.commonpath, posixpath.relpath)
def case_posixpath_common(p):
    try:
        posixpath.commonpath(["/a", "b"])
    except ValueError as error:
        p.log(str(error))
    return posixpath.commonpath(["/a/b/c", "/a/b/d"]), posixpath.relpath("/a/b", "/a/c/d")


@over(posixpath.expandvars, posixpath.basename, posixpath.isabs)
def case_posixpath_expand(p):
    return posixpath.expandvars("$fc_missing/x"), posixpath.basename("a/b/"), posixpath.isabs("/a")


@over(urllib.parse.urlsplit, urllib.parse.urlparse)
def case_urlsplit(p):
    urllib.parse.urlsplit.cache_clear()
    u = urllib.parse.urlparse("http://user:pw@host:80/path;par?q=1#frag")
    return tuple(u), u.hostname, u.port, u.username


@over(urllib.parse.urljoin, urllib.parse.urlunsplit)
def case_urljoin(p):
    join = urllib.parse.urljoin
    return join("http://a/b/c/d", "../e"), join("http://a/b", "//h/x"), join("http://a/b?q", "#f")


@over(urllib.parse.urlencode, urllib.parse.parse_qsl)
def case_query_strings(p):
    text = urllib.parse.urlencode({"a": ["1", "é"], "b c": "d&e"}, doseq=True)
    return text, urllib.parse.parse_qsl(text + "&empty="), urllib.parse.parse_qs("a=1&a=2")


@over(urllib.parse.quote, urllib.parse.unquote, urllib.parse.quote_plus)
def case_quote(p):
    quoted = urllib.parse.quote("a b/é?", safe="/")
    return (
        quoted,
        urllib.parse.unquote(quoted),
        urllib.parse.quote_plus("a b"),
        urllib.parse.unquote("%zz%41"),
    )


@over(html.escape, html.unescape, html._replace_charref)
def case_html(p):
    return html.escape("<a b='c'>&"), html.unescape("&lt;&#65;&#x42;&amp &bogus; &notit;")


@over(html.parser.HTMLParser.goahead, html.parser.HTMLParser.parse_starttag)
def case_html_parser(p):
    class Parser(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            p.log("start", tag, attrs)

        def handle_endtag(self, tag):
            p.log("end", tag)

        def handle_data(self, data):
            p.log("data", data)

    parser = Parser()
    parser.feed("<p class='x'>a &amp; b<br/></p><!-- c -->")
    parser.close()


@over(csv.Sniffer._guess_delimiter, csv.Sniffer.has_header)
def case_csv_sniffer(p):
    text = "name;age\nann;30\nbob;25\n"
    dialect = csv.Sniffer().sniff(text, ";,")
    return dialect.delimiter, csv.Sniffer().has_header(text)


@over(csv.DictReader.__next__, csv.DictWriter.writerow, csv.DictWriter._dict_to_list)
def case_csv_dicts(p):
    out = io.StringIO()
    writer = csv.DictWriter(out, ["a", "b"], restval="-")
    writer.writeheader()
    writer.writerow({"a": 1})
    try:
        writer.writerow({"c": 1})
    except ValueError as error:
        p.log(str(error))
    return out.getvalue(), list(csv.DictReader(io.StringIO("x,y\n1,2\n3\n4,5,6\n")))


@over(configparser.ConfigParser.get, configparser.BasicInterpolation._interpolate_some)
def case_configparser(p):
    c = configparser.ConfigParser()
    c.read_string("[a]\nhome = /x\npath = %(home)s/y\nflag: yes\n[b]\nn = 5\n")
    return (
        c["a"]["path"],
        c.getboolean("a", "flag"),
        c.getint("b", "n"),
        c.get("b", "z", fallback="f"),
    )


@over(configparser.RawConfigParser._write_section, configparser.RawConfigParser.set)
def case_configparser_write(p):
    c = configparser.ConfigParser()
    c["s"] = {"k": "v", "m": "a\nb"}
    c.set("s", "extra", "1")
    out = io.StringIO()
    c.write(out)
    try:
        c.read_string("[s]\nx = 1\nx = 2")
    except configparser.DuplicateOptionError as error:
        p.log(error.option)
    return out.getvalue()


@over(string.capwords, string.Template.substitute)
def case_string_functions(p):
    return string.capwords("hello  wide world"), string.Template("${a}-$b").substitute(a=1, b=2)


@over(parser._parse, parser._parse_sub)
def case_regex_parser(p):
    tree = parser.parse(r"(?P<n>a|b)+?[^x-z\d]{2,3}(?=c)\b")
    return str(tree), tree.state.groupdict


@over(compiler._compile, compiler._optimize_charset)
def case_regex_compiler(p):
    return compiler._code(parser.parse(r"[a-c]x*(?:d|ef)?"), 0)


@over(parser._escape, parser._class_escape, parser.parse)
def case_regex_errors(p):
    out = []
    for text in ("(", "a**", "[z-a]", r"\q", "(?P<1>x)", "(?<=a*)b", "x{3,2}", r"[\q]"):
        try:
            compiler.compile(text)
        except re.error as error:
            out.append(str(error))
    return out


@over(parser.parse_template)
def case_regex_template(p):
    pattern = re.compile(r"(\w)(?P<x>\w)")
    template = r"\2\g<x>\1\n\101"
    return parser.parse_template(template, pattern), pattern.sub(template, "abcd")


@over(re.escape)
def case_regex_helpers(p):
    return re.escape("a.b*c"), re.split(r"(\s)", "a b c"), re.findall("a(.)", "abac")


@over(ast._Unparser.visit_BinOp, ast._Unparser.visit_FunctionDef, ast._Unparser.visit_Call)
def case_ast_unparse(p):
    return ast.unparse(ast.parse("def f(a, *b, c=1):\n    return (a + b * c)(x, *y, k=-2)"))


@over(ast.dump)
def case_ast_dump(p):
    return ast.dump(ast.parse("x = [1, y]")), ast.dump(ast.parse("f(a)"), indent=1)


@over(ast.literal_eval)
def case_ast_literal_eval(p):
    try:
        ast.literal_eval("f(1)")
    except ValueError as error:
        p.log(str(error).split(":")[0])
    return ast.literal_eval("{'a': [1, -2.5, (3, None)], 'b': {1, 2}, 'c': 1+2j}")


@over(ast.NodeVisitor.visit, ast.NodeTransformer.generic_visit, ast.walk)
def case_ast_visitors(p):
    class Double(ast.NodeTransformer):
        def visit_Constant(self, node):
            return ast.Constant(node.value * 2)

        def visit_Pass(self, node):
            return None

    tree = Double().visit(ast.parse("pass\nx = 1 + 2"))
    return ast.unparse(tree), sum(isinstance(n, ast.Constant) for n in ast.walk(tree))


@over(tokens_of)
def case_tokenize(p):
    tokens = tokenize.generate_tokens(io.StringIO("x = (1 +\n 'a')  # c\n").readline)
    return [(tokenize.tok_name[t.type], t.string) for t in tokens]


@over(tokenize.untokenize, tokenize.Untokenizer.compat, tokenize.Untokenizer.untokenize)
def case_untokenize(p):
    tokens = list(tokenize.generate_tokens(io.StringIO("if x:\n  y = 1\n").readline))
    return tokenize.untokenize(tokens), tokenize.untokenize(t[:2] for t in tokens)


@over(base64.b32encode, base64._b32encode, base64.b85encode, base64._85encode, base64.b85decode)
def case_base64(p):
    try:
        base64.b85decode(b"\x00")
    except ValueError as error:
        p.log(str(error))
    return base64.b32encode(b"hello"), base64.b85encode(b"hi there"), base64.b85decode(b"Xk~0{Zv")


@over(base64.a85encode, base64.a85decode, base64.b32decode, base64._b32decode)
def case_base64_ascii85(p):
    try:
        base64.b32decode(b"A1======")
    except binascii.Error as error:
        p.log(str(error))
    return (
        base64.a85encode(b"hello wo", wrapcol=5),
        base64.a85decode(b"87cURDZ"),
        base64.b32decode(b"MFRA===="),
    )


@over(quopri.encode, quopri.decode, quopri.quote, quopri.needsquoting)
def case_quopri(p):
    encode, decode = io.BytesIO(), io.BytesIO()
    saved = quopri.b2a_qp, quopri.a2b_qp
    quopri.b2a_qp = quopri.a2b_qp = None
    try:
        quopri.encode(io.BytesIO(b"a=b\xe9 \nlast"), encode, quotetabs=False)
        quopri.decode(io.BytesIO(encode.getvalue()), decode)
    finally:
        quopri.b2a_qp, quopri.a2b_qp = saved
    return encode.getvalue(), decode.getvalue(), keyword.iskeyword("if")
