"""A Sandstorm master for tests: real HTTPS on loopback, commands that really run, and everything it saw on record.

    from master.server import Master
    with Master(folder) as m:                  keys, CA file and sandboxes live in `folder`
        m.url, m.ca, m.token                   what a client needs
        m.set(state="nested", auth=403)        variants and behaviour, see settings.py
        m.arm("cut", "POST", "/exec$", after=40)    a fault for the next matching request, see faults.py
        m.requests("POST", "/exec$")           what it has seen, see record.py

    build/venv/bin/python tests/master --port 0     the same for people and for tests in other languages

keys.py        the certificates, good and bad ones
wire.py        TLS over a socket and HTTP/1.1 requests
reply.py       a reply and the bytes it becomes
world.py       sandboxes, templates, snapshots: what there is and how it lives
routes.py      what each route answers
faults.py      what can be made to go wrong
record.py      what was seen
server.py      the listener that ties them together
control.py     the same over HTTP, for another process
"""
