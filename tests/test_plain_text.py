"""The recipe's text: what is left of manual pages, HTML, info and pod."""

from __future__ import annotations

import pytest

from lawdsl.runners.recipes.debian.plain_text import (
    from_html,
    from_info,
    from_pod,
    without_pod,
)
from lawdsl.runners.recipes.debian.roff import from_roff

ROFF = {
    "man": (
        '.TH CAT 1\n.SH "THE NAME"\ncat \\- join\\\n ed files\n.PP\n\\fBcat\\fR copies\n.BI -n " number"\n',
        "THE NAME\n\ncat - join ed files\n\ncat copies -n number\n",
    ),
    "mdoc": (
        ".Sh NAME\n.Nm cat\n.Nd join files\n.Sh SYNOPSIS\n.Nm\n.Op Fl n\n.Ar\n",
        "NAME\n\ncat join files\n\nSYNOPSIS\n\ncat [-n] file ...\n",
    ),
    "references": (".Xr tar 1 ,\n.Fn open path flags\n.Dq a b\n", 'tar(1), open(path, flags) "a b"\n'),
    "comments and macros": ('.\\" no\n.de X\nno\n..\n.if n \\{\nno\n.\\}\nyes\n', "yes\n"),
    "tables": (".TS\na b\n.TE\nyes\n", "yes\n"),
    "verbatim": (".nf\na  b\n  c\n.fi\nd\ne\n", "a  b\n  c\n\nd e\n"),
    "characters": (r"\(lqa\(rq \[u00E9] \*(Xy\e\&.", '"a" \u00e9 \\.\n'),
    "another page": (".so man1/cat.1\n", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", ROFF)
def test_a_manual_page_keeps_its_words(name: str):
    page, words = ROFF[name]

    assert from_roff(page) == words


def test_html_keeps_what_is_read():
    page = "<head><title>no</title></head><nav>no</nav><p>one\n <b>two</b></p><pre>a  b</pre>&amp;"

    assert from_html(page).strip() == "one two\n\na  b\n\n&"


def test_info_keeps_nodes_without_menus():
    page = (
        "head\n\x1f\nFile: a.info, Node: Top\n\nwords\n\n* Menu:\n* One:: first\n\x1f\nTag Table:\n"
    )

    assert from_info(page).split() == ["words"]


def test_pod_keeps_what_is_outside_the_program():
    page = "no();\n\n=head1 NAME\n\nB<a> - see L<the page|b> E<lt> C<< c >>\n\n=cut\n\nno();\n"

    assert from_pod(page) == "NAME\n\na - see the page < c\n"


def test_a_program_is_kept_without_its_pod_and_its_end():
    page = "use A;\n\n=head1 NAME\n\nno\n\n=cut\n\nb();\n__END__\nno\n"

    assert without_pod(page) == "use A;\n\nb();\n"
    assert without_pod("a = b;\n=pod\n\nno\n") == "a = b;\n"
