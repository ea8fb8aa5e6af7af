"""Secrets that show what they are: prefixes and lengths as their issuers publish them, in any field and any text.

There is no entropy rule: it would take trace ids, digests and etags for secrets.
"""

from retrieval.ingest.redaction.rules import Rule, literal, shaped

SECRETS: tuple[Rule, ...] = (
    literal(
        "private-key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\s{0,60}(?P<value>\S[\s\S]{0,20000}?)\s{0,60}"
        r"(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        ("private key",),
        lambda m: not m["value"].strip("\\rn \n").startswith("private-key:"),
    ),
    literal("jwt", r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{0,2000}", ("eyj",)),
    literal(
        "aws-key",
        r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z2-7]{16}\b",
        ("akia", "asia", "agpa", "aida", "aroa", "aipa", "anpa", "anva"),
    ),
    literal(
        "github-token",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_\w{22,255})",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    literal(
        "gitlab-token",
        r"\bgl(?:pat|dt|rt|ptt|cbt|ft)-[\w-]{20,255}",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-"),
    ),
    literal("slack-token", r"\b(?:xox[abeoprs](?:\.xox[bp])?-[\w-]{10,255}|xapp-\d-[\w-]{10,255})", ("xox", "xapp-")),
    literal(
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<value>[\w/-]{15,200})",
        ("hooks.slack.com",),
    ),
    literal(
        "stripe-key",
        r"\b(?:[rsp]k_(?:live|test)_[A-Za-z0-9]{10,255}|whsec_[A-Za-z0-9+/=]{16,255})",
        ("k_live_", "k_test_", "whsec_"),
    ),
    literal("google-key", r"\b(?:AIza[\w-]{35}|ya29\.[\w-]{20,500}|GOCSPX-[\w-]{20,60})", ("aiza", "ya29.", "gocspx-")),
    literal("model-key", r"\bsk-(?:proj-|ant-|svcacct-|or-)?[A-Za-z0-9_-]{20,255}", ("sk-",)),
    literal(
        "package-token",
        r"\b(?:npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,500}|dckr_pat_[\w-]{20,60})",
        ("npm_", "pypi-", "dckr_pat_"),
    ),
    literal(
        "mail-key",
        r"\b(?:SG\.[\w-]{16,32}\.[\w-]{16,64}|key-[0-9a-f]{32}|xkeysib-[0-9a-f]{64}-\w{16})",
        ("sg.", "key-", "xkeysib-"),
    ),
    literal("vault-token", r"\bhv[sbr]\.[\w-]{20,300}", ("hvs.", "hvb.", "hvr.")),
    literal(
        "cloud-token",
        r"\b(?:do[opr]_v1_[0-9a-f]{64}|dapi[0-9a-f]{32}(?:-\d)?|NRA[KLM]-[A-Z0-9]{27}|glsa_\w{32}_[0-9a-f]{8}|"
        r"glc_[\w+/=-]{32,400}|HRKU-[\w-]{30,70}|rnd_\w{20,60}|fly\s?[Ff]m\d_[\w+/=,-]{40,1000}|nf[pcoub]_\w{30,60}|"
        r"sbp_[0-9a-f]{40}|sb_secret_[\w-]{20,60}|pscale_(?:tkn|pw|oauth)_[\w.-]{30,70}|LTAI[A-Za-z0-9]{12,20})",
        (
            "_v1_",
            "dapi",
            "nrak-",
            "nral-",
            "nram-",
            "glsa_",
            "glc_",
            "hrku-",
            "rnd_",
            "fm1_",
            "fm2_",
            "nfp_",
            "nfc_",
            "nfo_",
            "nfu_",
            "nfb_",
            "sbp_",
            "sb_secret_",
            "pscale_",
            "ltai",
        ),
    ),
    literal(
        "service-token",
        r"\b(?:shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|sq0(?:atp|csp|idp)-[\w-]{22,43}|EAAA\w{60}|lin_(?:api|oauth)_\w{32,64}|"
        r"ntn_\w{40,60}|secret_[A-Za-z0-9]{43}|figd_[\w-]{35,60}|ATATT3[\w=-]{50,300}|ATCTT3[\w=-]{50,300}|"
        r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}|pul-[0-9a-f]{40}|dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,60}|"
        r"sntrys_[\w+/=-]{40,400}|sntryu_[0-9a-f]{64}|phc_\w{30,60}|phx_\w{30,60}|pat[A-Za-z0-9]{14}\.[0-9a-f]{64}|"
        r"sl\.[\w-]{60,200}|hf_[A-Za-z0-9]{30,60}|gsk_\w{40,60}|r8_\w{30,60}|xai-\w{40,100}|pplx-\w{40,60}|"
        r"AGE-SECRET-KEY-1[A-Z0-9]{58}|tskey-[a-z]+-[\w-]{20,60}|rubygems_[0-9a-f]{48}|oy2[a-z0-9]{43}|"
        r"CLOJARS_[0-9a-z]{60}|[\w-]{14}\.atlasv1\.[\w-]{60,80}|eyJr[\w-]{60,200}={0,2}|"
        r"[0-9a-f]{32}-us\d{1,2}|(?:pk|sk|rk)\.eyJ[\w-]{20,400}\.[\w-]{10,60}|access_(?:token|key)\$\w+\$\w{8,}\$[0-9a-f]{32}|"
        r"A{20}[A-Za-z0-9%]{60,120}|EAA[A-Za-z]\w{80,300}|IGQV\w{80,300}|"
        r"p8e-[\w-]{32}|FLWSECK_TEST-\w{32}-X|rzp_(?:live|test)_\w{14})",
        (
            "shp",
            "sq0",
            "eaaa",
            "lin_",
            "ntn_",
            "secret_",
            "figd_",
            "tt3",
            "pmak-",
            "pul-",
            "dp.",
            "sntry",
            "phc_",
            "phx_",
            "pat",
            "sl.",
            "hf_",
            "gsk_",
            "r8_",
            "xai-",
            "pplx-",
            "age-secret",
            "tskey-",
            "rubygems_",
            "oy2",
            "clojars_",
            "atlasv1",
            "eyjr",
            "-us",
            ".eyj",
            "access_",
            "aaaaaaaaaaaaaaaaaaaa",
            "eaa",
            "igqv",
            "p8e-",
            "flwseck",
            "rzp_",
        ),
    ),
    shaped("service-token", r"\bSK[0-9a-f]{32}\b", "SK[0a-f]{32}", ("SK",)),
    literal(
        "webhook",
        r"(?:discord(?:app)?\.com/api/(?:v\d+/)?webhooks/|webhook\.office\.com/webhookb2/|"
        r"chat\.googleapis\.com/v1/spaces/\w+/messages\?|hooks\.zapier\.com/hooks/catch/|events\.pagerduty\.com/integration/|"
        r"outlook\.office\.com/webhook/|maker\.ifttt\.com/trigger/\w+/with/key/|alert\.victorops\.com/integrations/generic/\d+/alert/)"
        r"(?P<value>[^\s\"'<>,;)\]}\\]{8,400})",
        (
            "webhook",
            "chat.googleapis.com",
            "hooks.zapier.com",
            "events.pagerduty.com",
            "maker.ifttt.com",
            "alert.victorops.com",
        ),
    ),
    literal("secret", r"https?://(?P<value>[0-9a-f]{32})(?::[0-9a-f]{32})?@[\w.-]+/\d+", ("://",)),
    literal("bot-token", r"(?<!\d)\d{8,10}:AA[\w-]{30,40}(?![\w-])", (":aa",)),
    literal(
        "credential",
        r"(?i)\b(?:Bearer|Basic|ApiKey|Negotiate|NTLM)\s+(?P<value>[\w+/.~=-]{16,4000})",
        ("bearer ", "basic ", "apikey ", "negotiate ", "ntlm "),
    ),
    literal("secret", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"<>]{0,100}:(?P<value>[^\s/@'\"<>]{1,200})@", ("://",)),
    literal(
        "secret",
        r"(?i)\b(?:identified\s+by(?:\s+password)?|(?:password|passwd|pwd|passphrase))\s+(?P<mark>['\"`])(?P<value>[^'\"`\n]{1,200})(?P=mark)",
        ("identified", "passw", "pwd", "passphrase"),
    ),
    literal(
        "secret",
        r"(?:^|\s)(?:-p|--password[= ]|(?:-u|--user)[= ]{0,3}[\w.@-]{1,40}:)(?P<value>[^\s'\"=/-][^\s'\"]{3,100})",
        ("mysql", "curl", "--password"),
    ),
    literal(
        "secret",
        r"(?<=[\"'\s,\[])--?(?:password|passwd|pass|token|secret|api[_-]?key)\\{0,7}[\"']\s*,\s*\\{0,7}[\"'](?P<value>[^\"'\\,\s]{3,200})",
        ("password", "passwd", "pass", "token", "secret", "key"),
    ),
    literal(
        "secret",
        r"(?:\bsshpass\s+-p|\bredis-cli\s(?:[^\n|;]{0,80}\s)?-a|\bldap\w{3,10}\s[^\n|;]{0,120}\s-w|\bpass(?:in|out)?:|"
        r"\bsmbclient\s[^\n|;]{0,80}-U\s{0,2}\w{1,40}%)\s{0,3}[\"']?(?P<value>[^\s\"'|;]{4,100})",
        ("sshpass", "redis-cli", "ldap", "pass:", "passin:", "passout:", "smbclient"),
    ),
    literal("secret", r"(?m)^\s{0,8}password\s+(?P<value>[^\s:='\"]{4,200})\s*$", ("machine ",)),
    literal("secret", r"(?i)\bcrypt\(\s*'(?P<value>[^'\n]{1,200})'\s*,\s*gen_salt", ("gen_salt",)),
    literal(
        "secret",
        r"(?i)\b(?:PDO->__construct|mysqli?_connect|mysqli->__construct)\((?:'[^'\n]{0,200}',\s*){2}'(?P<value>[^'\n]{1,200})'",
        ("pdo->", "mysql_connect", "mysqli"),
    ),
    literal(
        "secret",
        r"(?i)create_aws_credentials\(\s*'[^'\n]{0,100}'\s*,\s*'(?P<value>[^'\n]{1,200})'",
        ("create_aws_credentials",),
    ),
    literal(
        "secret",
        r"(?i)\b(?:bearer|access|auth|api|refresh|session)[ _-](?:token|key|secret)\s+[\"'`(]{0,2}"
        r"(?P<value>(?=[^\s\"'`]*\d)(?=[^\s\"'`]*[A-Za-z])[\w+/=.~-]{20,400})",
        ("token", "key", "secret"),
    ),
    literal(
        "secret",
        r"(?i)\b(?:password|passphrase)\s+(?:is|was|set to|changed to|of)\s+[\"'`](?P<value>[^\"'`\n]{4,100})[\"'`]",
        ("password", "passphrase"),
    ),
)
