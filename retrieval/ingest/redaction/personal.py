"""What tells about a person by its shape alone: addresses, numbers of cards, accounts, telephones and papers."""

from retrieval.ingest.redaction.checks import (
    card,
    codice_fiscale,
    cpf,
    iban,
    insee,
    letters_after_modulo,
    mail,
    phone,
    public,
    resident_identity,
)
from retrieval.ingest.redaction.rules import Rule, literal, shaped

PERSONAL: tuple[Rule, ...] = (
    shaped(
        "email",
        r"(?<![\w.+-])[\w.+-]{1,64}+(?:'[\w.+-]{1,60}+)?@(?:[^\W_](?:[^\W_]|-(?=[^\W_-]|-)){0,62}\.){1,8}[^\W\d_]{2,24}(?![\w-])",
        "@",
        ("@",),
        mail,
    ),
    shaped(
        "iban",
        r"\b[A-Z]{2}\d\d(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,4})?)\b",
        "[A-Z]{2}00",
        ("00",),
        iban,
    ),
    shaped(
        "card",
        r"(?<![\w.,+-])(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{4}|\d{4}([ -])\d{6}\2\d{5})(?![\w-]|[.,]\d)",
        "0{13}|0000[ -]0000",
        ("00000000", "0000-0000"),
        card,
    ),
    shaped("ssn", r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\w-])", "000-00-0000", ("000-00-0000",)),
    shaped(
        "phone",
        r"(?<![\w.+:)-])\+[1-9]\d{0,2}(?:\d{6,13}|(?:[ .-]?\(?\d{2,5}\)?){2,5})(?!\w|:\d|\.\d)",
        r"\+0",
        ("+0",),
        phone,
    ),
    shaped("ip", r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)", r"0\.0{1,3}\.0{1,3}\.0", ("0.0",), public),
    shaped(
        "ip",
        r"(?<![\w:.])(?:[0-9a-fA-F]{1,4}:){2,7}(?::?[0-9a-fA-F]{1,4}){0,6}(?![\w:.])"
        r"|(?<![\w:.])[0-9a-fA-F]{1,4}::(?:[0-9a-fA-F]{1,4}:?){0,6}(?![\w:.])",
        "::|(?:[0a-fA-F]{1,4}:){7}",
        ("::", "0:", "a:", "b:", "c:", "d:", "e:", "f:", "A:", "B:", "C:", "D:", "E:", "F:"),
        public,
    ),
    literal(
        "one-time-code",
        r"(?i)\b(?:otp|totp|one[- ]time (?:pass)?(?:code|word|pin)|(?:verification|security|login|log-in|sign-in|sms|"
        r"confirmation|authentication|access|2fa|mfa|activation|recovery|pairing) (?:code|pin)|passcode|pin code|"
        r"(?:your|the) (?:code|pin))\b"
        r"(?:\s+(?:is|was|for|to|sent|generated|issued|of|the|user|number)\b|\s+\S{1,60}@\S{1,60}|\s+\+\d{6,15}){0,5}"
        r"\s{0,2}[:=#-]{0,2}\s{0,2}[\"'\[(<]{0,2}(?P<value>\d{3}[ -]\d{3}|\d{4,8})(?![\w:/-]|[.,]\d)",
        ("otp", "code", "pin"),
    ),
    literal(
        "one-time-code",
        r"(?i)\b(?:code|c[oó]digo|codice|kod|код|コード|验证码|驗證碼)\W{0,3}(?:lautet|es|est|[eè]|to|ist|:|：|是)?\W{0,3}"
        r"(?P<value>\d{6})(?![\w:/-]|[.,]\d)(?=.{0,200}\Z)",
        ("lautet", "código", "codigo", "codice", "код", "コード", "验证码", "驗證碼"),
    ),
    literal(
        "one-time-code",
        r"(?i)(?:\b(?:use|enter|type|submit|gib|utilisez|introduce)\s+(?:the\s+)?(?:code\s+|pin\s+)?|\b(?:tan|puk|pin)\s{0,2}:?\s{0,2}|"
        r"\bG-)(?P<value>\d{6,8})(?![\w:/-]|[.,]\d)",
        ("use ", "enter ", "type ", "submit ", "gib ", "utilisez", "introduce", "tan", "puk", "pin", "g-"),
    ),
    literal(
        "one-time-code",
        r"(?i)(?<![\w.:/-])(?P<value>\d{6}|\d{3}[ -]\d{3}) "
        r"(?:is|ist|es|est|è) (?:your|the|ihr|dein|tu|su|votre|ton|il tuo)\b",
        ("is your", "is the", "ist ihr", "ist dein", "es tu", "es su", "est votre", "est ton", "è il"),
    ),
    literal(
        "birth",
        r"(?i)\b(?:born(?: on)?|d\.?o\.?b\.?|date of birth|geb\.|geboren am|n[ée]e? le|nacid[oa] el|nat[oa] il)"
        r"\s{0,3}[:=]?\s{0,3}"
        r"(?P<value>\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/. ]\d\d?[-/. ]\d{2,4}|\d\d?\.? [^\W\d_]{3,12}\.?,? \d{4}|"
        r"[^\W\d_]{3,12}\.? \d\d?,? \d{4})(?!\w)",
        ("born", "dob", "d.o.b", "date of birth", "geb", "ée le", "né le", "nacid", "nat"),
    ),
    shaped("phone", r"(?<![\w)])\([2-9]\d{2}\) ?[2-9]\d{2}-\d{4}(?![\w-])", r"\(000\) ?000-0000", ("(000)",)),
    shaped(
        "national-id",
        r"(?<![\w-])[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2][1-9]|[123]0|31)\d{3}[\dX](?![\w-])",
        "0{17}[0X]",
        ("00000000000000000",),
        resident_identity,
    ),
    shaped(
        "nino",
        r"(?<![\w-])[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z](?: ?\d\d){3} ?[A-D](?![\w-])",
        "[A-Z]{2} ?00 ?00 ?00",
        ("000000",),
    ),
    shaped(
        "national-id",
        r"(?<![\w-])(?:\d{8}|[XYZ]\d{7})[ -]?[A-Z](?![\w-])",
        "0{7}[ -]?[A-Z]",
        ("0000000",),
        letters_after_modulo,
    ),
    shaped(
        "national-id",
        r"(?<![\w-])[12] ?\d\d ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d(?![\w-])",
        r"0 ?00 ?00 ?(?:00|0[AB]) ?000 ?000 ?00",
        ("00000000",),
        insee,
    ),
    shaped(
        "national-id",
        r"\b[A-Z]{6}\d\d[A-EHLMPRST][0-7]\d[A-Z]\d{3}[A-Z]\b",
        "[A-Z]{6}00[A-Z]00[A-Z]000[A-Z]",
        ("000",),
        codice_fiscale,
    ),
    shaped(
        "national-id", r"(?<![\w.-])\d{3}\.\d{3}\.\d{3}-\d\d(?![\w-])", r"000\.000\.000-00", ("000.000.000-00",), cpf
    ),
)
