# fish completion for claude-hub. Use it with: claude-hub completion fish | source
function __claude_hub_complete
    set -l words (commandline -opc)
    set -e words[1]
    claude-hub __complete -- $words (commandline -ct | string unescape | string collect -a) 2>/dev/null
end
complete -c claude-hub -f -a '(__claude_hub_complete)'
