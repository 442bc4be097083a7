%% Runs one call and puts what came of it into words.
-module(helve_call).

-export([run/4, failure/2]).

-define(MAX_MESSAGE, 8388608).

%% The result as a message, in JSON.
-spec run(integer(), module(), beamai_tool:spec(), map()) -> binary().
run(Id, Module, Spec, Message) ->
    Info = maps:get(<<"ctx">>, Message, #{}),
    Context = beamai_context:new(Info, maps:get(<<"keys">>, Info, #{})),
    try
        enter(maps:get(<<"cwd">>, Message, null)),
        beamai_tool:invoke(Spec, maps:get(<<"args">>, Message, #{}), Context)
    of
        Result -> result(Id, Result, Context)
    catch
        throw:{helve, Why} -> failure(Id, #{message => Why, type => internal});
        Class:Reason:Stack -> failure(Id, crash(Class, Reason, Stack, Module))
    end.

enter(null) ->
    ok;
enter(Folder) ->
    case file:set_cwd(unicode:characters_to_list(Folder)) of
        ok -> ok;
        {error, Why} -> throw({helve, iolist_to_binary(["cannot enter `", Folder, "`: ", file:format_error(Why)])})
    end.

result(Id, {ok, Value}, _) ->
    success(Id, Value, #{});
result(Id, {ok, Value, After}, Context) ->
    case beamai_context:changes(Context, After) of
        {ok, Changes} -> success(Id, Value, Changes);
        error -> failure(Id, #{message => <<"the third element of `{ok, Result, Context}` is not a context">>})
    end;
result(Id, {error, Reason}, _) ->
    failure(Id, maps:merge(kind(Reason), #{message => helve_json:text(reason(Reason))}));
result(Id, Other, _) ->
    Shown = helve_json:print(Other),
    Why = <<"the handler returned ", Shown/binary, "; return {ok, Result}, {ok, Result, Context} or {error, Reason}">>,
    failure(Id, #{message => Why}).

%% An error of `helve:call/2` may be passed on as it is.
reason(#{<<"type">> := _, <<"message">> := Message}) -> Message;
reason(Reason) -> Reason.

kind(#{<<"type">> := Type, <<"message">> := _} = Error) ->
    maps:merge(#{type => Type}, maps:from_list([{hint, Hint} || #{<<"hint">> := Hint} <- [Error]]));
kind(_) ->
    #{}.

success(Id, Value, Writes) ->
    case {helve_json:encode(Value), helve_json:encode(Writes)} of
        {{ok, ValueJson}, {ok, WritesJson}} ->
            Tail = [[<<",\"writes\":">>, WritesJson] || map_size(Writes) > 0],
            Json = [<<"{\"op\":\"result\",\"id\":">>, integer_to_binary(Id), <<",\"ok\":true,\"value\":">>, ValueJson, Tail, $}],
            fitting(Id, iolist_to_binary(Json));
        {{error, Why}, _} ->
            failure(Id, #{message => Why, type => internal});
        {_, {error, Why}} ->
            failure(Id, #{message => Why, type => internal})
    end.

fitting(_, Json) when byte_size(Json) =< ?MAX_MESSAGE ->
    Json;
fitting(Id, Json) ->
    Format = "its result is too long: ~b bytes, at most ~b",
    Why = iolist_to_binary(io_lib:format(Format, [byte_size(Json), ?MAX_MESSAGE])),
    failure(Id, #{message => Why, type => internal}).

-spec failure(integer(), map()) -> binary().
failure(Id, Error) ->
    Whole = maps:merge(#{name => null, stack => null, line => null}, Error),
    Short = maps:map(fun(_, Value) -> cut(Value) end, Whole),
    {ok, Json} = helve_json:encode(#{op => result, id => Id, ok => false, error => Short}),
    Json.

cut(Bin) when is_binary(Bin), byte_size(Bin) > 65536 ->
    Head = binary:part(Bin, 0, 65536),
    Text =
        case unicode:characters_to_binary(Head) of
            {incomplete, Whole, _} -> Whole;
            {error, Whole, _} -> Whole;
            Whole -> Whole
        end,
    <<Text/binary, "…"/utf8>>;
cut(Value) ->
    Value.

%% ----- crashes -----------------------------------------------------------------

crash(Class, Reason, Stack, Module) ->
    Own = [Frame || Frame <- Stack, not is_host(element(1, Frame))],
    #{
        message => <<(atom_to_binary(Class))/binary, ": ", (helve_json:print(Reason))/binary>>,
        name => name(Class, Reason),
        stack => iolist_to_binary(lists:join($\n, [shown(Frame) || Frame <- Own])),
        line => line_in(Own, Module)
    }.

is_host(Module) -> lists:member(Module, [helve_call, helve_host, beamai_tool]).

name(_, Reason) when is_atom(Reason) -> Reason;
name(_, Reason) when is_tuple(Reason), is_atom(element(1, Reason)) -> element(1, Reason);
name(Class, _) -> Class.

shown({Module, Function, Arity, Where}) ->
    Count = if is_list(Arity) -> length(Arity); true -> Arity end,
    File = filename:basename(proplists:get_value(file, Where, "")),
    Line = proplists:get_value(line, Where, 0),
    unicode:characters_to_binary(io_lib:format("~ts:~ts/~b (~ts:~b)", [Module, Function, Count, File, Line])).

line_in(Stack, Module) ->
    case [proplists:get_value(line, Where, null) || {M, _, _, Where} <- Stack, M =:= Module] of
        [Line | _] -> Line;
        [] -> null
    end.
