from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.configs._books import Book, Malformed, books
from tests.fixtures.clustering import book


def lines(text: str, file: str = "a.txt") -> Iterator[tuple[str, int, bytes]]:
    for number, line in enumerate(text.encode().splitlines(keepends=True), 1):
        yield file, number, line


def test_a_book_and_where_it_stands() -> None:
    text = "\n\n" + book(
        "978-1", "Kraut & Rüben", "Zwei\nZeilen.", [("A & B", "C"), ("A & B", "D", "E"), ("F",)]
    )
    assert list(books(lines(text))) == [
        Book("a.txt:3", "978-1", "Kraut & Rüben", "Zwei\nZeilen.", ("A & B", "A & B", "F"), ("C", "D"))
    ]


def test_books_are_read_as_a_stream() -> None:
    def endless() -> Iterator[tuple[str, int, bytes]]:
        while True:
            yield from lines(book("1"))

    assert next(books(endless())) == Book("a.txt:1", "1", "Titel", "Ein Text.", ("Garten",), ("Obst",))


def test_what_may_stand_between_books() -> None:
    text = f'\ufeff<?xml version="1.0"?>\r\n<root>\r\n{book("1")}\r\n\r\n</root>\r\n'
    assert [type(each) for each in books(lines(text))] == [Book]


def test_empty_title_and_body_are_no_fault_of_the_format() -> None:
    (found,) = books(lines(book("1", "", "")))
    assert isinstance(found, Book)
    assert (found.title, found.body) == ("", "")


GOOD = book("2")
FAULTS = {
    "the book is not closed": book("1").removesuffix("</book>"),
    "text outside of a book": "Verirrter Satz",
    "not exactly one <title>…</title>": book("1").replace("<title>", "<titel>"),
    "not exactly one <body>…</body>": book("1").replace("</body>", ""),
    "not exactly one <isbn>…</isbn>": book("1").replace("</book>", "<isbn>9</isbn>\n</book>"),
    "the ISBN is no identifier": book("1 <b>"),
    "a <topic> without level or name": book("1").replace('d="0"', "d=null"),
    "a <topic> without level or name ": book("1").replace(">Garten<", "><"),
    "the book has over 1,048,576 bytes": book("1", body="x" * 1_100_000),
}


@pytest.mark.parametrize(("problem", "text"), FAULTS.items(), ids=FAULTS)
def test_a_malformed_book_is_told_with_file_and_line_and_passed_over(problem: str, text: str) -> None:
    found = list(books(lines(f"{GOOD}\n\n{text}\n{book('3')}\n")))
    line = GOOD.count("\n") + 3
    assert [each.isbn for each in found if isinstance(each, Book)] == ["2", "3"]
    assert [each for each in found if isinstance(each, Malformed)] == [
        Malformed(f"a.txt:{line}", problem.strip())
    ]


def test_bytes_that_are_no_text() -> None:
    broken = [("a.txt", number, line.replace(b"Text", b"T\xffxt")) for _, number, line in lines(GOOD)]
    (found,) = books(iter(broken))
    assert isinstance(found, Malformed)
    assert "not UTF-8" in found.problem


def test_a_book_ends_with_its_file() -> None:
    first = lines(GOOD.removesuffix("</book>"))
    second = lines(book("3"), "b.txt")
    assert list(books([*first, *second])) == [
        Malformed("a.txt:1", "the book is not closed"),
        Book("b.txt:1", "3", "Titel", "Ein Text.", ("Garten",), ("Obst",)),
    ]


def test_many_opening_tags_take_linear_time() -> None:
    text = book("1").replace("Ein Text.", "\n".join(["<title>"] * 100_000))
    assert [type(each) for each in books(lines(text))] == [Malformed]


@given(st.text(alphabet='<>/bok titlesn"=d01\n&', max_size=200))
def test_any_lines_can_be_read(text: str) -> None:
    found = list(books(lines(f"{text}\n{GOOD}")))
    assert all(isinstance(each, Book | Malformed) for each in found)
    assert found


@pytest.mark.parametrize("mark", ["\ufeff", "\ufeff\n\ufeff", " \ufeff "])
def test_a_byte_order_mark_before_a_book_costs_nothing(mark: str) -> None:
    text = f"{mark}{book('1')}\r\n{mark}{book('2')}"
    assert [one.isbn for one in books(lines(text)) if isinstance(one, Book)] == ["1", "2"]
    assert not [one for one in books(lines(text)) if isinstance(one, Malformed)]
