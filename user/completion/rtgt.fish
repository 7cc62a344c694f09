# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# fish completion for rtgt, which knows itself what may stand next: a line for each word, with what
# it does behind a tab.

function __rtgt_words
    set -l words (commandline -opc)
    $words[1] --complete $words[2..-1] 2>/dev/null
end

# files too: captures and directories
complete -c rtgt -a '(__rtgt_words)'
