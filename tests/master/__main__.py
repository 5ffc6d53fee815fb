"""A test master to play with: prints its port, then what a client needs, and serves until it is interrupted."""

import argparse
import pathlib
import signal
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

try:
    from master.control import Control
    from master.keys import LEAVES
    from master.server import TOKEN, Master
    from master.settings import VARIANTS
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}: run it with build/venv/bin/python, which `make build/venv/.ready` makes")


def variant(name):
    """The converter of a variant's value, which argparse then looks up among the choices."""
    return type(VARIANTS[name][0])


def main():
    parser = argparse.ArgumentParser(prog="tests/master", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--token", default=TOKEN)
    parser.add_argument("--leaf", choices=LEAVES, default="full", help="the certificate it shows")
    parser.add_argument("--speaks", choices=["usual", "1.3", "1.1", "cbc", "plain"], default="usual")
    parser.add_argument("--folder", type=pathlib.Path, help="for keys and sandboxes; a temporary one")
    for name, values in VARIANTS.items():
        parser.add_argument(f"--{name}", choices=values, default=values[0], type=variant(name))
    told = vars(parser.parse_args())
    with tempfile.TemporaryDirectory(prefix="master-") as temporary:
        folder = told.pop("folder") or pathlib.Path(temporary)
        with Master(folder, **told) as master:
            control = Control(master)
            print(master.port)
            print(f"SANDSTORM_URL={master.url}\nSANDSTORM_CA={master.ca}\nSANDSTORM_TOKEN={master.token}")
            print(f"control: http://127.0.0.1:{control.port}", flush=True)
            stop = threading.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: stop.set())
            stop.wait()


main()
