%% @doc A set of tools in one module.
-module(my_tools).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).
-export([handle_a/2, handle_b/2, handle_c/1, handle_d/3]).

%% What holds for the whole module; its tags go to tools without one.
tool_info() ->
    #{
        description => <<"A few tools of our own">>,
        tags => [<<"custom">>, <<"utility">>]
    }.

tools() ->
    [
        #{
            name => <<"tool_a">>,
            description => <<"Collects readings into a report. "
                             "Takes its tags from the module.">>,
            handler => fun ?MODULE:handle_a/2,
            parameters => #{
                title => #{type => string, required => true, description => <<"标题"/utf8>>},
                <<"readings">> => #{
                    type => array,
                    items => #{type => float},
                    required => true,
                    description => <<"The numbers to report">>
                },
                <<"layout">> => #{
                    type => object,
                    description => <<"How the report looks">>,
                    properties => #{
                        <<"width">> => #{type => integer, default => 80, description => <<"Columns">>},
                        <<"color">> => #{type => boolean, default => false, description => <<"Use colours">>},
                        <<"style">> => #{
                            type => string,
                            required => true,
                            enum => [<<"short">>, <<"long">>],
                            description => <<"How much to say">>
                        }
                    }
                }
            },
            timeout => 15000,
            filters => [audit],
            metadata => #{owner => <<"reports">>, stable => true}
        },
        #{
            name => <<"tool_b">>,
            description => <<"Has a tag of its own">>,
            tag => <<"special">>,
            handler => fun ?MODULE:handle_b/2
        },
        #{
            name => <<"tool_c">>,
            description => <<"Is handled by a module and a function">>,
            handler => {my_tools, handle_c},
            retry => #{max => 2, delay => 200}
        },
        #{
            name => <<"tool_d">>,
            description => <<"Passes one more argument to its handler">>,
            tag => [<<"special">>, <<"extra">>],
            handler => {?MODULE, handle_d, [#{mode => safe}]}
        }
    ].

handle_a(#{<<"readings">> := Readings}, _Ctx) ->
    {ok, #{count => length(Readings), sum => lists:sum(Readings)}}.

handle_b(_Args, Ctx) ->
    {ok, <<"counted">>, beamai_context:set(seen, true, Ctx)}.

handle_c(Args) ->
    {ok, maps:keys(Args)}.

handle_d(Args, _Ctx, #{mode := safe}) ->
    case maps:size(Args) of
        0 -> {error, nothing_given};
        N -> {ok, N}
    end.
