# SPDX-License-Identifier: MIT
"""The pages of the repository, and what stands in them."""

import re

import pytest
from stages import ROOT

NOT_OURS = {"build", "dist", "mine", ".venv", ".git", ".pytest_cache"}
PAGES = [
    str(page.relative_to(ROOT))
    for page in sorted(ROOT.rglob("*.md"))
    if not NOT_OURS & set(page.relative_to(ROOT).parts)
]
PROSE = [name for name in PAGES if not re.match(r"mistakes/\w+_", name)]  # test_mistakes.py runs those
STAGES = [name for name in PAGES if re.fullmatch(r"0\d_\w+/README\.md", name)]
each_page = pytest.mark.parametrize("name", PAGES)
each_prose = pytest.mark.parametrize("name", PROSE)
each_stage_page = pytest.mark.parametrize("name", STAGES)
BLOCK = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def text(name):
    return (ROOT / name).read_text()


def blocks(page, *languages):
    """The bodies of a page's blocks in these languages, in their order."""
    return [body for language, body in BLOCK.findall(page) if language in languages]


def without_blocks(page):
    """A page without its blocks and without what the benchmark writes."""
    return BLOCK.sub("", re.sub(r"<!-- bench:(\w+) -->.*?<!-- /bench:\1 -->", "", page, flags=re.DOTALL))


def spans(page):
    """What stands between backticks in the prose."""
    return [re.sub(r"\s+", " ", span) for span in re.findall(r"`([^`]+)`", without_blocks(page))]


def links(page):
    """The targets of its links, without those in blocks."""
    return re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", page))
