# SPDX-License-Identifier: BSD-3-Clause
# Completion of the command penstock in bash. The words come from `penstock words`.
_penstock()
{
    local current=${COMP_WORDS[COMP_CWORD]} words
    words=$("${COMP_WORDS[0]}" words "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    if [[ $current != -* && ${COMP_WORDS[1]} =~ ^(run|sim)$ && COMP_CWORD -gt 1 && ${#COMPREPLY[@]} -eq 0 ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        compopt -o filenames 2>/dev/null
    fi
}
complete -F _penstock penstock
