%% Tools about the weather of a few places, which is always the same.
%%
%% Between them they have every form of a handler, and every form of a result.
-module(weather_tools).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).
-export([forecast/2, compare/1, alert/3, convert/2]).

tool_info() ->
    #{
        description => <<"Weather of a few places">>,
        tags => [<<"weather">>, <<"example">>]
    }.

tools() ->
    [
        %% fun/1, with an enum and a default.
        #{
            name => <<"get_weather">>,
            description => <<"Say the weather of a city now. When someone asks how warm it is somewhere.">>,
            tag => <<"current">>,
            parameters => #{
                <<"city">> => #{type => string, required => true, description => <<"Name of the city, such as Beijing">>},
                <<"unit">> => #{
                    type => string,
                    enum => [<<"celsius">>, <<"fahrenheit">>],
                    default => <<"celsius">>,
                    description => <<"Unit of the temperature">>
                }
            },
            timeout => 5000,
            handler => fun(Args) -> now_in(Args) end
        },
        %% fun/2: it remembers the city for later calls of the run.
        #{
            name => <<"forecast">>,
            description => <<"Say the weather of the next days. When plans depend on it.">>,
            parameters => #{
                city => #{type => string, description => <<"Name of the city; the one asked for last if left out">>},
                days => #{type => integer, default => 3, description => <<"How many days, at most 7">>}
            },
            retry => #{max => 3, delay => 1000},
            handler => fun ?MODULE:forecast/2
        },
        %% {M, F}, with nested parameters.
        #{
            name => <<"compare">>,
            description => <<"Compare places. When someone has to choose where to go.">>,
            parameters => #{
                places => #{
                    type => array,
                    required => true,
                    items => #{
                        type => object,
                        properties => #{
                            city => #{type => string, required => true},
                            weight => #{type => float, default => 1.0}
                        }
                    }
                }
            },
            handler => {?MODULE, compare}
        },
        %% {M, F, Extra}: one function, two tools.
        #{
            name => <<"heat_alert">>,
            description => <<"Say where it is hot. When the heat could harm someone.">>,
            tag => [<<"alert">>, <<"health">>],
            metadata => #{threshold => 30},
            handler => {?MODULE, alert, [30]}
        },
        beamai_tool:new(<<"convert_temperature">>, fun ?MODULE:convert/2, #{
            description => <<"Turn degrees Celsius into Fahrenheit. When units do not match.">>,
            tag => <<"units">>,
            timeout => 1000,
            parameters => #{<<"celsius">> => #{type => float, required => true}}
        })
    ].

places() ->
    #{
        <<"Beijing">> => {25, <<"Sunny">>},
        <<"Tokyo">> => {28, <<"Cloudy">>},
        <<"Cairo">> => {36, <<"Clear">>},
        <<"Oslo">> => {12, <<"Rain">>}
    }.

now_in(#{<<"city">> := City} = Args) ->
    case maps:find(City, places()) of
        {ok, {Degrees, Condition}} ->
            Unit = maps:get(<<"unit">>, Args, <<"celsius">>),
            {ok, #{city => City, temp => in_unit(Degrees, Unit), unit => Unit, condition => Condition}};
        error ->
            {error, <<"there is no weather for ", City/binary>>}
    end;
now_in(_) ->
    {error, missing_city}.

in_unit(Degrees, <<"fahrenheit">>) -> Degrees * 9 / 5 + 32;
in_unit(Degrees, _) -> Degrees.

forecast(Args, Ctx) ->
    case maps:get(<<"city">>, Args, beamai_context:get(last_city, Ctx)) of
        undefined ->
            {error, <<"say which city">>};
        City ->
            Days = min(7, maps:get(<<"days">>, Args, 3)),
            case now_in(#{<<"city">> => City}) of
                {ok, #{temp := Degrees}} ->
                    Each = [#{day => Day, temp => Degrees + Day rem 2} || Day <- lists:seq(1, Days)],
                    {ok, #{city => City, days => Each}, beamai_context:set(last_city, City, Ctx)};
                Error ->
                    Error
            end
    end.

compare(#{<<"places">> := Places}) ->
    Known = places(),
    case [City || #{<<"city">> := City} <- Places, not is_map_key(City, Known)] of
        [] ->
            Scored = [
                {maps:get(<<"weight">>, Place, 1.0) * element(1, maps:get(City, Known)), City}
             || #{<<"city">> := City} = Place <- Places
            ],
            {ok, [#{city => City, score => Score} || {Score, City} <- lists:reverse(lists:sort(Scored))]};
        Unknown ->
            {error, {unknown_cities, Unknown}}
    end.

alert(_Args, _Ctx, Threshold) ->
    Hot = [City || {City, {Degrees, _}} <- maps:to_list(places()), Degrees >= Threshold],
    {ok, #{threshold => Threshold, cities => lists:sort(Hot)}}.

convert(#{<<"celsius">> := Celsius}, _Ctx) ->
    {ok, Celsius * 9 / 5 + 32}.
