#compdef claude-hub
# zsh completion for claude-hub. Use it with: source <(claude-hub completion zsh)
_claude_hub() {
  local line
  local -a values shown typed
  typed=("${(@Q)words[2,CURRENT]}")
  for line in "${(@f)$(claude-hub __complete -- "${typed[@]}" 2>/dev/null)}"; do
    [[ -n $line ]] || continue
    values+=("${line%%$'\t'*}")
    shown+=("${line%%$'\t'*}  -- ${line#*$'\t'}")
  done
  (( ${#values} )) && compadd -l -d shown -a values
}
if [[ ${funcstack[1]} == _claude_hub ]]; then
  _claude_hub "$@"
elif (( ${+functions[compdef]} )); then
  compdef _claude_hub claude-hub
else
  autoload -Uz compinit && compinit && compdef _claude_hub claude-hub
fi
