from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from builders.reddit.texts import clean
from builders.text.normalise import normalise


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("[a](http://x.example) b [c](http://y.example)", "a b c"),
        ("Text (siehe [a](http://x.example)) und (mehr)", "Text (siehe a) und (mehr)"),
        ("[Quelle] (nur Klammer) [x](http://y) Rest (bleibt)", "[Quelle] (nur Klammer) x Rest (bleibt)"),
        ("[Ulm](https://w.example/Ulm_(Begriff_(alt))) ist", "Ulm ist"),
        ("[a [b] c](/r/x) und [d](<http://x> 'T')", "a [b] c und d"),
        ('[a](http://u "Ein Titel") b', "a b"),
        ("[![Bild](https://i.example/a.png)](https://x.example)", "Bild"),
        ("![gif](giphy|abc) hallo ![img](xyz) ![Ein Hund](http://x)", "hallo Ein Hund"),
        ("Fußnote [1] und [2](siehe unten)", "Fußnote [1] und [2](siehe unten)"),
        ("[a]\n(b) [c](d\ne)", "[a]\n(b) [c](d\ne)"),
        ("über\n[zwei\nZeilen](http://x) hin", "über\nzwei\nZeilen hin"),
        ("[leer]() [](http://x)", "leer"),
        ("[https://x.example](https://x.example) da", "da"),
    ],
)
def test_links_keep_their_text(text: str, plain: str) -> None:
    assert clean(text) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Link https://x.example/ä/ß#frag, weiter", "Link, weiter"),
        ("siehe https://x.example/Köln_(Stadt).", "siehe."),
        ("siehe https://x.example/a~ oder https://x.example/#oben da", "siehe oder da"),
        ("(https://x.example/a) gut", "gut"),
        ("gut (siehe https://x.example/a).", "gut (siehe)."),
        ("*(Edit: https://x.example/y*)", "(Edit:)"),
        ("HTTP://X.EXAMPLE/abc und <https://x.example/?a=1&b=2>", "und"),
        ("http://münchen.example/x?q=ü~a\\_b; ja", "; ja"),
        ("www.x.example/pfad da", "da"),
        ("so www. geht und xwww.x und a@www.x.example", "so www. geht und xwww.x und a@www.x.example"),
        ("~~https://x.example/weg~~ neu", "neu"),
        ("so **https://x.example/** und *(https://x.example)* da", "so und da"),
        ('"https://x.example/a" und „https://x.example/b“', '"" und „“'),
    ],
)
def test_addresses_go_with_all_that_is_theirs(text: str, plain: str) -> None:
    assert clean(text) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (
            "**fett**, *kursiv*, ***beides***, __fett__, _kursiv_, ~~weg~~",
            "fett, kursiv, beides, fett, kursiv, weg",
        ),
        ("2*3*4 und 5 * 3 * 2 und 2**3", "2*3*4 und 5 * 3 * 2 und 2**3"),
        ("snake_case_name und __init__.py", "snake_case_name und init.py"),
        (
            "Leser*innen und Hörer*innen, Leser_innen und *alle*",
            "Leser*innen und Hörer*innen, Leser_innen und alle",
        ),
        ("**Leser*innen** und **Frage**:gut", "Leser*innen und Frage:gut"),
        ("*) gilt ab 5*3 Stück", "*) gilt ab 5*3 Stück"),
        ("*offen\n\nzu*", "*offen\n\nzu*"),
        ("**a *b* c**", "a b c"),
        ("~50 und ~~60~~ 70", "~50 und 60 70"),
        ("x^2 und ^(klein) und ^^winzig", "x^2 und (klein) und winzig"),
        ("das ist `code` und\n```python\nx = 1\n```\nEnde", "das ist code und\n\nx = 1\n\nEnde"),
        (">!Er war es!< ja, und !< oder >! allein", "Er war es ja, und !< oder >! allein"),
        ("> Zitat\n>> tief\n\nAntwort", "Zitat\ntief\n\nAntwort"),
        ("# Titel #\n---\n## Unter\n***\n#hashtag", "Titel\nUnter\n#hashtag"),
        ("- eins\n* zwei\n+ drei\n1. vier\n24. Dezember", "eins\nzwei\ndrei\n1. vier\n24. Dezember"),
        ("|a|b|\n|:-|-:|\n|1|2|", "a|b\n1|2"),
        (r"\*kein\* \_Kursiv\_ 3\. Mai \#1", "kein Kursiv 3. Mai #1"),
        ("A&#x200B;B\n\n&#x200B;\n\n\u200bC\u00ad\ufeff", "A B\n\nC"),
        ("a > b und c < d", "a > b und c < d"),
        ("&amp; &gt; bleiben", "&amp; &gt; bleiben"),
        ("a\r\nb\rc  \n\n\n\n  d", "a\nb\nc\n\nd"),
    ],
)
def test_marks_go_and_words_stay(text: str, plain: str) -> None:
    assert clean(text) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Danke /u/foo_bar-1, u/Max und u/[deleted]!", "Danke <HANDLE>, <HANDLE> und <HANDLE>!"),
        (r"(u/foo\_bar)", "(<HANDLE>)"),
        ("[u/foo](/u/foo) in r/bahn und /r/bahn", "<HANDLE> in r/bahn und /r/bahn"),
        ("und/oder, u/a, a/u/b, Menü/Karte", "und/oder, u/a, a/u/b, Menü/Karte"),
        ("/user/lok_fan und user/lok_fan/comments", "<HANDLE> und <HANDLE>/comments"),
        ("Danke (/r/u_lok_fan), r/u_Lok-Fan/top", "Danke (<HANDLE>), <HANDLE>/top"),
        (r"r/u\_lok\_fan und [hier](/r/u_lok_fan)", "<HANDLE> und hier"),
        ("r/bahn/u/lok_fan, danke/u/lok_fan", "r/bahn/<HANDLE>, danke/<HANDLE>"),
        ("u/lok_fan/u/zug_fan und u//lok_fan", "<HANDLE>/<HANDLE> und <HANDLE>"),
        ("u\uff0flok_fan, \uff0fu\uff0flok_fan, u\u2215lok_fan", "<HANDLE>, <HANDLE>, <HANDLE>"),
        ("alt.reddit.example/user/lok_fan da", "alt.reddit.example/<HANDLE> da"),
        ("r/ulm, r/unterwegs, r/de_u_name, /r/uu_x", "r/ulm, r/unterwegs, r/de_u_name, /r/uu_x"),
        (
            "alle user/innen, jede user/in, Menu/Karte, Superuser/Gast",
            "alle user/innen, jede user/in, Menu/Karte, Superuser/Gast",
        ),
    ],
)
def test_user_names_go_and_subreddits_stay(text: str, plain: str) -> None:
    assert clean(text) == plain


@pytest.mark.parametrize("text", ["", "NA", "null", "NaN", "None", "[Frage] Wo?", "Größe: 5 m² – 10 €"])
def test_plain_text_stays(text: str) -> None:
    assert clean(text) == text


MARKS = "*_~`[]()#>|\\!<^-+.:/ \n\t&;"
LONGER = "http://x.de/ www.a.de u/name user/ r/u_ ]( ** a ß 1 &#x200B; >! !< ``` |-| [a](u)".split()
PIECES = st.sampled_from([*MARKS, *LONGER, "\u200b", "\r", "\u2028", "\xa0"])


@given(st.lists(PIECES, max_size=60).map("".join) | st.text())
@example("[a]*x*(u)")
@example("&#x2&#x200B;00B;")
@example("\\\\\\*a\\\\*")
@example("[a]**(**" * 30)
@example("[[a]**(u)**]**(v)**")
def test_a_second_call_changes_nothing(text: str) -> None:
    plain = clean(text)
    assert clean(plain) == plain
    assert "http://x" not in plain


@given(st.text(MARKS + "aß", max_size=60))
def test_words_stay_whatever_marks_stand_around_them(text: str) -> None:
    plain = clean(f"Anfang {text} Ende")
    assert plain.startswith("Anfang")
    assert "Ende" in plain or "](" in text


def rendered(text: str) -> str:
    """The text of a rendering by a library."""
    words = []
    for block in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text):
        words += [
            child.content
            for child in block.children or ()
            if child.type in {"text", "code_inline", "softbreak"}
        ]
        words.append(" ")
    return normalise("".join(words))


WORDS = st.text("abcÄß", min_size=1, max_size=5)
MARKED = st.one_of(
    WORDS,
    *(
        WORDS.map(form.format)
        for form in ("*{}*", "**{}**", "_{}_", "~~{}~~", "`{}`", "[{}](http://x.de)", "***{}***")
    ),
    WORDS.map("[{0}](http://x.de/{0}_({0}))".format),
)
LINES = st.tuples(
    st.sampled_from(["", "> ", "# ", "- "]), st.lists(MARKED, min_size=1, max_size=6).map(" ".join)
)


@given(st.lists(LINES.map("".join), min_size=1, max_size=5).map("\n\n".join))
def test_well_formed_posts_read_as_a_library_renders_them(text: str) -> None:
    assert normalise(clean(text)) == rendered(text)


HOSTILE = (
    r"( [ ] ]( [a]( [a](b( ![]( ((a) **** *a *a_b~~ ~~ \ ` >! > - # | |- u/ www.a( http:// https://x.de)))"
)
HOSTILE += " ^( &#x200B; [a]**(** [[a](u) <http://a =- &#x2&#x200B;00B; &#x2 a _( u// user/ r/u_"


@pytest.mark.parametrize(
    "piece",
    [
        *(*HOSTILE.split(), "\t", " \n", "\n", "(( ", "**a ", "> ", "- "),
        pytest.param('[a](b "c', marks=pytest.mark.long),
    ],
)
def test_hostile_posts_take_linear_time(piece: str) -> None:
    """Larger than a post can be: a quadratic pass over this is seen in how long the tests take."""
    text = piece * (50_000 // len(piece)) + "x" + ")" * 1000
    assert len(clean(text)) <= len(text)
