"""Fields that tell about a person: which name says so, and what a value must look like to be believed (pure).

Names, addresses and dates have no shape of their own, so the field's name is the only sign. A certain name marks any
value that could be one; a doubtful one (`name`, `address`, `location`) marks only what cannot well be anything else,
because services, hosts and products have names and addresses too.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from urllib.parse import unquote

from msgspec import Struct

from retrieval.ingest.redaction.keys import words

# Names as `keys.words` writes them; a `_` may be missing (`firstname`), and what stands before a name doesn't matter.
_PEOPLE = """
    customer contact recipient receiver sender billing shipping delivery holder cardholder card_holder account_holder
    patient employee guest passenger driver person member subscriber applicant student buyer beneficiary payer payee
    resident emergency_contact insured claimant borrower candidate attendee traveller traveler visitor kunde kunden
    cliente signer signatory spouse parent child next_of_kin doctor nurse
"""
_CERTAIN = {
    "person": """
        first_name last_name full_name middle_name given_name given_names family_name maiden_name birth_name legal_name
        real_name surname surnames mothers_maiden_name name_on_card cardholder card_holder account_holder vorname
        nachname familienname nombre nombre_completo apellido apellidos prenom prénom nom_de_famille cognome 姓名 名字
        氏名 lname name_first name_last contact_person nombre_paciente pax_name fullnames
        お名前 이름 성명 фио имя фамилия ονοματεπώνυμο الاسم नाम
    """,
    "birth": """
        dob birth_date birth_day birthday date_of_birth born born_on geburtsdatum geburtstag fecha_nacimiento
        birth geb_datum fecha_nac nascimento data_nascimento naissance 生年月日 出生日期 생년월일 дата_рождения
        fecha_de_nacimiento date_naissance date_de_naissance data_nascita data_di_nascita
    """,
    "phone": """
        phone phone_number phone_no phone_nr telephone telephone_number tel tel_no tel_number telefon telefono
        telefonnummer mobile mobile_number mobile_no mobile_phone cell cell_phone cellphone msisdn fax fax_number
        whatsapp sms_to caller_id callback_number contact_number handy handynummer 手机 手机号 手機 手機號碼 电话 電話
        電話番号 携帯 전화 전화번호 휴대폰 телефон мобильный τηλέφωνο
    """,
    "postal": """
        street_address postal_address home_address billing_address shipping_address delivery_address mailing_address
        residential_address permanent_address customer_address patient_address employee_address ship_to_address
        bill_to_address address_line address_line1 address_line2 address_line_1 address_line_2 addr1 addr2 addr_line1
        addr_line2 address1 address2 street street_name street1 street2 street_line1 strasse anschrift adresse direccion
        indirizzo calle dirección adresse_postale 地址 住址 住所 주소 адрес
    """,
    "geo": """
        lat latitude lon lng longitude lat_lon lat_lng lat_long geo geo_point geo_loc geo_location geo_coordinates
        geo_position gps gps_position gps_coordinates gps_location coord coords coordinate coordinates position location
        ll last_known_location
    """,
    "national-id": """
        national_id national_insurance_number national_insurance_no national_insurance identity_number citizen_id
        resident_id government_id nino ni_number ni_no tax_id tax_number taxpayer_id tax_file_number tin tfn itin
        steuer_id steuer_idnr steuernummer steueridentifikationsnummer idnr dni nie nif nir insee secu numero_secu
        numero_securite_sociale codice_fiscale fiscal_code cf cpf pesel bsn aadhaar aadhar sin passport passport_number
        passport_no passport_id driver_license driver_licence drivers_license drivers_licence driving_licence
        driving_license license_number licence_number driver_license_number driving_licence_number
        drivers_license_number personnummer personnr id_card id_card_number curp ahv svnr medicare medicare_number
        nhs_number nhs_no pan_card 身份证 身份证号 身份证号码 マイナンバー 주민등록번호 инн снилс паспорт id_number
        id_no identity_no identification_number personal_number personal_id social_insurance_number
    """,
    "one-time-code": """
        otp totp otp_code totp_code one_time_code one_time_password one_time_passcode one_time_pin verification_code
        verify_code confirmation_code mfa_code 2fa_code tfa_code sms_code login_code auth_code authentication_code
        pin puk tan mpin atm_pin card_pin sim_pin access_code access_pin unlock_code backup_codes recovery_codes
        security_code activation_code recovery_code backup_code reset_code pass_code pin_code mfa 2fa
    """,
    "iban": "iban bank_account bank_account_number bank_account_no account_iban",
    "card": "card_number card_no card_num credit_card credit_card_number cc_number debit_card_number pan",
    "secret": "sid sess phpsessid jsessionid asp_net_session_id connect_sid laravel_session",
}
# Not among them: authors, owners, assignees. At three in the morning one asks who wrote a commit.
_DOUBTFUL = {
    "person": """
        name names display_name client_name user_name client user attn to_name from_name nom
    """,
    "postal": "address addr location residence",
    "one-time-code": "code",
}


def _matching(names: Iterable[str], before: str) -> re.Pattern[str]:
    return re.compile(rf"{before}(?:{'|'.join(n.replace('_', '_?') for n in names)})$")


def _tables(certain: bool) -> dict[str, list[str]]:
    """The names of each kind."""
    if not certain:
        people = _PEOPLE.split()
        return {k: [*names.split(), *(people if k == "person" else [])] for k, names in _DOUBTFUL.items()}
    named = [f"{one}{of}" for one in _PEOPLE.split() for of in ("_name", "_full_name")]
    return {k: [*names.split(), *(named if k == "person" else [])] for k, names in _CERTAIN.items()}


_TABLES = {certain: _tables(certain) for certain in (True, False)}
# A certain name may end a longer one (`billing.first_name`); a doubtful one stands alone (not `store_name`).
_PATTERNS = {
    certain: {kind: _matching(names, "(?:^|_)" if certain else "^") for kind, names in table.items()}
    for certain, table in _TABLES.items()
}
_MACHINE = re.compile(
    r"(?:^|_)(?:service|host|server|pod|node|container|image|file|class|method|function|module|package|table|column|db|"
    r"database|bucket|queue|topic|job|task|metric|event|rule|alert|index|cluster|namespace|region|zone|thread|logger|"
    r"field|key|tag|branch|repo|repository|process|program|app|application|k8s|cloud|device|product|item|sku|plan|"
    r"feature|flag|domain|dns|mac|ip|memory|mem|base|remote|bind|listen|broker|contract|wallet|display_type|schema|role|"
    r"group|policy|template|step|stage|span|operation|route|endpoint|resource|exception|error|config|variable|var)_"
)


class Personal(Struct, frozen=True):
    kind: str
    certain: bool


@lru_cache(maxsize=4096)
def personal(key: str) -> Personal | None:
    """What a field of this name, with the names above it, tells about a person."""
    name, last = words(key), words(key.rpartition(".")[2])
    if _MACHINE.search(name):
        return None
    for certain, table in _PATTERNS.items():
        for kind, pattern in table.items():
            if pattern.search(name if certain else last):
                return Personal(kind, certain)
    return None


_LETTERS = r"[^\W\d_]"
_IN_WORD = r"[\w'’`.\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff-]"  # vowel signs are no letters to the library
_NAME = re.compile(rf"(?:{_LETTERS}{_IN_WORD}*)(?:[,、・]? ?{_LETTERS}{_IN_WORD}*){{0,5}}")
_EAST_ASIAN = re.compile(r"[\u3400-\u9fff]{2,4}|[\uac00-\ud7af]{2,5}")
_PARTICLES = "van|von|de|der|den|del|la|le|da|dos|di|bin|al|el|y|of"
_TWO_CAPITALISED = re.compile(
    rf"[^\W\d_a-z][\w'’`.-]*(?:,? (?:(?:{_PARTICLES})\b ?){{0,3}}[^\W\d_a-z][\w'’`.-]*){{1,3}}"
)
_THINGS = re.compile(
    r"(?i)\b(?:service|server|job|worker|api|error|exception|manager|handler|gateway|controller|queue|cluster|index|"
    r"database|check|alert|system|client|daemon|test|build|release|pipeline|report|product|widget|plan|team|group|inc|"
    r"ltd|gmbh|llc|corp|engine|module|task|event|order|cart|payment|checkout|account|admin|request|response|timeout|"
    r"connection|node|pod|store|shop|monitor|policy|role|index|chrome|safari|firefox|linux|windows|mac|http|get|post)\b"
)
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:T[\d:.Z+-]+)?|\d{1,2}[-/. ]\d{1,2}[-/. ]\d{2,4}|\d{8}|"
    rf"\d{{1,2}}\.? {_LETTERS}{{3,12}}\.?,? \d{{4}}|{_LETTERS}{{3,12}}\.? \d{{1,2}},? \d{{4}}|"
    rf"\d{{1,2}}-{_LETTERS}{{3}}-\d{{2,4}}"
)
_NUMBER = re.compile(r"[-+]?\d{1,3}\.\d{2,}")
_PAIR = re.compile(r"[\[(]?\s{0,2}[-+]?\d{1,3}\.\d{2,}\s{0,2}[,; ]\s{0,2}[-+]?\d{1,3}\.\d{2,}\s{0,2}[\])]?")
_POSTAL = re.compile(rf"(?=.*{_LETTERS}{{2}})[\w\s,.'’#/()°º&;-]{{4,200}}", re.DOTALL)
_STREET = re.compile(rf"(?=[^\n]*\d)(?=[^\n]*{_LETTERS}{{3}})[^\n=:@/\\]*[ ,][^\n=:@/\\]*")


_CODE = re.compile(r"(?=.*\d)(?:[A-Za-z0-9]{4,10}|[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,4})|\d{3}[ -]\d{3}")


def _digits(value: str) -> int:
    return sum(c.isdecimal() for c in value)


def _phone(value: str) -> bool:
    return 7 <= _digits(value) <= 15 and re.fullmatch(r"[+\d\s().x/-]{7,30}", value) is not None


def _id(value: str) -> bool:
    return _digits(value) >= 3 and re.fullmatch(r"[\w ./-]{6,30}", value) is not None


def _card(value: str) -> bool:
    return 12 <= _digits(value) <= 19 and re.fullmatch(r"[\d -]{12,25}", value) is not None


def _code(value: str) -> bool:
    return (
        re.fullmatch(
            r"(?=.*\d)[A-Za-z0-9]{4,10}|\d{3}[ -]\d{3}|(?=.*\d)[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,4}", value
        )
        is not None
    )


def _session(value: str) -> bool:
    return re.fullmatch(r"(?=.*\d)[\w%.+/=:-]{12,}", value) is not None


_LOOKS: dict[str, Callable[[str], bool]] = {
    "person": lambda v: _NAME.fullmatch(v) is not None and len(v) > 1,
    "birth": lambda v: _DATE.fullmatch(v) is not None,
    "phone": _phone,
    "postal": lambda v: _POSTAL.fullmatch(v) is not None and (" " in v or not v.isascii()),
    "geo": lambda v: (_NUMBER.fullmatch(v) or _PAIR.fullmatch(v)) is not None,
    "national-id": _id,
    "one-time-code": _code,
    "iban": _id,
    "card": _card,
    "secret": _session,
}


_SPACED = ("person", "postal")
_UNICODE_ESCAPE = re.compile(r"\\{1,3}u([0-9A-Fa-f]{4})")


def tells(mark: Personal, value: str) -> bool:
    """Whether a value is what its field's name makes one expect."""
    value = value.strip()
    if len(value) > 400:
        return False
    if mark.kind in _SPACED and "\\u" in value:
        value = _UNICODE_ESCAPE.sub(lambda m: chr(int(m[1], 16)), value)
    if mark.kind in _SPACED:
        value = unquote(value.replace("+", " "))
    if mark.certain:
        return _LOOKS[mark.kind](value)
    if mark.kind == "one-time-code":
        return re.fullmatch(r"\d{6,8}", value) is not None
    if mark.kind == "person" and _EAST_ASIAN.fullmatch(value):
        return True
    if mark.kind == "person":
        return _TWO_CAPITALISED.fullmatch(value) is not None and _THINGS.search(value) is None
    if not value.isascii() and _digits(value) and re.search(r"[\u3400-\u9fff]{3}", value):
        return True
    return _STREET.fullmatch(value) is not None and _THINGS.search(value) is None


_WORD = rf"{_LETTERS}(?:[\w'’`.-]|%[0-9A-Fa-f]{{2}})*"
_CAPITAL = r"(?:[^\W\d_a-z]|%[0-9A-Fa-f]{2})(?:[\w'’`.-]|%[0-9A-Fa-f]{2})*"
_TOKEN = r"[^\s,;&\"'<>(){}\[\]\\|]{1,200}"
# What a value is where no quote says how far it goes.
BARE: dict[str, re.Pattern[str]] = {
    "person": re.compile(
        rf"(?:{_WORD}|{_CAPITAL})(?:(?:,? |\+|%20)(?:(?:{_PARTICLES})(?: |\+|%20)){{0,3}}"
        rf"{_CAPITAL}(?![\w]*[=:(])){{0,5}}"
    ),
    "postal": re.compile(r"(?:(?! [\w.]{1,40}=|\. |, \w{1,30}[=:])[^;|\n\t\"'{}<>=&()\[\]]){4,160}"),
    "birth": re.compile(rf"{_DATE.pattern}"),
    "phone": re.compile(r"(?:\+|%2B)?\(?\d[\d ().-]{5,24}\d"),
    "geo": re.compile(rf"{_PAIR.pattern}|{_NUMBER.pattern}"),
    "card": re.compile(r"\d[\d -]{10,22}\d"),
    "national-id": re.compile(r"[A-Za-z]{0,3} ?\d[\dA-Za-z./-]*(?: \d{1,4}[A-Za-z]?\b){0,6}|[A-Z]{4,8}\d[\dA-Z]*"),
    "one-time-code": re.compile(rf"\d{{3}}[ -]\d{{3}}\b|{_TOKEN}"),
    "iban": re.compile(r"[A-Z]{2}\d\d(?: ?[A-Z0-9]{1,4}){2,8}|[\d -]{5,30}\d|" + _TOKEN),
    "secret": re.compile(_TOKEN),
}
