"""What a run has seen, for the table in README.md (scripts/interop-table): one file in build/interop/results for each client,
transport and era.

    with record("Go SDK", "1.8.0", "http", "auto") as r:
        with r.step("list"):
            assert ...
"""

import contextlib
import json
import pathlib
import re

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "build" / "interop" / "results"


class Record:
    def __init__(self, client, version, transport, era):
        self.about = {"client": client, "version": version, "transport": transport, "era": era}
        self.protocol, self.steps = None, {}

    @contextlib.contextmanager
    def step(self, name):
        try:
            yield
        except BaseException as error:
            self.steps[name] = f"{type(error).__name__}: {error}"[:500]
            raise
        self.steps[name] = "ok"

    def write(self):
        RESULTS.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^a-z0-9.]+", "-", " ".join(self.about.values()).lower())
        text = json.dumps({**self.about, "protocol": self.protocol, "steps": self.steps}, indent=1, ensure_ascii=False)
        (RESULTS / f"{name}.json").write_text(text + "\n")


@contextlib.contextmanager
def record(client, version, transport, era):
    seen = Record(client, version, transport, era)
    try:
        yield seen
    finally:
        seen.write()
