# bash completion for claude-hub. Use it with: source <(claude-hub completion bash)
_claude_hub() {
  local cur=${COMP_WORDS[COMP_CWORD]} line word
  local -a words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  # What is typed may be quoted or escaped.
  cur=${cur#[\"\']}
  cur=${cur//\\/}
  words[COMP_CWORD - 1]=$cur
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    # Characters at which bash breaks words would end up twice.
    [[ $word == *[:=]* && $cur != *[:=]* ]] && continue
    printf -v line '%q' "$word"
    COMPREPLY+=("$line")
  done < <(claude-hub __complete -- "${words[@]}" 2>/dev/null)
  if [[ ${COMP_WORDS[COMP_CWORD]} == [\"\']* && ${#COMPREPLY[@]} -gt 0 ]]; then
    COMPREPLY=("${COMPREPLY[@]//\\/}")
  fi
}
complete -F _claude_hub claude-hub
