"""Real shells at a terminal, to which a line is typed and then TAB."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\x00\x07\x08]")
ASK_NOTHING = {      # every match is listed at the first TAB, by its name alone
    "bash": "bind 'set show-all-if-ambiguous on'; bind 'set completion-query-items 0'; bind 'set page-completions off';"
            "bind 'set enable-bracketed-paste off'; . '{dir}/sandstorm-mcp'",
    "zsh": "unsetopt promptsp; LISTMAX=9999; zstyle ':completion:*' verbose no; fpath=('{dir}' $fpath);"
           "autoload -Uz compinit; compinit -u -D",
}
START = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}


def environment(home):
    return {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "vt100", "LC_ALL": "C.UTF-8"}


class Terminal:
    """bash or zsh with the completion that lies in a folder."""

    def __init__(self, shell, folder, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            os.execvpe(shell, START[shell], environment(home))
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 160, 0, 0))
        self.seen = ""
        self.type("PS1='> '; " + ASK_NOTHING[shell].format(dir=folder) + "\n")
        self.settle()

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        self.seen += os.read(self.fd, 65536).decode(errors="replace")
        return True

    def until(self, pattern):
        """What has come up to where the pattern ends."""
        end = time.monotonic() + 30
        while not (found := re.search(pattern, self.seen)):
            assert time.monotonic() < end, f"{pattern!r} did not come: {self.seen!r}"
            self.read(1)
        got, self.seen = self.seen[:found.end()], self.seen[found.end():]
        return got

    def settle(self):
        """An empty line again: what was typed and not entered is gone."""
        self.type("\x15echo settl''ed\n")
        self.until(r"settled\r?\n")
        while self.read(0.2):
            pass
        self.seen = ""

    def completed(self, line, word):
        """The words that TAB lists after the line; word is one that must be among them."""
        self.type(line + "\t")
        self.until(re.escape(line))
        got = self.until(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        while self.read(0.5):
            pass
        got += self.seen
        self.settle()
        return set(ESCAPES.sub("", got).split()) - {">", *line.split()}

    def close(self):
        self.type("\x15exit\n")
        os.waitpid(self.pid, 0)
        os.close(self.fd)


class Fish:
    """fish tells what TAB would list."""

    def __init__(self, folder, home):
        self.script, self.home = folder / "sandstorm-mcp.fish", home

    def completed(self, line, word):
        said = subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", self.script, line],
                              cwd=self.home, env=environment(self.home), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60)
        assert said.returncode == 0 and said.stderr == ""
        words = {row.split("\t")[0].removeprefix(line.split()[-1]) if "=" in line else row.split("\t")[0]
                 for row in said.stdout.splitlines()}
        assert word in words
        return words

    def close(self):
        pass
