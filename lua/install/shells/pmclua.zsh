#compdef pmclua
# Completion of pmclua's command line in zsh, made from the tables behind its --help.

# Names of this machine's tables, which pmclua has written there: events, metrics or nodes (e, m, n).
_pmclua_vendor() {
  local names=${XDG_CACHE_HOME:-$HOME/.cache}/pmclua/vendor/names
  [[ -r $names ]] && reply=(${(f)"$(awk -v kind=$1 '$1 == kind { print $2 }' $names)"}) || reply=()
}

_pmclua_events() { local -a reply; _pmclua_vendor e; compset -P '*,'; compadd -S '' -- @EVENTS@ $reply }
_pmclua_metrics() { local -a reply; _pmclua_vendor m; compadd -- @METRICS@ $reply }
_pmclua_nodes() { local -a reply; _pmclua_vendor n; compadd -- $reply }

_pmclua_first() {
  local -a names
  names=(${(f)"$(_call_program scripts $words[1] --list 2>/dev/null | sed 's/:/\\:/g; s/  */:/')"})
  _describe -t scripts script names
  _files -g '*.lua'
}

@TABLES@

_pmclua() {
  local context state line
  typeset -A opt_args
  _arguments -C -S -A '-*' : @FLAGS@ '1:script:_pmclua_first' '*:: :->script' && return
  [[ $state == script ]] || return
  local run=_pmclua_script_${words[1]//-/_}
  (( $+functions[$run] )) || run=_pmclua_experiment
  $run
}

_pmclua "$@"
