from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.spec import ALL_KINDS
from builders.text.titles import has_uncued, leak_key, merge_key, relevance_key


@pytest.mark.parametrize(
    "marker",
    [
        "(m/w/d)",
        "(w/m/d)",
        "(d/m/w)",
        "(m/f/d)",
        "(m|w|d)",
        "(m-w-d)",
        "(m/w)",
        "(M/W/D)",
        "( m / w / d )",
        "(m,w,d)",
        "(m*w*d)",
        "(m w d)",
        "(mwd)",
        "(m/w/x)",
        "(m/w/divers)",
        "(w/m/div.)",
        "(männlich/weiblich/divers)",
        "(gn)",
        "(GN)",
        "(all genders)",
        "(alle Geschlechter)",
        "(divers)",
        "(a*)",
        "[m/w/d]",
        "m/w/d",
        "m/w",
        "w/m/d",
        "d/m/w",
        "m|w|d",
        "- m/w/d",
        "(m/w/d)*",
        "- Ref. 12345/A",
        "Ref.-Nr.: ABC-12",
        "Ref.Nr. 77",
        "(Referenznummer 2024/17)",
        "Kennziffer 123",
        ", Kennziffer: 12-2026",
        "(ID 4711)",
        "(ID: A4711)",
        "| Job-ID: 77-X",
        "Stellen-Nr. 9",
        "Chiffre 1234",
        "#4711",
        "- 10001-1003183488-S",
        "(4711123)",
        "(m/w/d) - Ref. 1 (ID 2)",
        "()",
        "–",
        "(m\u2044w\u2044d)",
        "m\u2215w\u2215d",
        "(m/w/*)",
        "m/w/*",
        "(m.w.d.)",
        "(Ref.-Nr. 2024 0815)",
        "Ref.-Nr. 2024 0815",
        "- Kennziffer 12 34/2026 – ",
        "(Referenz 2024 08 15 001)",
        "Stellennr. <PHONE>",
        "(ID: 3)",
        "ID: 3",
    ],
)
def test_markers_and_reference_numbers_go(marker: str) -> None:
    assert merge_key(f"Imker {marker}") == "imker"


@pytest.mark.parametrize("marker", ["(m/w/d)", "m/w/d", "(gn)", "- Ref. 12345/A", "(ID 4711)", "#4711"])
def test_what_follows_a_marker_stays(marker: str) -> None:
    assert merge_key(f"Imker {marker} in Teilzeit") == "imker in teilzeit"


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("  IMKER ", "imker"),
        ("Käsegroßhändler", "käsegrosshändler"),
        ("Imker/in (m/w/d)", "imker/in"),
        ("ImkerIn (m/w/d)", "imker/in"),
        ("KöchInnen", "köch/innen"),
        ("LinkedIn-Redakteur", "linkedin-redakteur"),
        ("Imker \u2011 Köln", "imker - köln"),
        ("Koch (Ref.-Nr. 2024 0815)", "koch"),
        ("Stellennr. 030 12345678", ""),
        ("Pflegefachkraft ID 3 Station", "pflegefachkraft id 3 station"),
        ("Imker Ref. 4711 40 Std./Woche", "imker 40 std./woche"),
        ("Imker, Ref. <PERSON>", "imker, ref. <person>"),
        ("Imker (m/w/d) in Köln", "imker in köln"),
        ("Imker (m/w/d), Teilzeit", "imker, teilzeit"),
        ("Imker - (m/w/d) - Teilzeit", "imker - teilzeit"),
        ("Imker (m/w", "imker"),
        ("Ref. Vertrieb", "ref. vertrieb"),
        ("Referent Vertrieb", "referent vertrieb"),
        ("Leiter F&E", "leiter f&e"),
        ("Fahrer Klasse (D/I)", "fahrer klasse (d/i)"),
        ("Pilot (ATPL (A))", "pilot (atpl (a))"),
        ("Entwickler C++", "entwickler c++"),
        ("Entwickler C# (m/w/d)", "entwickler c#"),
        ("Prüfer DIN EN ISO 9001", "prüfer din en iso 9001"),
        ("SAP S/4HANA Berater", "sap s/4hana berater"),
        ("Ausbildung zum Imker 2026", "ausbildung zum imker 2026"),
        ("Möbel-, Küchen- und Umzugsservice", "möbel-, küchen- und umzugsservice"),
        ("Imker, Tel. <PHONE>", "imker, tel. <phone>"),
        ("(m/w/d)", ""),
        ("(gn) - Ref. 12", ""),
        ("<PHONE>, <EMAIL>", ""),
        (" - ", ""),
        ("", ""),
    ],
)
def test_merge_keys(title: str, key: str) -> None:
    assert merge_key(title) == key


@pytest.mark.parametrize(
    "title",
    [
        "Imker",
        "Imker/Imkerin (m/w/d)",
        "Imkerin/Imker",
        "Imker/in (m/w/d)",
        "Imker*in",
        "Imker (m/w/d) in Köln",
        "Imker/in in Halle (Saale)",
        "Imker in 20095 Hamburg",
        "Imker (m/w/d) - Köln",
        "Imker & Co",
        "Imker (m/w/d) & Co. KG",
        "Imker GmbH & Co. KG",
        "Imker e.V.",
        "Imker (m/w/d), Tel. <PHONE>",
        "Imker – Bewerbung an Frau <PERSON>",
        "Imker m/w/d z.Hd. Herrn <PERSON>",
        "Imker z. Hd. Frau Dr. <PERSON>",
        "Imker E-Mail: <EMAIL>",
        "Imker <URL>",
        "Imker (Kontakt: <EMAIL> oder <PHONE>)",
        "Imker in Köln, <PHONE>",
        "Imker & Co in Köln",
        "Imker in Köln & Co",
        "Imkerin / Imker (gn) - Ref. 12/B in Raum Köln",
        "ImkerIn \u2011 Köln",
        "Imker\u2044Imkerin (m\u2044w\u2044d)",
    ],
)
def test_variants_of_a_title_are_one_group(title: str) -> None:
    assert relevance_key(merge_key(title)) == "imker"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ingenieur in Elektrotechnik", "Ingenieur"),
        ("Verkäufer in Teilzeit", "Verkäufer"),
        ("Koch - Essen", "Koch"),
        ("Imker", "Imkerei"),
        ("Berater für Verkehr/Logistik", "Berater für Verkehr"),
        ("Kontakt-Manager", "Manager"),
        ("Leiter Mail", "Leiter"),
        ("AG-Leiter", "Leiter"),
        ("Fahrer C", "Fahrer CE"),
        ("Arzt", "Tierarzt"),
    ],
)
def test_different_jobs_stay_apart(one: str, other: str) -> None:
    assert relevance_key(merge_key(one)) != relevance_key(merge_key(other))


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_placeholder_is_removed(kind: str) -> None:
    assert relevance_key(merge_key(f"Imker <{kind.upper()}>")) in {"imker", "imker <full_name>"}
    assert relevance_key(merge_key("Imker <PERSON>")) == "imker"


@pytest.mark.parametrize("title", ["in Köln", "Tel. <PHONE>", "GmbH", "& Co", "Bewerbung an Frau <PERSON>"])
def test_titles_without_a_job_do_not_become_one_group(title: str) -> None:
    key = merge_key(title)
    assert key != ""
    assert relevance_key(key) == key


def leak(title: str) -> str:
    return leak_key(relevance_key(merge_key(title)))


@pytest.mark.parametrize(
    ("title", "twins"),
    [
        (
            "Koch",
            ["Koch!", "KOCH", "Köchin", "KöchIn", "Koch mwd", "Koch m w d", "Koch m.w.d.", "Koch (m.w.d.)"],
        ),
        ("Koch", ["Koch ab sofort", "Koch, Vollzeit", "Koch (Teilzeit)", "Koch in Voll- oder Teilzeit"]),
        ("Koch", ["Koch in Köln, Vollzeit", "Koch - Köln!", "„Koch“ gesucht", "Koch jobs@beispiel gmbh.de"]),
        ("Fahrer", ["Fahrerin", "FahrerIn", "Fahrerin (m/w/d)", "Fahrerinnen", "Fahrer w/m/x"]),
        ("Software-Entwickler", ["Softwareentwickler", "Software Entwickler", "Softwareentwicklerin"]),
        ("LKW-Fahrer", ["LKW Fahrer", "Lkw\u2011Fahrer", "LKWFahrer"]),
        ("Käsesommelier", ["Kaesesommelier", "Käse-Sommelier"]),
        ("Entwickler C++", ["Entwickler C", "Entwickler C#"]),
        ("Bürokaufmann", ["Bürokauffrau", "Büro-Kaufmann", "Buerokauffrau"]),
        ("Psychologe", ["Psychologin"]),
        ("Masseur", ["Masseuse"]),
        ("Straßenbauer", ["Strassenbauer", "Straßenbäuerin"]),
    ],
)
def test_what_may_be_a_twin_has_one_leak_key(title: str, twins: list[str]) -> None:
    assert {twin: leak(twin) for twin in twins} == dict.fromkeys(twins, leak(title))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Entwickler Java", "Entwickler"),
        ("Koch", "Beikoch"),
        ("Medizin", "Mediziner"),
        ("Termin-Manager", "Manager"),
        ("Arzt", "Tierarzt"),
        ("Fahrer C", "Fahrer CE"),
    ],
)
def test_other_jobs_have_other_leak_keys(one: str, other: str) -> None:
    assert leak(one) != leak(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Entwickler C", "Entwickler C++"), ("Entwickler C", "Entwickler C#"), ("Koch", "Köchin")],
)
def test_a_leak_key_pools_no_positives(one: str, other: str) -> None:
    assert leak(one) == leak(other)
    assert relevance_key(merge_key(one)) != relevance_key(merge_key(other))


@pytest.mark.parametrize(
    ("title", "uncued"),
    [
        ("Ingenieur (m/w/d), Tel. <PHONE>", False),
        ("Ingenieur – Bewerbung an Frau <PERSON>", False),
        ("Ingenieur z. Hd. Herrn Dr. <PERSON>, <PHONE>", False),
        ("Ingenieur (Kontakt: <EMAIL> oder <PHONE>)", False),
        ("Ingenieur <URL>", False),
        ("Ingenieur <ADDRESS>", False),
        ("Ingenieur", False),
        ("Projektleiter: <PERSON>", True),
        ("Dr.-Ing. <PERSON>", True),
        ("Fahrer Mo. - Fr. <PERSON>", True),
        ("Verkäufer bei <PERSON>", True),
        ("Techniker <PLATE>", True),
        ("<PHONE> Euro", True),
        ("Verkäufer <PERSON>, Tel. <PHONE>", True),
    ],
)
def test_a_name_plate_or_number_without_a_contact_cue_is_told(title: str, uncued: bool) -> None:
    assert has_uncued(merge_key(title) or title.casefold()) is uncued


_PARTS = st.sampled_from(
    "Imker Koch Köchin Ärzt Kaufmann -frau / *in /in (in) in /r Beauftragte (m/w/d) (gn) m/w ( ) [ Ref. ID"
    " 12/A 4711 # - – , | : & Co GmbH Köln Essen Raum und oder Tel. z.Hd. Herrn <PHONE> <PERSON> Teilzeit"
    " İ ŉ ß \u0345 \u0308".split()
)
_TITLES = st.one_of(
    st.builds(lambda parts, glue: glue.join(parts), st.lists(_PARTS, max_size=9), st.sampled_from(["", " "])),
    st.text(max_size=40),
)


@settings(deadline=None, max_examples=400)
@given(_TITLES)
def test_a_key_of_a_key_is_that_key(title: str) -> None:
    merged = merge_key(title)
    assert merge_key(merged) == merged
    grouped = relevance_key(merged)
    assert relevance_key(grouped) == grouped
    assert bool(leak_key(grouped)) == bool(grouped) == bool(merged)


_JOBS = st.sampled_from(
    "Imker;Software-Entwickler;LKW-Fahrer;Käsesommelier;Koch;Möbel- und Küchenmonteur;Leiter F&E".split(";")
)
_VARIATIONS = (
    lambda title: title.replace("-", " "),
    lambda title: title.replace("-", "\u2011"),
    str.upper,
    str.lower,
    lambda title: f"{title}!",
    lambda title: f"„{title}“",
    lambda title: f"{title} (m/w/d)",
    lambda title: f"{title} mwd",
    lambda title: f"{title} (m.w.d.)",
    lambda title: f"{title}, Vollzeit",
    lambda title: f"{title} ab sofort",
    lambda title: f"{title} - Ref. 12345",
    lambda title: title.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue"),
)


@settings(deadline=None, max_examples=300)
@given(_JOBS, st.lists(st.sampled_from(_VARIATIONS), max_size=4))
def test_no_spelling_changes_a_leak_key(title: str, variations: list[Callable[[str], str]]) -> None:
    varied = title
    for vary in variations:
        varied = vary(varied)
    assert leak(varied) == leak(title)


@pytest.mark.parametrize(
    "part",
    [
        "(m",
        "m/w/",
        "a@",
        "m.",
        "voll- ",
        "ref. 1 2 ",
        "id 1 ",
        "in köln ",
        "- ref.-nr.: ",
        "a und ",
        "koch/köchin ",
        "tel. ",
        "<phone>",
        "[({",
        "a/",
    ],
)
def test_long_hostile_titles_end(part: str) -> None:
    title = part * (30_000 // len(part))
    key = relevance_key(merge_key(title))
    assert len(leak_key(key)) <= 2 * len(title)
    assert len("".join(key.split())) <= len(title)


@pytest.mark.parametrize(
    "forms",
    [
        ("Physiotherapeut", "Physiotherapeutin", "PhysiotherapeutIn"),
        ("Sekretär", "Sekretärin"),
        ("Chirurg", "Chirurgin"),
        ("Coach", "Coachin"),
        ("Pharmazeut", "Pharmazeutin"),
    ],
)
def test_feminine_forms_of_common_titles_share_a_leak_key(forms: tuple[str, ...]) -> None:
    assert len({leak_key(relevance_key(merge_key(form))) for form in forms}) == 1
