# Completion of pmclua's command line in bash, made from the tables behind its --help.

@TABLES@

_pmclua_list() {     # PREFIX WORD WORDS: those that begin so, PREFIX before each
  local IFS=$' \t\n'
  _pmclua_add < <(compgen -P "$1" -W "$3" -- "$2")
}

_pmclua_add() {      # lines of standard input, each a word
  local line
  while IFS= read -r line; do COMPREPLY+=("$line"); done
}

# Names of this machine's tables, which pmclua has written there: e, m and n are events, metrics and nodes. Thousands
# of events are no help.
_pmclua_vendor() {   # KIND PREFIX WORD
  local names=${XDG_CACHE_HOME:-$HOME/.cache}/pmclua/vendor/names
  [[ -r $names && ( $1 != e || -n $3 ) ]] || return 0
  _pmclua_add < <(awk -v before="$2" -v word="$1 $3" '
    index(tolower($0), tolower(word)) == 1 {
      name = substr($0, 3)
      print before (word ~ /[A-Z]/ && word ~ /^e/ ? toupper(name) : name)
    }' "$names")
}

_pmclua_files() {    # WORD [PATTERN THAT IS LEFT OUT]
  compopt -o filenames 2>/dev/null
  _pmclua_add < <(compgen -f -X "$2" -- "$1")
}

_pmclua_value() {    # KIND WORD: what the value of an option may be
  case $1 in
    files) _pmclua_files "$2" ;;
    events)
      local before=
      [[ $2 == *,* ]] && before=${2%,*},
      _pmclua_list "$before" "${2##*,}" "$_pmclua_events"
      _pmclua_vendor e "$before" "${2##*,}"
      ;;
    metrics) _pmclua_list '' "$2" "$_pmclua_metrics"; _pmclua_vendor m '' "$2" ;;
    nodes) _pmclua_vendor n '' "$2" ;;
    commands) _pmclua_files "$2"; _pmclua_add < <(compgen -c -- "$2" | sort -u) ;;
    words*) _pmclua_list '' "$2" "${1#words }" ;;
  esac
}

_pmclua_first() {    # WORD: options, scripts by name, scripts by path
  if [[ $1 == -* ]]; then
    _pmclua_list '' "$1" "$_pmclua_flags"
    return
  fi
  _pmclua_list '' "$1" "$("${COMP_WORDS[0]}" --list 2>/dev/null | cut -d ' ' -f 1)"
  _pmclua_files "$1" '!*.lua'
  _pmclua_add < <(compgen -d -- "$1")
}

# Bash splits words at ":", too: an event has some. What stands beside one is one word.
_pmclua_join() {
  local word
  words=()
  for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if ((${#words[@]})) && [[ $word == :* || ${words[-1]} == *: ]]; then words[-1]+=$word; else words+=("$word"); fi
  done
}

# What is before the last ":" stands there already.
_pmclua_split() {    # WORD
  [[ $1 == *:* && $COMP_WORDBREAKS == *:* ]] || return 0
  local before=${1%"${1##*:}"} i
  for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$before"}; done
}

_pmclua() {
  local words
  _pmclua_join
  _pmclua_complete $((${#words[@]} - 1))
  _pmclua_split "${words[-1]}"
}

_pmclua_complete() { # INDEX of the last of `words`
  local last=$1
  local cur=${words[last]} prev=${words[last-1]} i script='' at=0 kind
  COMPREPLY=()
  [[ $cur == = ]] && cur=
  [[ $prev == = ]] && prev=${words[last-2]}
  for ((i = 1; i < last; i++)); do
    case ${words[i]} in
      -e | -l) ((i++)) ;;
      -*) ;;
      *) script=${words[i]} at=$i; break ;;
    esac
  done
  if [[ -z $script ]]; then
    [[ $prev == -[el] ]] || _pmclua_first "$cur"
    return
  fi
  # The first word that is no option, nor an option's value, is the script's argument.
  for ((i = at + 1; i < last; i++)); do
    case ${words[i]} in
      --) ((i++)); break ;;
      -*) [[ -n $(_pmclua_kind "$script" "${words[i]}") ]] && ((i++)); [[ ${words[i]} == = ]] && ((i++)) ;;
      =) ;;
      *) break ;;
    esac
  done
  if ((i < last)) && [[ $(_pmclua_kind "$script" rest) == commands ]]; then
    _pmclua_files "$cur"
    return
  fi
  kind=$(_pmclua_kind "$script" "$prev")
  if [[ $prev == -* && -n $kind ]]; then
    _pmclua_value "$kind" "$cur"
  elif [[ $cur == -* ]]; then
    _pmclua_list '' "$cur" "$(_pmclua_options "$script") --help"
  else
    _pmclua_value "$(_pmclua_kind "$script" rest)" "$cur"
  fi
}

complete -F _pmclua pmclua
