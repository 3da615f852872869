"""`./run docs`: collects written and generated pages in build/docs and checks their links."""

import re
import shutil
from pathlib import Path

from driver.build import Build
from driver.process import ROOT, say

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


def broken_links(folder: Path) -> list[str]:
    """`page: link` for each relative link of a page under `folder` that leads nowhere."""
    broken = []
    for page in sorted(folder.rglob("*.md")):
        for link in LINK.findall(CODE.sub("", page.read_text())):
            path = link.partition("#")[0]
            if "://" not in link and path and not (page.parent / path).exists():
                broken.append(f"{page.relative_to(folder)}: {link}")
    return broken


def docs_command() -> int:
    build = Build()
    build.run("taeda_generated")
    out = build.folder / "docs"
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(ROOT / "docs", out)
    generated = build.folder / "gen" / "docs"
    if generated.exists():
        shutil.copytree(generated, out, dirs_exist_ok=True)
    broken = broken_links(out)
    print("\n".join(f"broken link in {line}" for line in broken), end="\n" if broken else "")
    pages = sum(1 for _ in out.rglob("*.md"))
    say(f"{pages} pages in {out.relative_to(ROOT)}, {len(broken)} broken links")
    return 1 if broken else 0
