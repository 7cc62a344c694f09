# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# awk -v rtgt=PROGRAM -f fill.awk PAGE: a manual page, with the lists of options and keys that the
# help of the program has.  What the help says stands there and nowhere else.
#
#	.\" Options: COMMAND		the list "Options:" of rtgt COMMAND --help
#	.\" Keys: COMMAND		its list that begins with "Keys"; "Keys of a region: ..." that one
#	.\" behind WORD			what follows stands behind the text of this option or key
#	.\" end				ends the list
#
# Exits with 1 if the program has no such list, or the list no such word: the page would be wrong.

function fail(text) {
	print FILENAME ":" FNR ": " text >"/dev/stderr"
	failed = 1
	exit 1
}

# What is the same in every command, rtgt(1) tells
function everywhere(i) {
	return text[i] ~ /; the same as rtgt -[jp]$/ || head[i] == "-h, --help" && command != ""
}

# read_list: head[] and text[] of the list whose title begins with this
function read_list(title,	line, on, done, ask) {
	nr = 0
	ask = "'" rtgt "' " command " --help"
	while ((ask | getline line) > 0) {
		if (!on) {
			on = !done && index(line, title) == 1
		} else if (line ~ /^ ? ? ? ? ? ?[-a-z0-9][^ ]*( |$)/ && line ~ /^  /) {
			sub(/^ +/, "", line)
			if (nr && everywhere(nr))
				nr--
			split_entry(line)
		} else if (line ~ /^ / && nr) {
			sub(/^ +/, " ", line)
			text[nr] = text[nr] line
		} else if (nr) {
			on = 0
			done = 1
		}
	}
	close(ask)
	if (nr && everywhere(nr))
		nr--
	if (!nr)
		fail("rtgt " command " --help has no list \"" title "\"")
	delete behind
}

# A head is separated by two blanks or, one as wide as its column, ends with an option or its value
function split_entry(line,	at) {
	at = match(line, /   *[^ ]/)
	if (!at) {
		match(line, /^(-[^ ]+, )*-[^ ]+( [A-Z]+)?/)
		at = RLENGTH + 1
	}
	head[++nr] = substr(line, 1, at - 1)
	text[nr] = substr(line, at)
	sub(/^ +/, "", text[nr])
}

function print_head(head,	word, n, i, out) {
	n = split(head, word, /,? /)
	if (head !~ /^-/) {
		printf ".It Cm %s%s\n", word[1], (n > 1 ? " No " substr(head, length(word[1]) + 2) : "")
		return
	}
	out = ".It"
	for (i = 1; i <= n; i++) {
		if (word[i] ~ /^-/)
			out = out (i == 1 ? " Fl " : " , ") substr(word[i], 2)
		else
			out = out (word[i] ~ /[A-Z]/ ? " Ar " : " Cm ") word[i]
	}
	print out
}

# A sentence a line; what begins with a word of the command line stays as it is
function print_text(text,	sentence, n, i) {
	if (text ~ /^[a-z-]+ [^(]/)
		text = toupper(substr(text, 1, 1)) substr(text, 2)
	if (text !~ /\.$/)
		text = text "."
	gsub(/\\/, "\\e", text)
	n = split(text, sentence, /  +/)
	for (i = 1; i <= n; i++) {
		gsub(/ -/, " \\-", sentence[i])
		sub(/^-/, "\\-", sentence[i])
		sub(/^\\--/, "\\-\\-", sentence[i])
		gsub(/ \\--/, " \\-\\-", sentence[i])
		sub(/^[.']/, "\\\\\\&&", sentence[i])
		print sentence[i]
	}
}

function print_list(	i, word, n, k, more) {
	print ".Bl -tag -width Ds"
	for (i = 1; i <= nr; i++) {
		print_head(head[i])
		print_text(text[i])
		n = split(head[i], word, /,? /)
		for (k = 1; k <= n; k++) {
			if (word[k] in behind) {
				printf "%s", behind[word[k]]
				delete behind[word[k]]
			}
		}
	}
	print ".El"
	for (more in behind)
		fail("rtgt " command " --help does not have " more)
}

/^\.\\" Options:/ {
	command = $3
	read_list("Options:")
	last = ""
	next
}
/^\.\\" Keys:/ {
	command = $3
	read_list("Keys")
	last = ""
	next
}
/^\.\\" Keys of a region:/ {
	command = $6
	read_list("Keys of a region")
	last = ""
	next
}
nr && /^\.\\" behind / {
	last = $3
	next
}
nr && /^\.\\" end$/ {
	print_list()
	nr = 0
	next
}
nr {
	if (last == "")
		fail("what is this behind?")
	behind[last] = behind[last] $0 "\n"
	next
}
{ print }
END {
	if (nr && !failed)
		fail("a list has no end")
	exit failed
}
