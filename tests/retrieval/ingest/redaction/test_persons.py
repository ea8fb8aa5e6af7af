"""Fields that tell about a person, statements, elements, papers and one-time codes."""

import re
from datetime import date

import pytest

from retrieval.ingest.redaction import throwaway_redactor

REDACTOR = throwaway_redactor()

TAKEN = {
    "name, logfmt": ("customer_name=Ada Lovelace amount=3", "Ada Lovelace"),
    "name, json": ('{"full_name": "José Ñandú", "n": 1}', "José Ñandú"),
    "name, camel case": ("{firstName=Ada, n=1}", "Ada"),
    "name, object": ("User(name=Ada Lovelace, n=1)", "Ada Lovelace"),
    "name, apostrophe": ('{"name": "Conan O\'Brien"}', "Conan O'Brien"),
    "name, particle": ('"recipient": "Ludwig van der Rohe"', "Ludwig van der Rohe"),
    "name, other scripts": ("full_name=王小明 ok=1", "王小明"),
    "name, cyrillic": ('{"last_name":"Ковалёва"}', "Ковалёва"),
    "name, two words say so": ("First name: Ada", "Ada"),
    "name, query": ("GET /u?name=Ada+Lovelace&n=1", "Ada+Lovelace"),
    "birth": ('{"dob": "1984-03-12"}', "1984-03-12"),
    "birth, words": ('date_of_birth="12 March 1984" n=1', "12 March 1984"),
    "phone, national": ("mobile: (415) 555-2671, n 3", "(415) 555-2671"),
    "phone, quoted": ('{"phone": "020 7946 0958"}', "020 7946 0958"),
    "address": ('{"shipping_address": "12 Main St, Springfield"}', "12 Main St, Springfield"),
    "address, bare": ("billing_address=Unter den Linden 5, Berlin; n=1", "Unter den Linden 5, Berlin"),
    "geo": ('{"lat": 52.52006, "n": 1}', "52.52006"),
    "geo, query": ("GET /near?lat=52.52&n=1", "52.52"),
    "passport": ("passport no: X1234567", "X1234567"),
    "tax id": ('{"steuerId": "86095742719"}', "86095742719"),
    "nino": ("NINO AB 12 34 56 C seen", "AB 12 34 56 C"),
    "dni": ("cliente 12345678Z no encontrado", "12345678Z"),
    "nir": ("assuré 1 84 12 76 451 089 46 inconnu", "1 84 12 76 451 089 46"),
    "codice fiscale": ("utente RSSMRA85T10A562S bloccato", "RSSMRA85T10A562S"),
    "cpf": ("cliente 529.982.247-25 bloqueado", "529.982.247-25"),
    "one-time code": ("Your verification code is 482913", "482913"),
    "one-time code, field": ("otp=482913 n=1", "482913"),
    "session": ("JSESSIONID=0A1B2C3D4E5F6789 n=1", "0A1B2C3D4E5F6789"),
    "insert": ("INSERT INTO users (id, first_name) VALUES (7, 'Ada'), (8, 'Bob')", "Ada"),
    "insert, second row": ("insert into users (id, pin_code, x) values (7, '12', 1), (8, '482913', 2)", "482913"),
    "insert, password": ("INSERT INTO users (login, password) VALUES ('ada', 'it''s')", "it''s"),
    "element": ("<User><Password>hunter22</Password></User>", "hunter22"),
    "element, name": ("<c:FirstName>Ada</c:FirstName>", "Ada"),
    "detail of postgres": ("Key (phone)=(0171 2345678) already exists", "0171 2345678"),
    "diff": ("+  password: hunter\n", "hunter"),
}
KEPT = [
    "name=checkout service.name=cart table_name=users column_name=Name hostname=Web-1",
    'name="Payment Service" {"name": "Checkout Worker"} file_name=Ada Lovelace',
    "first_name: must not be blank, surname: required, first_name=first_name, full_name: str",
    "address=10.0.0.1:80 address: 0x7ffe8a bind_address=0.0.0.0:80 location=/var/log/app.log location: us-east-1",
    "latency=12.52 lat=3 position=17 lon=- geo=DE coordinates=chart",
    "status_code=482913 error code: 5000123 exit code 1 code=404 postal_code_length=5",
    "12345678A 529.982.247-26 RSSMRA85T10A562T AB123456Z",
    "mobile=true phone= tel=n/a cell=B12 fax=none",
    "client=web user=ada owner=team-payments author=bot contact=oncall",
    "INSERT INTO orders (id, state) VALUES (7, 'paid')",
    "INSERT INTO x (a, b) VALUES",
    "<Status>ok</Status><name>cart</name>",
    '{"storeName": "Roman Holiday", "stationName": "Shang Hai"} thread_name=VM Thread role_name: "Site Owner"',
    "pin=cs1 sin=0.5 tin=4 pan=left cf=12 ll=en",
]


@pytest.mark.parametrize("case", TAKEN)
def test_it_is_taken_out_and_nothing_else_is(case: str) -> None:
    text, value = TAKEN[case]
    clean = REDACTOR.text(text)
    assert value not in clean
    assert clean.startswith(text[: text.index(value)])
    if not case.startswith("insert"):
        assert clean.endswith(text[text.index(value) + len(value) :])
    assert list(REDACTOR.survivors(text)) != []
    assert list(REDACTOR.survivors(clean)) == []
    assert REDACTOR.text(clean) == clean


@pytest.mark.parametrize("text", KEPT)
def test_it_stays(text: str) -> None:
    assert REDACTOR.text(text) == text
    assert list(REDACTOR.survivors(text)) == []


def test_values_of_fields_are_judged_by_the_name_and_by_what_stands_above_it() -> None:
    value = REDACTOR.value("payload", {"customer": {"name": "ada"}, "service": {"name": "ada"}, "n": 7})
    assert isinstance(value, dict)
    assert value["customer"]["name"].startswith("person:")
    assert value["service"]["name"] == "ada"
    assert REDACTOR.value("patient.name", "ada") == value["customer"]["name"]


def test_a_coordinate_stays_a_number_and_a_date_a_date() -> None:
    value = REDACTOR.value("where", {"lat": 52.52006, "lon": 13.405, "zoom": 7.25})
    assert isinstance(value, dict)
    assert value["zoom"] == 7.25
    assert 0 < value["lat"] < 0.1
    assert REDACTOR.value("where", value) == value
    born = REDACTOR.value("dob", "1984-03-12")
    assert date.fromisoformat(str(born)).year == 1900
    assert REDACTOR.value("dob", born) == born


def test_a_wide_statement_is_read_to_its_end() -> None:
    rows = ", ".join(f"({n}, 'Ada{n}')" for n in range(300))
    clean = REDACTOR.text(f"INSERT INTO users (id, surname) VALUES {rows}")
    assert "Ada" not in clean
    assert re.findall(r"\((\d+), 'person:", clean) == [str(n) for n in range(300)]


HOSTILE = (
    *("name=" * 5_000, "a " * 20_000 + "name: x", "first name: " * 3_000, "<a>" * 9_000, "<name>" + "x" * 50_000),
    *("INSERT INTO t (" + "a," * 9_000, "INSERT INTO t (a) VALUES " + "(" * 20_000, "lat=" + "1" * 30_000),
    *("phone=" + "1 " * 20_000, "address=" + "a b," * 10_000, "otp is " * 5_000, "name=" + "A b " * 10_000),
    *("your code " + "for x@y " * 5_000, "Key (" * 9_000, "1 84 12 76 " * 5_000, "AB 12 34 " * 9_000),
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_takes_no_time(text: str) -> None:
    clean = REDACTOR.text(text)
    assert REDACTOR.text(clean) == clean
