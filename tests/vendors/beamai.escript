#!/usr/bin/env escript
%% -*- coding: utf-8 -*-
%% Reads files of Erlang terms with Erlang's own scanner and parser and checks
%% that each is a BeamAI tool. Prints one line per tool, separated by tabs:
%% the file, the tool's name, and `ok` or what is wrong.

-mode(compile).

main(Files) ->
    ok = io:setopts(standard_io, [{encoding, unicode}]),
    lists:foreach(fun check_file/1, Files).

check_file(File) ->
    try tools(File) of
        Tools -> [report(File, Tool) || Tool <- Tools]
    catch
        throw:Problem -> line(File, "?", Problem)
    end.

line(File, Name, Text) ->
    Flat = re:replace(Text, "[\t\r\n ]+", " ", [global, unicode, {return, list}]),
    io:format("~ts\t~ts\t~ts~n", [File, Name, Flat]).

report(File, Tool) ->
    try check_tool(Tool) of
        Name -> line(File, Name, "ok")
    catch
        throw:Problem -> line(File, name_of(Tool), Problem)
    end.

%% --- from text to the abstract form of every tool ---

tools(File) ->
    {ok, Bytes} = file:read_file(File),
    Text = case unicode:characters_to_list(Bytes) of
        List when is_list(List) -> List;
        _ -> throw("not UTF-8")
    end,
    case erl_scan:string(Text) of
        {ok, Tokens, _} -> lists:flatmap(fun parse/1, split(Tokens, []));
        {error, {Line, Module, Why}, _} -> fail("line ~p: ~ts", [Line, Module:format_error(Why)])
    end.

split([], []) -> [];
split([], _Rest) -> throw("the last term does not end in a dot");
split([{dot, _} = Dot | More], Term) -> [lists:reverse([Dot | Term]) | split(More, [])];
split([Token | More], Term) -> split(More, [Token | Term]).

parse(Tokens) ->
    case erl_parse:parse_exprs(Tokens) of
        {ok, [Expr]} -> unwrap(Expr);
        {ok, _} -> throw("more than one expression before a dot");
        {error, {Line, Module, Why}} -> fail("line ~p: ~ts", [Line, Module:format_error(Why)])
    end.

unwrap({match, _, {var, _, _}, Expr}) -> unwrap(Expr);
unwrap({cons, _, Head, Tail}) -> unwrap(Head) ++ unwrap(Tail);
unwrap({nil, _}) -> [];
unwrap({map, _, Fields}) -> [Fields];
unwrap(Other) -> fail("line ~p: neither a map nor a list of maps", [element(2, Other)]).

name_of(Fields) ->
    case [V || {map_field_assoc, _, {atom, _, name}, V} <- Fields] of
        [V] -> try literal(V) of B when is_binary(B) -> B; _ -> "?" catch throw:_ -> "?" end;
        _ -> "?"
    end.

%% --- the rules ---

check_tool(Fields) ->
    Pairs = [pair(Field) || Field <- Fields],
    Keys = [Key || {Key, _} <- Pairs],
    Keys -- lists:usort(Keys) =:= [] orelse throw("a key is given twice"),
    Tool = maps:from_list([field(Key, Value) || {Key, Value} <- Pairs]),
    Name = maps:get(name, Tool, none),
    is_text(Name) andalso Name =/= <<>> orelse throw("`name` is missing or no binary"),
    maps:foreach(fun known/2, Tool),
    Name.

pair({map_field_assoc, _, Key, Value}) -> {literal(Key), Value};
pair({map_field_exact, Line, _, _}) -> fail("line ~p: `:=` in a definition", [Line]).

%% A handler is code; every other field must be a plain term.
field(handler, Value) -> {handler, {code, element(1, Value)}};
field(Key, Value) -> {Key, literal(Value)}.

known(name, _) -> ok;
known(handler, {code, Kind}) -> expect(lists:member(Kind, ['fun', named_fun, tuple]), "`handler` is no fun or tuple");
known(description, V) -> expect(is_text(V), "`description` is no UTF-8 binary");
known(tag, V) -> expect(is_text(V) orelse is_texts(V), "`tag` is no binary and no list of them");
known(timeout, V) -> expect(is_integer(V) andalso V > 0, "`timeout` is no positive integer");
known(retry, V) -> expect(is_map(V) andalso maps:keys(V) -- [max, delay] =:= []
                          andalso lists:all(fun is_integer/1, maps:values(V)),
                          "`retry` is not #{max, delay} of integers");
known(filters, V) -> expect(is_list(V), "`filters` is no list");
known(metadata, V) -> expect(is_map(V), "`metadata` is no map");
known(serial, V) -> expect(is_boolean(V), "`serial` is no boolean");
known(return_direct, V) -> expect(is_boolean(V), "`return_direct` is no boolean");
known(parameters, V) -> parameters("parameters", V);
known(Key, _) -> fail("unknown key ~tp", [Key]).

parameters(Where, V) when is_map(V) ->
    maps:foreach(fun(Key, Spec) ->
        expect(is_atom(Key) orelse is_text(Key), Where ++ ": a name that is no atom and no binary"),
        param(Where ++ "/" ++ unicode:characters_to_list(io_lib:format("~ts", [Key])), Spec)
    end, V);
parameters(Where, _) -> throw(Where ++ ": no map").

param(Where, Spec) when is_map(Spec) ->
    Types = [string, integer, float, boolean, array, object],
    expect(lists:member(maps:get(type, Spec, none), Types), Where ++ ": `type` is missing or unknown"),
    maps:foreach(fun
        (type, _) -> ok;
        (default, _) -> ok;
        (description, V) -> expect(is_text(V), Where ++ ": `description` is no UTF-8 binary");
        (required, V) -> expect(is_boolean(V), Where ++ ": `required` is no boolean");
        (enum, V) -> expect(is_list(V) andalso V =/= [], Where ++ ": `enum` is no list");
        (items, V) -> param(Where ++ "/items", V);
        (properties, V) -> parameters(Where ++ "/properties", V);
        (Key, _) -> fail("~ts: unknown key ~tp", [Where, Key])
    end, Spec);
param(Where, _) -> throw(Where ++ ": no map").

literal(Expr) ->
    utf8(Expr),
    try erl_parse:normalise(Expr) catch _:_ -> fail("line ~p: not a plain term", [element(2, Expr)]) end.

%% <<"é">> without /utf8 keeps the low byte of each character and loses the text.
utf8({bin_element, Line, {string, _, Chars}, _, Types}) ->
    lists:all(fun(C) -> C < 128 end, Chars) orelse is_list(Types) andalso lists:member(utf8, Types)
        orelse fail("line ~p: text past ASCII in a binary without /utf8", [Line]);
utf8(Tuple) when is_tuple(Tuple) -> lists:foreach(fun utf8/1, tuple_to_list(Tuple));
utf8(List) when is_list(List) -> lists:foreach(fun utf8/1, List);
utf8(_) -> ok.

is_text(V) -> is_binary(V) andalso is_list(unicode:characters_to_list(V)).
is_texts(V) -> is_list(V) andalso lists:all(fun is_text/1, V).

expect(true, _) -> ok;
expect(false, Problem) -> throw(Problem).

fail(Format, Args) -> throw(unicode:characters_to_list(io_lib:format(Format, Args))).
