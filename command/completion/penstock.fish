# SPDX-License-Identifier: BSD-3-Clause
# Completion of the command penstock in fish. The words come from `penstock words`.
function __penstock_words
    set -l typed (commandline -opc)
    $typed[1] words $typed[2..-1] 2>/dev/null
end
complete -c penstock -n 'not string match -qr "^(run|sim)\$" (commandline -opc)[2]' -f -a '(__penstock_words)'
complete -c penstock -n 'string match -qr "^(run|sim)\$" (commandline -opc)[2]' -a '(__penstock_words)'
