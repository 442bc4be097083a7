%% From a file to its tools.
%%
%% Modules are compiled in memory: the file system of a worker is read-only.
-module(helve_load).

-export([load/1]).

-type failure() :: #{message := binary(), line := null | integer(), column := null | integer()}.

%% The tools of a file, each with what it says of itself as JSON.
-spec load(file:filename()) -> {ok, module(), [{binary(), beamai_tool:spec(), binary()}]} | {error, failure()}.
load(File) ->
    try
        Module = compile_and_load(File),
        {ok, Module, tools(Module, File)}
    catch
        throw:{unfit, Failure} -> {error, Failure};
        Class:Reason:Stack -> {error, crash(Class, Reason, Stack, File)}
    end.

-spec unfit(io:format(), [term()]) -> no_return().
unfit(Format, Args) -> unfit(Format, Args, null, null).

-spec unfit(io:format(), [term()], null | integer(), null | integer()) -> no_return().
unfit(Format, Args, Line, Column) ->
    Message = unicode:characters_to_binary(io_lib:format(Format, Args)),
    throw({unfit, #{message => Message, line => Line, column => Column}}).

crash(Class, Reason, Stack, File) ->
    Message = io_lib:format("~ts: ~ts", [Class, helve_json:print(Reason)]),
    #{message => unicode:characters_to_binary(Message), line => line_in(Stack, File), column => null}.

line_in(Stack, File) ->
    Lines = [
        proplists:get_value(line, Where)
     || {_, _, _, Where} <- Stack, proplists:get_value(file, Where) =:= File
    ],
    case Lines of
        [Line | _] when is_integer(Line) -> Line;
        _ -> null
    end.

%% ----- compiling --------------------------------------------------------------

compile_and_load(File) ->
    {Module, Code} = compile_file(File),
    case {loaded_from(Module), code:which(Module)} of
        {File, _} ->
            Module;
        {_, non_existing} ->
            {module, Module} = code:load_binary(Module, File, Code),
            load_neighbours(Code, File),
            Module;
        {_, Other} ->
            unfit("there is a module `~ts` already, from ~ts", [Module, origin(Other)])
    end.

origin(Where) when is_list(Where) -> filename:basename(Where);
origin(_) -> "Erlang itself".

loaded_from(Module) ->
    case code:is_loaded(Module) of
        {file, File} -> File;
        false -> none
    end.

%% The modules beside a file that it calls.
load_neighbours(Code, File) ->
    {ok, {_, [{imports, Imports}]}} = beam_lib:chunks(Code, [imports]),
    [load_neighbour(Module, File) || Module <- lists:usort([M || {M, _, _} <- Imports])].

load_neighbour(Module, File) ->
    Beside = filename:join(filename:dirname(File), atom_to_list(Module) ++ ".erl"),
    case code:which(Module) =:= non_existing andalso filelib:is_regular(Beside) of
        true -> compile_and_load(Beside);
        false -> ok
    end.

compile_file(File) ->
    Forms = forms(File),
    Options = [binary, return, {source, File}],
    case compile:forms(Forms, Options) of
        {ok, Module, Code, _Warnings} -> {Module, Code};
        {error, Errors, _Warnings} -> refuse(first_error(Errors, File), File)
    end.

first_error(Errors, File) ->
    Own = [Error || {F, List} <- Errors, F =:= File, Error <- List],
    hd(Own ++ [Error || {_, List} <- Errors, Error <- List]).

-spec refuse(tuple(), file:filename()) -> no_return().
refuse({Module, Description}, File) -> refuse({none, Module, Description}, File);
refuse({Where, Module, Description}, _File) ->
    {Line, Column} = place(Where),
    unfit("~ts", [Module:format_error(Description)], Line, Column).

place({Line, Column}) -> {Line, Column};
place(Line) when is_integer(Line) -> {Line, null};
place(_) -> {null, null}.

%% Read by hand, since a byte order mark must be stepped over first.
forms(File) ->
    Io = open(File),
    try
        {ok, Epp} = epp:open([
            {fd, Io}, {name, File}, {location, {1, 1}}, {includes, [filename:dirname(File)]}
        ]),
        Forms = forms(Epp, []),
        epp:close(Epp),
        [{attribute, {1, 1}, file, {File, 1}} | Forms]
    after
        file:close(Io)
    end.

open(File) ->
    case file:open(File, [read]) of
        {ok, Io} ->
            case file:read(Io, 3) of
                {ok, [16#EF, 16#BB, 16#BF]} -> ok;
                _ -> {ok, 0} = file:position(Io, bof)
            end,
            ok = io:setopts(Io, [{encoding, utf8}]),
            Io;
        {error, Reason} ->
            unfit("cannot read it: ~ts", [file:format_error(Reason)])
    end.

forms(Epp, Forms) ->
    case epp:parse_erl_form(Epp) of
        {ok, Form} -> forms(Epp, [in_utf8(Form) | Forms]);
        {eof, Where} -> lists:reverse([{eof, Where} | Forms]);
        {warning, _} -> forms(Epp, Forms);
        {error, Error} -> refuse(Error, "")
    end.

%% `<<"城市">>` without `/utf8` keeps the last byte of each character, which is
%% never what was meant. Below 256 it may be, and is left alone.
in_utf8({bin_element, Where, {string, _, Text} = String, default, default} = Element) ->
    case lists:any(fun(C) -> C > 255 end, Text) of
        true -> {bin_element, Where, String, default, [utf8]};
        false -> Element
    end;
in_utf8(Tuple) when is_tuple(Tuple) -> list_to_tuple(in_utf8(tuple_to_list(Tuple)));
in_utf8([Head | Tail]) -> [in_utf8(Head) | in_utf8(Tail)];
in_utf8(Other) -> Other.

%% ----- tools ------------------------------------------------------------------

tools(Module, File) ->
    erlang:function_exported(Module, tools, 0) orelse unfit("it exports no `tools/0`", []),
    Tags = default_tags(Module),
    case Module:tools() of
        Specs when is_list(Specs) ->
            Tools = [tool(Spec, Tags, File) || Spec <- Specs],
            refuse_doubles([Name || {Name, _, _} <- Tools]),
            Tools;
        Other ->
            unfit("`tools/0` returned ~ts, not a list of tools", [helve_json:print(Other)])
    end.

default_tags(Module) ->
    case erlang:function_exported(Module, tool_info, 0) of
        true ->
            case Module:tool_info() of
                #{tags := Tags} -> Tags;
                _ -> none
            end;
        false ->
            none
    end.

refuse_doubles(Names) ->
    case Names -- lists:usort(Names) of
        [] -> ok;
        [Double | _] -> unfit("it has two tools named `~ts`", [Double])
    end.

tool(#{name := Given} = Spec, Tags, File) ->
    Name = words(Given),
    is_binary(Name) andalso Name =/= <<>> orelse unfit("the name of a tool is not text: ~tp", [Given]),
    check_handler(maps:get(handler, Spec, none), Name, File),
    case helve_json:encode(said(with_tags(Spec, Tags))) of
        {ok, Json} when byte_size(Json) =< 1048576 -> {Name, Spec, Json};
        {ok, _} -> unfit("`~ts`: what describes it is too long", [Name]);
        {error, Why} -> unfit("`~ts`: ~ts", [Name, Why])
    end;
tool(Other, _, _) ->
    unfit("a tool has no `name`: ~ts", [helve_json:print(Other)]).

check_handler(none, Name, _) ->
    unfit("`~ts` has no `handler`", [Name]);
check_handler(Fun, _, _) when is_function(Fun, 1); is_function(Fun, 2) ->
    ok;
check_handler({Module, Function}, Name, File) ->
    check_handler({Module, Function, []}, Name, File);
check_handler({Module, Function, Extra}, Name, File) when
    is_atom(Module), is_atom(Function), is_list(Extra)
->
    load_neighbour(Module, File),
    _ = code:ensure_loaded(Module),
    Arities = [length(Extra) + 1, length(Extra) + 2],
    lists:any(fun(Arity) -> erlang:function_exported(Module, Function, Arity) end, Arities) orelse
        unfit("the handler of `~ts`, `~ts:~ts`, is not exported with arity ~b or ~b", [
            Name, Module, Function | Arities
        ]);
check_handler(Other, Name, _) ->
    unfit("the handler of `~ts` is ~ts; it must be a fun with one or two arguments, {M, F} or {M, F, Extra}", [
        Name, helve_json:print(Other)
    ]).

with_tags(Spec, none) -> Spec;
with_tags(#{tag := _} = Spec, _) -> Spec;
with_tags(#{tags := _} = Spec, _) -> Spec;
with_tags(Spec, Tags) -> Spec#{tag => Tags}.

%% ----- what a tool says -------------------------------------------------------

-define(TEXTS, [name, description, tag, tags, title, type]).

said(Spec) -> data(maps:remove(handler, Spec)).

%% Without funs and the like; strings are text where text belongs.
data(Map) when is_map(Map) ->
    Entries = [{Key, Value} || {Key, Value} <- maps:to_list(Map), not is_code(Value)],
    maps:from_list([{Key, entry(Key, Value)} || {Key, Value} <- Entries]);
data([_ | _] = List) ->
    case io_lib:char_list(List) of
        true -> List;
        false when is_list(tl(List)) -> [data(Item) || Item <- List, not is_code(Item)];
        false -> List
    end;
data(Bin) when is_binary(Bin) ->
    words(Bin);
data(Other) ->
    Other.

entry(Key, Value) ->
    case is_map(Value) orelse not is_text_key(Key) of
        true -> data(Value);
        false -> words(Value)
    end.

is_text_key(Key) when is_atom(Key) -> lists:member(Key, ?TEXTS);
is_text_key(Key) -> is_binary(Key) andalso lists:member(Key, [atom_to_binary(T) || T <- ?TEXTS]).

is_code(Value) -> is_function(Value) orelse is_pid(Value) orelse is_port(Value) orelse is_reference(Value).

%% A binary of Latin-1, as `<<"é">>` makes, is text as well.
words(Bin) when is_binary(Bin) ->
    case unicode:characters_to_binary(Bin) of
        Bin -> Bin;
        _ -> unicode:characters_to_binary(Bin, latin1)
    end;
words([First | _] = List) when is_integer(First) ->
    case io_lib:printable_unicode_list(List) of
        true -> unicode:characters_to_binary(List);
        false -> List
    end;
words([_ | _] = List) ->
    [words(Item) || Item <- List];
words(Atom) when is_atom(Atom), Atom =/= true, Atom =/= false, Atom =/= undefined, Atom =/= null ->
    atom_to_binary(Atom);
words(Other) ->
    Other.
