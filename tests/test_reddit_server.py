from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import requests

from tests.reddit import kit
from tests.reddit_server import CLIENT_ID, CLIENT_SECRET


def test_the_server_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "submissions.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(json.dumps(kit.submission("abc12", title="A & <B>")) + "\n")
    command = [sys.executable, "-m", "tests.reddit_server", str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
    ) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            with requests.Session() as session:
                session.trust_env = False
                log_in = f"{url}/api/v1/access_token"
                assert session.post(log_in, auth=(CLIENT_ID, "falsch"), timeout=10).status_code == 401
                token = session.post(log_in, auth=(CLIENT_ID, CLIENT_SECRET), timeout=10).json()[
                    "access_token"
                ]
                session.headers["Authorization"] = f"bearer {token}"
                body = session.get(f"{url}/api/info/?id=t3_abc12,abc12,t3_zzzzz", timeout=10).json()
                raw = session.get(f"{url}/api/info?id=t3_abc12&raw_json=1", timeout=10).json()
                assert session.get(f"{url}/r/bahn", timeout=10).status_code == 404
        finally:
            process.kill()
    titles = [child["data"]["title"] for child in body["data"]["children"]]
    assert titles == ["A &amp; &lt;B&gt;"]
    assert [child["data"]["title"] for child in raw["data"]["children"]] == ["A & <B>"]
