# Completion of pmclua's command line in fish, made from the tables behind its --help.

function __pmclua_script       # the script's word, once there is one
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case -e -l
                set -e words[1]
            case '-*'
            case '*'
                echo $words[1]
                return
        end
        set -e words[1]
    end
end

function __pmclua_in
    contains -- (__pmclua_script) $argv
end

function __pmclua_at_script
    test -z (__pmclua_script)""
end

function __pmclua_by_path
    string match -qr '/|\.lua$' -- (__pmclua_script)
end

function __pmclua_names
    pmclua --list 2>/dev/null | string replace -r '\s+' \t
end

# Names of this machine's tables, which pmclua has written there: events, metrics or nodes (e, m, n).
function __pmclua_vendor
    set -l cache $HOME/.cache
    set -q XDG_CACHE_HOME; and set cache $XDG_CACHE_HOME
    set -l names $cache/pmclua/vendor/names
    test -r $names; and awk -v kind=$argv[1] '$1 == kind { print $2 }' $names
end

function __pmclua_metric_list
    string split ' ' -- '@METRICS@'
    __pmclua_vendor m
end

function __pmclua_event_list   # the last of a list with commas
    set -l before (string match -r '^.*,' -- (commandline -ct | string replace -r '^--[^=]*=' ''))
    for event in @EVENTS@ (__pmclua_vendor e)
        echo $before$event
    end
end

complete -c pmclua -f
complete -c pmclua -n __pmclua_at_script -k -a '(__fish_complete_suffix .lua)'
complete -c pmclua -n __pmclua_at_script -k -a '(__pmclua_names)'
@TABLES@
