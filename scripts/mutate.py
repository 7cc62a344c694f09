# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The faults that scripts/mutants can plant in a file: found textually, without a parser.

faults(path, text) lists them.  It never changes comments, strings, preprocessor lines, statements
that only print, or what stands outside of functions, and it keeps the number of lines, so that
objects compiled from equal code are equal.  It knows C in the kernel's style, bash with awk in
it, Python, and lists of a rule a line (selftests/kernel-log).  A fault that does not compile is
the caller's to notice.

Scripts of vm/ and scripts/ run on the machine itself, perhaps as root: of these it changes only
awk and functions that remove, move, kill and mount nothing.
"""
import collections
import re

# One fault: edits are (start, end, new text) in the file; before and after are its first line,
# nth tells equal lines of a file apart.
Fault = collections.namedtuple("Fault", "path line kind before after nth edits")

ERRNOS = ["EINVAL", "EIO", "ENOMEM", "EBUSY", "ENOENT", "EPERM"]
PRINTS = re.compile(r"(\w*print\w*|f?puts|pr_\w+|trace_\w+|seq_\w+|sysfs_emit\w*|perror|lockdep_\w+"
                    r"|static_assert|might_sleep|rtgt_log\w*)\s*\(")
SHELL_PRINTS = re.compile(r"(say|echo|printf|die|complain|usage|tell\w*|local|declare|export"
                          r"|readonly|trap|set|shopt|\.|source)\b")
SHELL_WORDS = re.compile(r"(if|then|else|elif|fi|for|while|until|do|done|case|esac|function|select"
                         r"|\{|\}|\(|\)|;;)(?![\w-])|.*\)$(?<!\)\))|\w+\(\) \{")
DANGER = re.compile(r"\b(rm|mv|rmdir|kill|mount|umount|mktemp|mkfs\w*|dd|trap|exec|chmod|chown)\b")
ANDOR = {"&&": "||", "||": "&&", "and": "or", "or": "and"}
BOUNDS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "-lt": "-le", "-le": "-lt", "-gt": "-ge",
          "-ge": "-gt"}
COMPARES = {"==": "!=", "!=": "==", "-eq": "-ne", "-ne": "-eq"}
ARITH = {"+": "-", "-": "+"}


def language(path, text):
    """The language of a file: "c", "shell", "python", "list", or None."""
    if path.endswith((".c", ".h")):
        return "c"
    if "python" in text.split("\n", 1)[0] or path.endswith(".py"):
        return "python"
    if "bash" in text.split("\n", 1)[0] or re.search(r"^# shellcheck shell=bash", text, re.M):
        return "shell"
    return "list" if path.endswith("kernel-log") else None


def blank(text):
    """The text with blanks for all but the ends of lines."""
    return re.sub(r"[^\n]", " ", text)


def mask(text, pattern):
    """The text with what matches a pattern blanked, and equally long."""
    return re.sub(pattern, lambda m: blank(m.group()), text, flags=re.S | re.M)


def mask_c(text):
    """C without comments, strings, characters and preprocessor lines."""
    text = mask(text, r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
    return mask(text, r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*")


def closing(text, at):
    """The place behind the parenthesis that closes the one at "at"."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if not depth:
            return i + 1
    return len(text)


def statements(code, start, end):
    """(what, start, end) of a function's statements: "if" with its condition, "loop", "plain"."""
    at = start
    while at < end:
        skip = re.compile(r"[\s{};]+|(else|do)\b|(case\b[^:;{}]*|default|\w+)\s*:(?!:)")
        skip = skip.match(code, at)
        if skip:
            at = skip.end()
            continue
        head = re.compile(r"(if|while|for|switch)\s*\(").match(code, at)
        if head:
            close = closing(code, head.end() - 1)
            yield ("if" if head[1] in ("if", "while") else "loop"), head.end(), close - 1
            at = close
            continue
        call = re.compile(r"\w+\s*\(").match(code, at)
        if call:
            close = closing(code, call.end() - 1)
            # a loop in a macro: list_for_each_entry()
            if re.compile(r"\s*\{|\s*\n\s*\w").match(code, close):
                at = close
                continue
        depth = 0
        for stop in range(at, end):
            depth += (code[stop] in "([{") - (code[stop] in ")]}")
            if code[stop] == ";" and not depth:
                break
        else:
            return
        yield "plain", at, stop + 1
        at = stop + 1


def operators(code, start, end, kinds):
    """Faults of operators between blanks: (kind, edits)."""
    for m in re.finditer(r"(?<=[\s])(&&|\|\||[<>=!]=|[<>+-]|-(?:lt|le|gt|ge|eq|ne)|and|or)(?=\s)",
                         code[start:end]):
        for kind, table in kinds:
            if m[1] in table:
                yield kind, [(start + m.start(), start + m.end(), table[m[1]])]


def constants(code, start, end):
    """Faults of numbers and truth values: (kind, edits)."""
    for m in re.finditer(r"(?<![\w.$#\"{-])(0x[0-9a-fA-F]+|\d+)(?=[UL]*\b)(?!\.)|\b(true|false)\b",
                         code[start:end]):
        if m[2]:
            new = "false" if m[2] == "true" else "true"
        else:
            value = int(m[1], 0 if m[1].startswith("0x") else 10) + 1
            new = hex(value) if m[1].startswith("0x") else str(value)
        yield "constant", [(start + m.start(), start + m.end(), new)]


def shape(argument):
    """What arguments have in common that may be taken for each other."""
    return argument.isdigit(), argument[0] == "&", "->" in argument or "." in argument


def c_statement(code, what, start, end):
    """(kind, edits) of one statement."""
    text = code[start:end]
    # neither what only prints nor a table
    if what == "plain" and (PRINTS.match(text) or text.startswith("static ")):
        return
    if what == "if":
        yield "negate", [(start, start, "!("), (end, end, ")")]
        yield "skip", [(start, start, "0 && ("), (end, end, ")")]
    yield from operators(code, start, end, [("and-or", ANDOR), ("bound", BOUNDS),
                                            ("compare", COMPARES), ("arithmetic", ARITH)])
    # the bounds of arrays, masks and widths are no decisions
    if not re.match(r"(const |struct |u\d+ |int |char |uint\d+_t )[^=]*;", text):
        yield from constants(code, start, end)
    for m in re.finditer(r"-(E[A-Z0-9]+)\b", text):
        wrong = ERRNOS[(len(m[1]) + ord(m[1][-1])) % len(ERRNOS)]
        wrong = wrong if wrong != m[1] else ERRNOS[ERRNOS.index(wrong) - 1]
        yield "errno", [(start + m.start(1), start + m.end(1), wrong)]
    for m in re.finditer(r"\w\(([\w.>&*-]+), ([\w.>&*-]+)(?=[,)])", text):
        # of pointers to different types the compiler knows
        if m[1] != m[2] and shape(m[1]) == shape(m[2]) and "err" not in m.groups():
            yield "swap", [(start + m.start(1), start + m.end(2), f"{m[2]}, {m[1]}")]
    if what != "plain":
        return
    if re.match(r"return -E\w+;|goto \w+;|break;|continue;", text):
        yield "return", [(start, end, ";" + blank(text)[1:].rstrip(" "))]
    elif re.match(r"(\(void\))?[\w.>-]+(\[[^]]*\])?(\(.*\);$|\s*(\+\+|--);|\s[-+|&]= |( = -E))|"
                  r"(\+\+|--)[\w.>-]+;|\*?\w+(->|\.)[\w.>-]+(\[[^]]*\])* = ", text, re.S):
        yield "remove", [(start, end, ";" + blank(text)[1:].rstrip(" "))]


def c_faults(_, text):
    """(kind, edits) of a C file: of its functions, which begin and end in the first column."""
    code = mask_c(text)
    for body in re.finditer(r"^\{\n.*?^\}", code, re.M | re.S):
        for what, start, end in statements(code, body.start(), body.end()):
            first = code.rfind("\n", 0, start) + 1
            # elements of a table
            if re.match(r"\s*(\{ |\[\w+\]\s*=|\.\w+ = )", code[first:end]):
                continue
            yield from c_statement(code, what, start, end)


def shell_lines(text):
    """(offset, code, in awk) of the lines of a shell script, without comments and here documents.

    Strings in double quotes are blanked.  Lines of a string in single quotes are awk's.
    """
    state = until = None
    offset = 0
    for line in text.split("\n"):
        inside, code, previous = state, [], " "
        if until:
            code = [" "] * len(line)
            if line.strip() == until:
                until = None
        else:
            at = 0
            while at < len(line):
                c = line[at]
                if c == "\\" and state != "'" and at + 1 < len(line):
                    code += "  "
                    at += 2
                    continue
                if state is None and c == "#" and previous.isspace():
                    code += " " * (len(line) - at)
                    break
                if c == state:
                    state = None
                elif state is None and c in "'\"":
                    state = c
                code.append(c if state != '"' or c == '"' else " ")
                previous = c
                at += 1
            here = re.search(r"<<-?\s*['\"]?(\w+)['\"]?", "".join(code)) if inside is None else None
            if here and "((" not in line[:here.start()]:
                until = here[1]
        code = "".join(code)
        if inside == "'":
            code = mask(code, r"\"[^\"]*\"|(?<![\w)]) ?/[^/]*/|#.*")
        if inside != '"':
            yield offset, code, inside == "'"
        offset += len(line) + 1


def awk_line(offset, code):
    """(kind, edits) of a line of awk."""
    end = offset + len(code)
    whole = " " * offset + code
    stripped = code.strip()
    if PRINTS.match(stripped) or stripped.startswith(("print", "function")):
        return
    for m in re.finditer(r"\bif \(", code):
        inner = offset + m.end()
        close = closing(whole, inner - 1) - 1
        if close < end - 1 or whole.endswith(")"):
            yield "negate", [(inner, inner, "!("), (close, close, ")")]
    yield from operators(whole, offset, end, [("and-or", ANDOR), ("bound", BOUNDS),
                                              ("compare", COMPARES), ("arithmetic", ARITH)])
    yield from constants(whole, offset, end)
    if re.match(r"[\w\[\], .$]+(\+\+$|(\+|-)?= .*[^{,&|]$|\(.*\)$)", stripped):
        begin = offset + len(code) - len(code.lstrip())
        yield "remove", [(begin, begin + len(stripped), ";")]


def shell_line(offset, code, goes_on):
    """(kind, edits) of a line of bash."""
    end = offset + len(code)
    whole = " " * offset + code
    stripped = code.strip()
    if not stripped or SHELL_PRINTS.match(stripped):
        return
    for m in re.finditer(r"(^\s*|\b(?:if|elif|while|until) |&& |\|\| )(! )?"
                         r"(\[\[ |\(\((?!\())", code):
        at = offset + m.end(1)
        yield "negate", [(at, at + 2, "")] if m[2] else [(at, at, "! ")]
    kinds = [("and-or", ANDOR), ("compare", COMPARES), ("bound", BOUNDS)]
    if "((" not in code:
        kinds[2] = ("bound", {k: v for k, v in BOUNDS.items() if k.startswith("-")})
    yield from operators(whole, offset, end, kinds)
    for m in re.finditer(r"\b(return|exit) ([01])\b|\b(\w+=)([01])(?= *$)", code):
        group = 2 if m[2] else 4
        yield "status", [(offset + m.start(group), offset + m.end(group), str(1 - int(m[group])))]
    for m in re.finditer(r"\(\(.*?\)\)", code):
        yield from constants(whole, offset + m.start(), offset + m.end())
    balanced = all(stripped.count(a) == stripped.count(b) for a, b in ("()", "[]", "{}")) and \
        not (code.count("'") % 2 or code.count('"') % 2)
    if not balanced or goes_on or re.search(r"(\\|&&|\|\||\||[({])$|;;", stripped):
        return
    m = re.search(r"\S( \|\| (?!\s*\[\[).*)$", code)
    ahead = code[:m.start(1)] if m else ""
    if m and ahead.count("[[") == ahead.count("]]") and "[[" not in m[1] and \
            not SHELL_WORDS.match(stripped):
        yield "skip", [(offset + m.start(1), offset + m.end(1), "")]
    if not SHELL_WORDS.match(stripped) and stripped != ":" and "<<" not in stripped:
        begin = offset + len(code) - len(code.lstrip())
        yield "remove", [(begin, begin + len(stripped), ":")]


def harmless(text):
    """The places of a script's functions that have no dangerous command."""
    for m in re.finditer(r"^\w+\(\) \{.*?^\}", text, re.M | re.S):
        if not DANGER.search(m.group()):
            yield from range(m.start(), m.end())


def shell_faults(path, text):
    """(kind, edits) of a shell script."""
    goes_on = False
    allowed = set(harmless(text)) if path.startswith(("vm/", "scripts/")) else None
    for offset, code, in_awk in shell_lines(text):
        if in_awk:
            yield from awk_line(offset, code)
            goes_on = False
            continue
        if allowed is None or offset in allowed:
            yield from shell_line(offset, code, goes_on)
        raw = text[offset:offset + len(code)].rstrip()
        goes_on = raw.endswith(("\\", "&&", "||", "|"))


def python_faults(_, text):
    """(kind, edits) of a Python program."""
    code = mask(text, r'"""(?:.*?)"""|#[^\n]*|"(?:\\.|[^"\\\n])*"|'
                r"'(?:\\.|[^'\\\n])*'")
    depth = offset = 0
    for line in code.split("\n"):
        whole_line = depth == 0
        depth += sum((c in "([{") - (c in ")]}") for c in line)
        stripped = line.strip()
        begin = offset + len(line) - len(line.lstrip())
        end = begin + len(stripped)
        prints = re.match(r"(print|sys\.exit|def|import)\b", stripped)
        if line[:1].isspace() and stripped and not prints:
            yield from operators(code, begin, end, [("and-or", ANDOR), ("bound", BOUNDS),
                                                    ("compare", COMPARES), ("arithmetic", ARITH)])
            yield from constants(code, begin, end)
            m = re.match(r"(?:el)?if (.*):$", stripped)
            if m:
                yield "negate", [(begin + m.start(1), begin + m.start(1), "not ("),
                                 (begin + m.end(1), begin + m.end(1), ")")]
            elif whole_line and depth == 0 and re.match(
                    r"[\w.\[\]]+(\(.*\)| [+-]?= .*)$|continue$|return\b", stripped):
                yield "remove", [(begin, end, "pass")]
        offset += len(line) + 1


def list_faults(_, text):
    """(kind, edits) of a list: a line that is missing."""
    for m in re.finditer(r"^bad .*\n", text, re.M):
        yield "remove", [(m.start(), m.end() - 1, "#")]


FINDERS = {"c": c_faults, "shell": shell_faults, "python": python_faults, "list": list_faults}


def apply(text, edits):
    """The text with a fault in it."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def faults(path, text):
    """The faults that can be planted in a file."""
    finder = FINDERS.get(language(path, text))
    seen = collections.Counter()
    for kind, edits in finder(path, text) if finder else ():
        start = min(edits)[0]
        line = text.count("\n", 0, start)
        changed = apply(text, edits)
        before, after = text.split("\n")[line], changed.split("\n")[line]
        if before == after:
            # the first line that shows it
            pairs = zip(text.split("\n"), changed.split("\n"))
            before, after = next((p for p in pairs if p[0] != p[1]), (before, after))
        what = (kind, before.strip(), after.strip())
        seen[what] += 1
        yield Fault(path, line + 1, *what, seen[what], edits)
