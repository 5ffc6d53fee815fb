"""Starts a program as a socket unit of systemd does: python activator.py FDS PROGRAM [ARG...]

FDS are the numbers of inherited listening sockets, separated by commas; they become the descriptors 3, 4, ... of the
program, which keeps this process id. LISTEN_FDS is set to their number unless it is set already, LISTEN_PID likewise.
"""

import os
import sys

FIRST = 3


def main(fds, *program):
    spare = [os.dup(int(fd)) for fd in fds.split(",")]
    while min(spare) < FIRST + len(spare):          # none may be overwritten before its turn
        spare = [os.dup(fd) for fd in spare]
    for fd in fds.split(","):       # the program gets each once
        os.close(int(fd))
    for i, fd in enumerate(spare):
        os.dup2(fd, FIRST + i)
    os.environ.setdefault("LISTEN_FDS", str(len(spare)))
    os.environ.setdefault("LISTEN_PID", str(os.getpid()))
    os.execvp(program[0], program)


main(*sys.argv[1:])
