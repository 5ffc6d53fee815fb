"""How this master differs from others: its variants, one choice each, and the behaviour of its sandboxes.

Each variant lists the values that a test can choose; the first is the usual one.
"""

VARIANTS = {
    "flavour": ["v06", "v05"],
    "lists": ["bare", "named", "items"],                    # [], {"sandboxes": []}, {"items": [], "next": null}
    "spawn": ["array", "object", "single", "no_n"],         # single: one for each POST, whatever n says; no_n: 422
    "tag": ["snapshot_tag", "tag", "snapshot"],             # how the tag to start from is called
    "state": ["state", "status", "nested", "upper"],
    "auth": [401, 403],                                     # a wrong or missing token
    "error": ["error", "code", "message", "detail", "text", "empty"],
    "framing": ["length", "chunked 1", "chunked 7", "chunked 4096", "close", "close rudely"],
    "case": ["lower", "title", "upper"],                    # of field names
    "missing": ["127", "1", "400"],                         # exec of a program that is not there
}

BEHAVIOUR = {
    "start_after": 0.0,         # seconds from "starting" to what the fate says
    "fate": "running",          # running, failed, stuck (starting for ever), gone (404); or a list, one for each
    "reason": "the program exited with status 3",
    "idle_after": None,         # seconds
    "ping_idle": 200,           # what ping answers when the sandbox is idle: 200 or 409
    "touch": "object",          # or "empty"
    "branch_after": 0.0,        # seconds that a branch takes
    "branch_busy": 404,         # a second branch of the same sandbox meanwhile: 404 or 409
}


class Settings:
    def __init__(self, **changes):
        vars(self).update({name: values[0] for name, values in VARIANTS.items()})
        vars(self).update(BEHAVIOUR)
        self.set(**changes)

    def set(self, **changes):
        for name, value in changes.items():
            if name not in VARIANTS and name not in BEHAVIOUR:
                raise ValueError(f"no setting {name}")
            if name in VARIANTS and value not in VARIANTS[name]:
                raise ValueError(f"{name} is one of {VARIANTS[name]}")
            setattr(self, name, value)

    @property
    def old(self):
        return self.flavour == "v05"
