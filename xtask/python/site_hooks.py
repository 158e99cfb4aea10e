"""What the site needs beside the pages: links to files of the repository, which are no pages, become their paths."""

import posixpath
import re

LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)#]+)(#[^)]*)?\)")


def on_page_markdown(markdown, page, **_):
    def named(match):
        path = posixpath.normpath(posixpath.join("docs", match.group(2)))
        text = match.group(1)
        return text if path in text else f"{text} (`{path}`)"

    return LINK.sub(named, markdown)
