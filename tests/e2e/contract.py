"""The contract of the host tools, in one place: host-tools.schema.json as the reference server lists them."""

import json
import pathlib

CONTRACT = json.loads(pathlib.Path(__file__).with_name("host-tools.schema.json").read_text())["tools"]
# In the order of tools/list.
NAMES = [tool["name"] for tool in CONTRACT]
# Those that change nothing: what --read-only leaves.
READERS = ["file_read", "file_list", "git_status", "git_diff", "git_log", "workspace_info"]
