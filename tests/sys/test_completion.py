"""Completion in bash, zsh and fish: each shell loads its script and completes."""
import os
import shutil

import hk
from hk import check, run, same


def cli(*args):
    return run([hk.BINARY, *args], env=hk.environment({}, ""))


def words(*line):
    return cli("completion", "words", "--", *line).want(0).out.split()


def test_words(t):
    check({"serve", "subscription", "dead"} <= set(words("")), "verbs", words(""))
    same(words("subsc"), ["subscription"], "of a beginning")
    check({"list", "create", "rotate"} <= set(words("subscription", "")), "second words")
    same(words("subscription", "en"), ["enable"], "of a beginning")
    check({"--url", "--filter", "--server", "--help"} <= set(words("subscription", "create", "--")), "options")
    same(words("subscription", "create", "--no-such"), [], "nothing")
    same(words("serve", "--rol"), ["--roles"], "of a verb of one word")
    same(words("replay", "--sin"), ["--since"], "of one that is a group too")
    check("create" in words("replay", ""), "its second words")
    cli("completion", "tcsh").want(2)


def shell(t, name, script):
    """Runs the shell with hikyaku in its path."""
    if not shutil.which(name):
        raise hk.Skip(f"there is no {name}")
    os.makedirs(t.path("bin"), exist_ok=True)
    if not os.path.exists(t.path("bin/hikyaku")):
        os.symlink(os.path.abspath(hk.BINARY), t.path("bin/hikyaku"))
    env = {**hk.environment({}, ""), "HOME": t.path("."), "TERM": "dumb"}
    env["PATH"] = t.path("bin") + ":" + env["PATH"]
    return run({"bash": ["bash", "--norc", "-c", script], "zsh": ["zsh", "-f", "-c", script],
                "fish": ["fish", "--no-config", "-c", script]}[name], env=env)


def test_bash(t):
    r = shell(t, "bash", """eval "$(hikyaku completion bash)"
COMP_WORDS=(hikyaku subscription cr); COMP_CWORD=2; _hikyaku; echo "${COMPREPLY[@]}"
COMP_WORDS=(hikyaku subscription create --ur); COMP_CWORD=3; _hikyaku; echo "${COMPREPLY[@]}"
COMP_WORDS=(hikyaku ""); COMP_CWORD=1; _hikyaku; echo "${#COMPREPLY[@]}"
complete -p hikyaku""").want(0)
    same(r.err, "", "loads in silence")
    lines = r.out.split("\n")
    same(lines[:2], ["create", "--url"], "completed")
    check(int(lines[2]) > 20 and "_hikyaku" in lines[3], "all of them", r)


def test_zsh(t):
    r = shell(t, "zsh", """autoload -Uz compinit && compinit -u -d $HOME/.zcompdump
eval "$(hikyaku completion zsh)"
echo ${_comps[hikyaku]}
compadd() { shift; echo "$@" }
_files() { echo files }
words=(hikyaku subscription cr); CURRENT=3; _hikyaku
words=(hikyaku subscription create --ur); CURRENT=4; _hikyaku
words=(hikyaku event publish x); CURRENT=4; _hikyaku""").want(0)
    same(r.err, "", "loads in silence")
    same(r.out.split("\n")[:4], ["_hikyaku", "create", "--url", "files"], "completed")


def test_fish(t):
    r = shell(t, "fish", """hikyaku completion fish | source
complete -C 'hikyaku subscription cr'
complete -C 'hikyaku subscription create --ur'
complete -C 'hikyaku event ta'""").want(0)
    same(r.err, "", "loads in silence")
    same(r.out.split(), ["create", "--url", "tail"], "completed")
