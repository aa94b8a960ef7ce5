"""What is hidden, and above all what is not."""

from __future__ import annotations

import pytest

from loop.core.mask import masked, masked_data

SECRETS = {
    "sk-ant-api03-" + "aB3_" * 8: "sk-a•••",
    "sk-proj-" + "aB3x" * 8: "sk-p•••",
    "ghp_" + "aB3x" * 9: "ghp_•••",
    "github_pat_" + "11AB" * 9: "gith•••",
    "glpat-" + "aB3x" * 5: "glpa•••",
    "xoxb-123456789012-abcdef": "xoxb•••",
    "AKIA" + "AB3D" * 4: "AKIA•••",
    "AIza" + "aB3x" * 9: "AIza•••",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc_def-123": "eyJh•••",
    "00D" + "x5" * 7 + "1!AQ" + "x5._" * 10: "00Dx•••",
    "SCT123456TabcdefghijklmnoP": "SCT1•••",
    "https://hooks.slack.com/services/T0/B0/xyz": "https://hooks.slack.com/services/•••",
    "https://open.feishu.cn/open-apis/bot/v2/hook/6f-1abcd": "https://open.feishu.cn/open-apis/bot/v2/hook/•••",
    "https://oapi.dingtalk.com/robot/send?access_token=abc123": "https://oapi.dingtalk.com/robot/send?•••",
    "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=ab-123": "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?•••",
    "https://discord.com/api/webhooks/12/abc-d": "https://discord.com/api/webhooks/•••",
    "https://sctapi.ftqq.com/SCT1T2.send": "https://sctapi.ftqq.com/•••",
    "https://api.telegram.org/bot123:ABC/send": "https://api.telegram.org/bot•••",
    "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnl": "slack://•••",
    "https://me:s3cret@example.com/x": "https://me:•••@example.com/x",
    "glrt-" + "aB3x" * 5: "glrt•••",
    "ya29." + "aB3x" * 12: "ya29•••",
    "GOCSPX-" + "aB3x" * 7: "GOCS•••",
    "shpat_" + "0af3" * 8: "shpa•••",
    "dckr_pat_" + "aB3x" * 7: "dckr•••",
    "dop_v1_" + "0af3" * 16: "dop_•••",
    "hvs." + "aB3x" * 6: "hvs.•••",
    "AGE-SECRET-KEY-1" + "AB3X" * 14: "AGE-•••",
    "5Aep861" + "aB3x" * 12: "5Aep•••",
    "https://hooks.slack-gov.com/services/T0/B0/xyz": "https://hooks.slack-gov.com/services/•••",
    r"https:\/\/api.day.app\/aB3xaB3x\/x": r"https:\/\/api.day.app\/•••",
    "https://open.feishu.cn/open-apis/bot/hook/6f-1abcd": "https://open.feishu.cn/open-apis/bot/hook/•••",
    "https://www.feishu.cn/flow/api/trigger-webhook/6f1abcd": "https://www.feishu.cn/flow/api/trigger-webhook/•••",
    "https://discord.com/api/v10/webhooks/12/abc-d": "https://discord.com/api/v10/webhooks/•••",
    "https://prod-1.westus.logic.azure.com:443/workflows/ab12cd/x?sig=y": "https://prod-1.westus.logic.azure.com:443/workflows/•••",
    "https://chat.example.com/hooks/" + "aB3x" * 6: "https://chat.example.com/hooks/•••",
    "https://x.blob.core.windows.net/c?sv=2020&sig=aB3xaB3xaB3xaB3x%3D": "https://x.blob.core.windows.net/c?sv=2020&sig=•••",
    "SIGNING_KEY=aB3xaB3x": "SIGNING_KEY=•••",
    "AccountKey=aB3xaB3x==": "AccountKey=•••",
    "SECRET_KEY_BASE=aB3xaB3x": "SECRET_KEY_BASE=•••",
    "mysql --password hunter2hunter2 -u root": "mysql --password ••• -u root",
    "curl -u me:hunter2hunter2 https://x": "curl -u me:••• https://x",
    "Authorization: Bearer abcdef0123456789": "Authorization: Bearer •••",
    "Authorization: Basic dXNlcjpwYXNzd29yZDE=": "Authorization: Basic •••",
    "API_KEY=abcdefgh": "API_KEY=•••",
    '"client_secret": "open-sesame"': '"client_secret": "•••"',
    r"\"password\": \"hunter2hunter2\"": r"\"password\": \"•••\"",
    "--password=hunter22x --verbose": "--password=••• --verbose",
    "//registry.npmjs.org/:_authToken=abcd1234efgh": "//registry.npmjs.org/:_authToken=•••",
}  # fmt: skip


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "+{}\n", "({}), then", "«{}» {}"])
def test_a_secret_is_hidden_wherever_it_stands(secret: str, around: str) -> None:
    shown = SECRETS[secret]
    assert masked(around.replace("{}", secret)) == around.replace("{}", shown)


@pytest.mark.parametrize("prefix", ["", "+", "> ", "    "])
@pytest.mark.parametrize("line_break", ["\n", "\\n"])
def test_a_private_key_is_hidden_and_what_follows_it_is_not(prefix: str, line_break: str) -> None:
    lines = ["-----BEGIN RSA PRIVATE KEY-----", "MIIEpAIBAAKCAQEA0Z3VS5JJcds3", "aB+/" * 16,
             "c2hvcnQ=", "-----END RSA PRIVATE KEY-----", "after it"]  # fmt: skip
    text = masked(line_break.join(prefix + line for line in lines))
    assert "MIIE" not in text
    assert "aB+/" not in text
    assert "c2hvcnQ" not in text
    assert text.endswith("after it")


@pytest.mark.parametrize(
    "text",
    [
        "commit 6f5902ac237024bdd0c176cb93063dc4b7c1c1b0",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "6b7c0f51-2f0e-4a52-8e1a-6a4f1f1f7a10",
        "/home/me/projects/shop/src/api_key/token.py",
        "force-app/main/default/classes/SCTransactionProcessingService.cls",
        'password = request.form["password"]',
        '+    token = get_token(request, "header1")',
        "-    api_key: settings.API_KEY_V2,",
        "password: required, secret: unchanged",
        "if password != confirmation_password:",
        "The access token: see chapter10 of the manual",
        "export const apiKey = process.env.API_KEY2;",
        "api_key: ${API_KEY_1234}",
        "password = <your-password-1>",
        "max_tokens=4096000, tokens: 12345678",
        "basic internationalization support; Bearer authentication",
        "sk-learn-pipeline-configuration-helper",
        "task-1234567890123456789012345",
        'say "-----BEGIN PRIVATE KEY-----" and everything after it stays as it is, all of it',
        "https://hooks.slack.com/services is where they come from",
        "https://example.com:8080/a@b",
        "git@github.com:me/shop.git and ssh://git@github.com/me/shop",
        "https://github.com/me/shop/blob/main/docs/webhooks.md",
        "@@ -1,7 +1,7 @@ def login(user, password):",
        "secretary: appointed2",
        "docker run -u 1000:1000 -u node:node image",
        "use --token NAME, or --password with a file; --secret: see below",
        "https://example.com/hooks/before-deploy and https:\\/\\/example.com\\/a",
        "primary_key=True1234, foreign key: customer_12345, cache_key = key1",
        "hvs.example, ya29.x, 5Aep861",
        "token",
        "",
    ],
)  # fmt: skip
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert masked(text) == text


def test_the_project_s_own_sources_stay_readable() -> None:
    from pathlib import Path

    changed = 0
    total = 0
    for path in sorted((Path(__file__).parents[2] / "loop").rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        changed += sum(masked(line) != line for line in lines)
        total += len(lines)
    assert total > 5000
    assert changed == 0


def test_data_is_masked_by_its_texts_and_by_its_keys() -> None:
    data = {
        "a": ["ghp_" + "aB3x" * 9, 3, None],
        "api_key": "no-form-at-all",
        "token": "short",
        "key": "retry-2026-07",
        "nested": {"clientSecret": "something-secret", "n": 1.5},
    }
    assert masked_data(data) == {
        "a": ["ghp_•••", 3, None],
        "api_key": "•••",
        "token": "short",
        "key": "retry-2026-07",
        "nested": {"clientSecret": "•••", "n": 1.5},
    }
    assert data["key"] == "retry-2026-07"
    assert masked(masked("API_KEY=abcdefgh")) == "API_KEY=•••"


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece",
    ["a-", "a_", "a.a", "eyJ-", "eyJaaaaaaaaaa.", "sk-", "password=", "token:", "x", "a://", "a:b@",
     "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n+", "+", "http://", "bearer ",
     "00D", "a: b\n", "slack://", "secret", "https://a/hooks/", "https:\\/\\/api.day.app\\/",
     "-u a:", "--password ",
     "?sig=a", "password = x.y\n", "authorization: ", "SG.a"],
)  # fmt: skip
def test_a_long_text_of_anything_is_no_trouble(piece: str) -> None:
    masked(piece * (300_000 // len(piece)))
