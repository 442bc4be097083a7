%% What a handler gets as its second argument.
%%
%% Reading asks the run first (`run_id`, `agent_id`, `principal`, `tool`), then
%% the keys that tools of one run share. A handler that sets keys returns the
%% new context as `{ok, Result, Context}`.
-module(beamai_context).

-export([new/0, new/1, new/2, get/2, get/3, set/3, changes/2]).
-export_type([t/0]).

-opaque t() :: #{run := #{binary() => term()}, keys := #{binary() => term()}}.

-define(RUN, [<<"run_id">>, <<"agent_id">>, <<"principal">>, <<"tool">>]).

-spec new() -> t().
new() -> new(#{}).

-spec new(map()) -> t().
new(Keys) -> new(#{}, Keys).

-spec new(map(), map()) -> t().
new(Run, Keys) ->
    #{run => maps:with(?RUN, named(Run)), keys => named(Keys)}.

-spec get(atom() | binary() | string(), t()) -> term().
get(Key, Context) -> get(Key, Context, undefined).

-spec get(atom() | binary() | string(), t(), term()) -> term().
get(Key, #{run := Run, keys := Keys}, Default) ->
    Name = name(Key),
    case Run of
        #{Name := null} -> Default;
        #{Name := Value} -> Value;
        #{} -> maps:get(Name, Keys, Default)
    end.

-spec set(atom() | binary() | string(), term(), t()) -> t().
set(Key, Value, #{keys := Keys} = Context) ->
    Name = name(Key),
    case lists:member(Name, ?RUN) of
        true -> error({read_only, Key});
        false -> Context#{keys := Keys#{Name => Value}}
    end.

%% The keys of the second that the first has not, or has otherwise.
-spec changes(t(), term()) -> {ok, map()} | error.
changes(#{keys := Before}, #{run := _, keys := After}) when is_map(After) ->
    Gone = maps:map(fun(_, _) -> null end, maps:without(maps:keys(After), Before)),
    Same = fun(Key, Value) -> maps:find(Key, Before) =/= {ok, Value} end,
    {ok, maps:merge(Gone, maps:filter(Same, After))};
changes(_, _) ->
    error.

named(Map) ->
    maps:from_list([{name(Key), Value} || {Key, Value} <- maps:to_list(Map)]).

name(Key) when is_atom(Key) -> atom_to_binary(Key);
name(Key) when is_list(Key) -> unicode:characters_to_binary(Key);
name(Key) when is_binary(Key) -> Key.
