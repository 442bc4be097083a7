#!/usr/bin/env escript
%%! +fnu -boot no_dot_erlang -env ERL_CRASH_DUMP_SECONDS 0
%% Starts the host. Its modules are taken as they were compiled, if they were, and
%% else compiled here, in memory: that takes half a second longer.

main(_) ->
    Folder = filename:dirname(filename:absname(escript:script_name())),
    [ready(File) || File <- filelib:wildcard(filename:join(Folder, "*.erl"))],
    helve_host:main(),
    receive after infinity -> ok end.

ready(File) ->
    Root = filename:rootname(File),
    case filelib:is_regular(Root ++ ".beam") of
        true ->
            {module, _} = code:load_abs(Root);
        false ->
            {ok, Module, Code} = compile:file(File, [binary]),
            {module, Module} = code:load_binary(Module, File, Code)
    end.
