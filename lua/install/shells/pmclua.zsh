#compdef pmclua
# Completion of pmclua's command line in zsh, made from the tables behind its --help.

_pmclua_events() { compset -P '*,'; compadd -S '' -- @EVENTS@ }

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
