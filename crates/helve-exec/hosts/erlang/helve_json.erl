%% JSON for the host: OTP 25 has none of its own.
%%
%% Writing is bounded: it counts as it goes, so that a result of a gigabyte is
%% refused before there is a copy of it. Terms that JSON has no word for are
%% printed; what a tool returns should never be lost for its type.
-module(helve_json).

-export([decode/1, encode/1, text/1, print/1]).

-define(MAX_MESSAGE, 8388608).
%% Readers of JSON give up on deep nesting; the message around a value takes some.
-define(MAX_DEPTH, 100).

%% ----- writing ---------------------------------------------------------------

%% JSON as a binary, or why it is none.
-spec encode(term()) -> {ok, binary()} | {error, binary()}.
encode(Term) ->
    try
        {ok, write(Term, <<>>, 0)}
    catch
        throw:{not_json, Why} -> {error, Why}
    end.

%% Behind what is written already: a binary that only grows is not copied.
write(true, Out, _) -> add(<<"true">>, Out);
write(false, Out, _) -> add(<<"false">>, Out);
write(null, Out, _) -> add(<<"null">>, Out);
write(undefined, Out, _) -> add(<<"null">>, Out);
write(Atom, Out, _) when is_atom(Atom) -> write_text(atom_to_binary(Atom), Out);
write(Bin, Out, _) when is_binary(Bin) -> write_text(Bin, Out);
write(Int, Out, _) when is_integer(Int) -> write_integer(Int, Out);
write(Float, Out, _) when is_float(Float) -> add(float_to_binary(Float, [short]), Out);
write(_, _, Depth) when Depth >= ?MAX_DEPTH ->
    refuse("its result is nested more than ~b deep", [?MAX_DEPTH]);
write([], Out, _) -> add(<<"[]">>, Out);
write(List, Out, Depth) when is_list(List) ->
    case is_proper(List) of
        true -> write_list(List, Out, Depth);
        false -> write_text(print(List), Out)
    end;
write(Tuple, Out, Depth) when is_tuple(Tuple) -> write_list(tuple_to_list(Tuple), Out, Depth);
write(Map, Out, Depth) when is_map(Map) -> write_map(maps:iterator(Map), Out, Depth);
write(Other, Out, _) -> write_text(print(Other), Out).

add(Bin, Out) when byte_size(Bin) + byte_size(Out) =< ?MAX_MESSAGE -> <<Out/binary, Bin/binary>>;
add(Bin, Out) -> too_long(byte_size(Bin) + byte_size(Out)).

-spec too_long(integer()) -> no_return().
too_long(Size) ->
    refuse("its result is too long: at least ~b bytes, at most ~b", [Size, ?MAX_MESSAGE]).

-spec refuse(string(), [term()]) -> no_return().
refuse(Format, Args) ->
    throw({not_json, unicode:characters_to_binary(io_lib:format(Format, Args))}).

%% Where JSON is read as 64-bit numbers a longer one would lose its last digits.
write_integer(Int, Out) when Int >= -(1 bsl 63), Int < (1 bsl 64) ->
    add(integer_to_binary(Int), Out);
write_integer(Int, Out) when abs(Int) < (1 bsl 10000) ->
    add(<<$", (integer_to_binary(Int))/binary, $">>, Out);
write_integer(_, _) ->
    refuse("its result holds an integer of more than 10000 bits, which is not JSON", []).

is_proper([_ | Rest]) -> is_proper(Rest);
is_proper(End) -> End =:= [].

write_list(List, Out, Depth) ->
    {_, Behind} = lists:foldl(
        fun(Item, {Before, So}) -> {<<",">>, write(Item, add(Before, So), Depth + 1)} end,
        {<<"[">>, Out},
        List
    ),
    case List of
        [] -> add(<<"[]">>, Out);
        _ -> add(<<"]">>, Behind)
    end.

write_map(Iterator, Out, Depth) ->
    case maps:next(Iterator) of
        none -> add(<<"{}">>, Out);
        Entry -> write_entries(Entry, add(<<"{">>, Out), Depth)
    end.

write_entries({Key, Value, Rest}, Out, Depth) ->
    Named = add(<<":">>, write_text(key(Key), Out)),
    Behind = write(Value, Named, Depth + 1),
    case maps:next(Rest) of
        none -> add(<<"}">>, Behind);
        Next -> write_entries(Next, add(<<",">>, Behind), Depth)
    end.

%% Never an object, as bytes that are no text would be.
key(Key) when is_atom(Key) -> atom_to_binary(Key);
key(Key) -> text(Key).

%% Text is text; other bytes say that they are not.
write_text(Bin, Out) when byte_size(Bin) + byte_size(Out) > ?MAX_MESSAGE ->
    too_long(byte_size(Bin) + byte_size(Out));
write_text(Bin, Out) ->
    case plain(Bin) of
        true ->
            add(<<$">>, add(Bin, add(<<$">>, Out)));
        false ->
            case unicode:characters_to_binary(Bin) of
                Bin -> add(<<$">>, add(escape(Bin, <<>>), add(<<$">>, Out)));
                _ -> add(<<"\"}">>, add(base64:encode(Bin), add(<<"{\"base64\":\"">>, Out)))
            end
    end.

plain(<<C, Rest/binary>>) when C >= 32, C < 127, C =/= $", C =/= $\\ -> plain(Rest);
plain(Rest) -> Rest =:= <<>>.

escape(<<$", Rest/binary>>, Out) -> escape(Rest, <<Out/binary, $\\, $">>);
escape(<<$\\, Rest/binary>>, Out) -> escape(Rest, <<Out/binary, $\\, $\\>>);
escape(<<$\n, Rest/binary>>, Out) -> escape(Rest, <<Out/binary, $\\, $n>>);
escape(<<C, Rest/binary>>, Out) when C < 32 ->
    Hex = string:right(integer_to_list(C, 16), 2, $0),
    escape(Rest, <<Out/binary, "\\u00", (list_to_binary(Hex))/binary>>);
escape(<<C, Rest/binary>>, Out) -> escape(Rest, <<Out/binary, C>>);
escape(<<>>, Out) -> Out.

%% Binaries and strings as they are, everything else printed.
-spec text(term()) -> binary().
text(Bin) when is_binary(Bin) ->
    case unicode:characters_to_binary(Bin) of
        Bin -> Bin;
        _ -> print(Bin)
    end;
text([_ | _] = List) ->
    case io_lib:printable_unicode_list(List) of
        true -> unicode:characters_to_binary(List);
        false -> print(List)
    end;
text(Other) ->
    print(Other).

-spec print(term()) -> binary().
print(Term) ->
    unicode:characters_to_binary(io_lib:format("~0tp", [Term], [{chars_limit, 8192}])).

%% ----- reading ---------------------------------------------------------------

%% Maps have binary keys, so that nothing from outside becomes an atom.
-spec decode(binary()) -> term().
decode(Bin) ->
    {Value, Rest} = value(space(Bin)),
    <<>> = space(Rest),
    Value.

space(<<C, Rest/binary>>) when C =:= $\s; C =:= $\n; C =:= $\t; C =:= $\r -> space(Rest);
space(Rest) -> Rest.

value(<<${, Rest/binary>>) -> object(space(Rest), []);
value(<<$[, Rest/binary>>) -> array(space(Rest), []);
value(<<$", Rest/binary>>) -> string(Rest, Rest, 0);
value(<<"true", Rest/binary>>) -> {true, Rest};
value(<<"false", Rest/binary>>) -> {false, Rest};
value(<<"null", Rest/binary>>) -> {null, Rest};
value(Bin) -> number(Bin, 0, integer).

object(<<$}, Rest/binary>>, []) ->
    {#{}, Rest};
object(<<$", Bin/binary>>, Entries) ->
    {Key, Behind} = string(Bin, Bin, 0),
    <<$:, Bin1/binary>> = space(Behind),
    {Value, Bin2} = value(space(Bin1)),
    case space(Bin2) of
        <<$,, Rest/binary>> -> object(space(Rest), [{Key, Value} | Entries]);
        <<$}, Rest/binary>> -> {maps:from_list(lists:reverse([{Key, Value} | Entries])), Rest}
    end.

array(<<$], Rest/binary>>, []) ->
    {[], Rest};
array(Bin, Items) ->
    {Value, Behind} = value(Bin),
    case space(Behind) of
        <<$,, Rest/binary>> -> array(space(Rest), [Value | Items]);
        <<$], Rest/binary>> -> {lists:reverse([Value | Items]), Rest}
    end.

%% Without an escape a string is a part of the message; a copy lets go of the rest.
string(Whole, Bin, Length) ->
    case Bin of
        <<$", Rest/binary>> -> {binary:copy(binary:part(Whole, 0, Length)), Rest};
        <<$\\, _/binary>> -> unescape(Bin, binary:part(Whole, 0, Length));
        <<_, Rest/binary>> -> string(Whole, Rest, Length + 1)
    end.

unescape(<<$", Rest/binary>>, Out) -> {Out, Rest};
unescape(<<$\\, $u, Rest/binary>>, Out) -> unescape_unicode(Rest, Out);
unescape(<<$\\, C, Rest/binary>>, Out) -> unescape(Rest, <<Out/binary, (escaped(C))>>);
unescape(<<C, Rest/binary>>, Out) -> unescape(Rest, <<Out/binary, C>>).

escaped($n) -> $\n;
escaped($t) -> $\t;
escaped($r) -> $\r;
escaped($b) -> $\b;
escaped($f) -> $\f;
escaped(C) when C =:= $"; C =:= $\\; C =:= $/ -> C.

unescape_unicode(<<Hex:4/binary, "\\u", Low:4/binary, Rest/binary>> = Bin, Out) ->
    case {hex(Hex), hex(Low)} of
        {H, L} when H >= 16#D800, H =< 16#DBFF, L >= 16#DC00, L =< 16#DFFF ->
            Code = 16#10000 + ((H - 16#D800) bsl 10) + (L - 16#DC00),
            unescape(Rest, <<Out/binary, Code/utf8>>);
        _ ->
            unescape_one(Bin, Out)
    end;
unescape_unicode(Bin, Out) ->
    unescape_one(Bin, Out).

unescape_one(<<Hex:4/binary, Rest/binary>>, Out) ->
    case hex(Hex) of
        Half when Half >= 16#D800, Half =< 16#DFFF -> unescape(Rest, <<Out/binary, 16#FFFD/utf8>>);
        Code -> unescape(Rest, <<Out/binary, Code/utf8>>)
    end.

hex(Digits) -> binary_to_integer(Digits, 16).

number(Whole, Length, Kind) ->
    case Whole of
        <<_:Length/binary, C, _/binary>> when C >= $0, C =< $9; C =:= $-; C =:= $+ ->
            number(Whole, Length + 1, Kind);
        <<_:Length/binary, $., _/binary>> ->
            number(Whole, Length + 1, float);
        <<_:Length/binary, E, _/binary>> when E =:= $e; E =:= $E ->
            number(Whole, Length + 1, exponent(Kind));
        <<Digits:Length/binary, Rest/binary>> ->
            {number_of(Kind, Digits), Rest}
    end.

exponent(integer) -> whole_exponent;
exponent(Kind) -> Kind.

number_of(integer, Digits) -> binary_to_integer(Digits);
number_of(float, Digits) -> binary_to_float(Digits);
%% `1e5`: Erlang wants a fraction.
number_of(whole_exponent, Digits) ->
    [Whole, Exponent] = binary:split(Digits, [<<"e">>, <<"E">>]),
    binary_to_float(<<Whole/binary, ".0e", Exponent/binary>>).
