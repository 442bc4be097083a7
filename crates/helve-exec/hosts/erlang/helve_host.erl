%% Loads tools written in Erlang and runs them for Helve, one call at a time.
%%
%% Each call has a process of its own, which writes its result as JSON too: what
%% a tool does to its process, or how much it returns, is no matter to this one.
-module(helve_host).

-export([main/0]).

-define(MAX_MESSAGE, 8388608).

-record(host, {
    line :: port(),
    %% What each file has, once it was loaded.
    files = #{} :: #{binary() => term()},
    %% Who waits for which answer.
    asked = #{} :: #{pos_integer() => {pid(), reference()}},
    last = 0 :: non_neg_integer(),
    %% What came while a call ran.
    later = [] :: [map()]
}).

main() ->
    Host = spawn(fun start/0),
    %% Without this process the worker is of no use.
    spawn(fun() ->
        Ref = monitor(process, Host),
        receive
            {'DOWN', Ref, _, _, _} -> halt(1, [{flush, false}])
        end
    end),
    ok.

start() ->
    register(?MODULE, self()),
    process_flag(trap_exit, true),
    _ = io:setopts(user, [{encoding, unicode}]),
    %% Loaded now: a tool may change the code path.
    [{module, _} = code:ensure_loaded(M) || M <- [helve, helve_call, helve_json, helve_load | stand_ins()]],
    Line = open_port({fd, 4, 3}, [binary, {packet, 4}, eof]),
    Runtime = iolist_to_binary(["erlang ", erlang:system_info(otp_release)]),
    serve(tell(#host{line = Line}, #{op => ready, protocol => 1, runtime => Runtime})).

stand_ins() -> [beamai_context, beamai_tool, beamai_tool_behaviour].

serve(#host{later = [Message | Rest]} = Host) ->
    serve(handle(Message, Host#host{later = Rest}));
serve(#host{line = Line} = Host) ->
    receive
        {Line, {data, Bin}} -> serve(handle(helve_json:decode(Bin), Host));
        Other -> serve(aside(Other, Host))
    end.

%% Whatever comes beside messages of Helve, at any time.
aside({Line, eof}, #host{line = Line}) ->
    halt(0, [{flush, false}]);
aside({'EXIT', Line, Reason}, #host{line = Line}) ->
    io:format(standard_error, "helve: the line to Helve is closed: ~tp~n", [Reason]),
    halt(1, [{flush, false}]);
aside({tell, Json}, Host) ->
    %% Of a process that a call left behind: there is no call to tell it of.
    io:format(standard_error, "helve: after its call: ~ts~n", [Json]),
    Host;
aside({ask, Pid, Ref, _}, Host) ->
    Pid ! {Ref, {error, #{<<"type">> => <<"internal">>, <<"message">> => <<"no call is running">>}}},
    Host;
aside(_, Host) ->
    Host.

handle(#{<<"op">> := <<"call">>} = Message, Host) ->
    call(Message, Host);
handle(#{<<"op">> := <<"describe">>, <<"files">> := Files}, Host0) ->
    {Described, Host} = lists:mapfoldl(fun describe/2, Host0, Files),
    send(Host, [<<"{\"op\":\"described\",\"files\":[">>, fitting(Described), <<"]}">>]);
handle(#{<<"op">> := <<"answer">>} = Message, Host) ->
    answer(Message, Host);
handle(_, Host) ->
    Host.

%% ----- what tools there are ----------------------------------------------------

describe(File, Host0) ->
    {Loaded, Host} = load(File, Host0),
    Json =
        case Loaded of
            {ok, _, Tools} -> file_json(File, [Said || {_, _, Said} <- Tools], null);
            {error, Error} -> file_json(File, [], Error)
        end,
    {{File, Json}, Host}.

file_json(File, Tools, Error) ->
    {ok, FileJson} = helve_json:encode(File),
    {ok, ErrorJson} = helve_json:encode(Error),
    iolist_to_binary([
        <<"{\"file\":">>, FileJson, <<",\"tools\":[">>, lists:join($,, Tools), <<"],\"error\":">>, ErrorJson, $}
    ]).

%% One message holds only so much.
fitting(Described) ->
    {Parts, _} = lists:mapfoldl(
        fun({File, Json}, Size) ->
            case Size + byte_size(Json) > ?MAX_MESSAGE div 4 of
                true ->
                    Message = <<"the descriptions of the tools are too long together">>,
                    {file_json(File, [], #{message => Message, line => null, column => null}), Size};
                false ->
                    {Json, Size + byte_size(Json)}
            end
        end,
        0,
        Described
    ),
    lists:join($,, Parts).

load(File, #host{files = Files} = Host) ->
    case Files of
        #{File := Loaded} ->
            {Loaded, Host};
        #{} ->
            Loaded = apart(fun() -> helve_load:load(unicode:characters_to_list(File)) end),
            {Loaded, Host#host{files = Files#{File => Loaded}}}
    end.

%% In a process of its own, which a module may wreck while it is loaded.
apart(Fun) ->
    Tag = make_ref(),
    {Pid, Ref} = spawn_monitor(fun() -> exit({Tag, Fun()}) end),
    receive
        {'DOWN', Ref, process, Pid, {Tag, Result}} ->
            Result;
        {'DOWN', Ref, process, Pid, Reason} ->
            {error, #{message => helve_json:print(Reason), line => null, column => null}}
    end.

%% ----- calls -------------------------------------------------------------------

call(#{<<"id">> := Id, <<"file">> := File, <<"tool">> := Name} = Message, Host0) ->
    {Loaded, Host} = load(File, Host0),
    case Loaded of
        {ok, Module, Tools} ->
            case lists:keyfind(Name, 1, Tools) of
                {_, Spec, _} ->
                    Run = fun() -> helve_call:run(Id, Module, Spec, Message) end,
                    %% The tool cannot know the tag, and so not end with a result of its own making.
                    Tag = make_ref(),
                    {_, Ref} = spawn_monitor(fun() -> exit({Tag, Run()}) end),
                    await(Ref, Tag, Id, Host);
                false ->
                    Why = <<"the file has no tool named `", Name/binary, "`">>,
                    send(Host, helve_call:failure(Id, #{message => Why, type => not_found}))
            end;
        {error, Error} ->
            send(Host, helve_call:failure(Id, maps:with([message, line], Error)))
    end.

await(Ref, Tag, Id, #host{line = Line} = Host) ->
    receive
        {'DOWN', Ref, process, _, {Tag, Json}} ->
            Host1 = flush_told(Host),
            send(Host1#host{asked = #{}}, Json);
        {'DOWN', Ref, process, _, Reason} ->
            Why = <<"its process ended: ", (helve_json:print(Reason))/binary>>,
            send(Host#host{asked = #{}}, helve_call:failure(Id, #{message => Why, name => exit}));
        {tell, Json} ->
            await(Ref, Tag, Id, send(Host, Json));
        {ask, Asker, Reply, Question} ->
            await(Ref, Tag, Id, ask(Asker, Reply, Question, Host));
        {Line, {data, Bin}} ->
            await(Ref, Tag, Id, sort(helve_json:decode(Bin), Host));
        Other ->
            await(Ref, Tag, Id, aside(Other, Host))
    end.

%% What the call said before it ended belongs before its result.
flush_told(Host) ->
    receive
        {tell, Json} -> flush_told(send(Host, Json))
    after 0 -> Host
    end.

sort(#{<<"op">> := <<"answer">>} = Message, Host) -> answer(Message, Host);
sort(Message, #host{later = Later} = Host) -> Host#host{later = Later ++ [Message]}.

ask(Asker, Tag, Question, #host{last = Last, asked = Asked} = Host) ->
    Id = Last + 1,
    Json = [<<"{\"op\":\"ask\",\"id\":">>, integer_to_binary(Id), $,, Question, $}],
    case iolist_size(Json) > ?MAX_MESSAGE of
        true ->
            Error = #{<<"type">> => <<"validation">>, <<"message">> => <<"the arguments are too long">>},
            Asker ! {Tag, {error, Error}},
            Host;
        false ->
            send(Host#host{last = Id, asked = Asked#{Id => {Asker, Tag}}}, Json)
    end.

answer(#{<<"id">> := Id} = Message, #host{asked = Asked} = Host) ->
    case maps:take(Id, Asked) of
        {{Asker, Tag}, Rest} ->
            Asker ! {Tag, answered(Message)},
            Host#host{asked = Rest};
        error ->
            Host
    end.

answered(#{<<"ok">> := true} = Message) -> {ok, maps:get(<<"value">>, Message, null)};
answered(#{<<"error">> := Error}) -> {error, Error};
answered(_) -> {error, #{<<"message">> => <<"the call failed">>}}.

%% ----- the line ----------------------------------------------------------------

tell(Host, Message) ->
    {ok, Json} = helve_json:encode(Message),
    send(Host, Json).

send(#host{line = Line} = Host, Json) ->
    true = port_command(Line, Json),
    Host.
