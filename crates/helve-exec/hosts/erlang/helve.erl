%% What a tool may ask of Helve while it runs.
-module(helve).

-export([call/2, log/2, log/3, progress/1, progress/3]).

%% Calls another tool and waits for its value.
-spec call(binary() | atom() | string(), map()) -> {ok, term()} | {error, map()}.
call(Tool, Args) when is_map(Args) ->
    Name = helve_json:text(if is_atom(Tool) -> atom_to_binary(Tool); true -> Tool end),
    case {helve_json:encode(Name), helve_json:encode(Args)} of
        {{ok, NameJson}, {ok, ArgsJson}} ->
            ask([<<"\"tool\":">>, NameJson, <<",\"args\":">>, ArgsJson]);
        {_, {error, Why}} ->
            {error, #{<<"type">> => <<"validation">>, <<"message">> => Why}}
    end.

ask(Question) ->
    Host = monitor(process, helve_host),
    Ref = make_ref(),
    helve_host ! {ask, self(), Ref, Question},
    receive
        {Ref, Answer} ->
            demonitor(Host, [flush]),
            Answer;
        {'DOWN', Host, _, _, Reason} ->
            exit(Reason)
    end.

-spec log(debug | info | warn | error, iodata()) -> ok.
log(Level, Text) -> log(Level, "~ts", [Text]).

-spec log(debug | info | warn | error, io:format(), [term()]) -> ok.
log(Level, Format, Args) when Level =:= debug; Level =:= info; Level =:= warn; Level =:= error ->
    Text = unicode:characters_to_binary(io_lib:format(Format, Args, [{chars_limit, 65536}])),
    tell(#{op => log, level => Level, text => Text}).

-spec progress(number()) -> ok.
progress(Done) -> progress(Done, null, null).

-spec progress(number(), number() | null, binary() | null) -> ok.
progress(Done, Total, Message) ->
    tell(#{op => progress, done => Done, total => Total, message => Message}).

tell(Message) ->
    {ok, Json} = helve_json:encode(Message),
    helve_host ! {tell, Json},
    ok.
