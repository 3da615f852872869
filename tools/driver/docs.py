"""`./run docs`: collects written and generated pages in build/docs and checks their links."""

import os
import re
import shutil
from pathlib import Path

from driver.build import Build
from driver.process import ROOT, say

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
OUTWARD = re.compile(r"\]\((\.\./[^)#\s]+)")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


def broken_links(folder: Path) -> list[str]:
    """`page: link` for each relative link of a page under `folder` that leads nowhere."""
    pages = sorted(folder.rglob("*.md"))
    return [
        f"{page.relative_to(folder)}: {link}" for page in pages for link in broken_links_of(page)
    ]


def broken_links_of(page: Path) -> list[str]:
    """The relative links of a page that lead nowhere."""
    links = LINK.findall(CODE.sub("", page.read_text()))
    paths = {link: link.partition("#")[0] for link in links if "://" not in link}
    return [link for link, path in paths.items() if path and not (page.parent / path).exists()]


def redirect_links(folder: Path, origin: Path) -> None:
    """Lets pages copied from `origin` to `folder` lead to files outside of `origin` as before."""
    for page in folder.glob("*.md"):

        def redirected(match: re.Match[str], page: Path = page) -> str:
            target = origin / match[1]
            if not target.exists():
                return match[0]
            return f"]({os.path.relpath(target.resolve(), page.resolve().parent)}"

        page.write_text(OUTWARD.sub(redirected, page.read_text()))


def add_operators(folder: Path) -> None:
    """Adds links to the generated pages, one per family of operators, to the index."""
    families = sorted(page.stem for page in (folder / "operators").glob("*.md"))
    links = ", ".join(f"[{family}](operators/{family}.md)" for family in families)
    index = folder / "README.md"
    index.write_text(f"{index.read_text()}\n## Operators by family\n\n{links}\n")


def docs_command() -> int:
    build = Build()
    build.run("taeda_generated")
    out = build.folder / "docs"
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(ROOT / "docs", out)
    redirect_links(out, ROOT / "docs")
    generated = build.folder / "gen" / "docs"
    if generated.exists():
        shutil.copytree(generated, out, dirs_exist_ok=True)
        add_operators(out)
    broken = broken_links(out)
    print("\n".join(f"broken link in {line}" for line in broken), end="\n" if broken else "")
    pages = sum(1 for _ in out.rglob("*.md"))
    say(f"{pages} pages, {len(broken)} broken links; start at {out.relative_to(ROOT)}/README.md")
    return 1 if broken else 0
