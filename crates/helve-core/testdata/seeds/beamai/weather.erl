%% A tool as a plain map, the way it is typed into the Erlang shell.
WeatherTool = #{
    name => <<"get_weather">>,
    description => <<"Look up today's weather in a city: how warm it is and what the sky looks like.">>,
    tag => <<"weather">>,
    parameters => #{
        <<"city">> => #{
            type => string,
            required => true,
            description => <<"Which city, for example Beijing or Tokyo">>
        },
        <<"unit">> => #{
            type => string,
            enum => [<<"celsius">>, <<"fahrenheit">>],
            description => <<"Scale of the temperature">>
        }
    },
    handler => fun(Args, _Ctx) ->
        #{<<"city">> := City} = Args,
        Degrees = case maps:get(<<"unit">>, Args, <<"celsius">>) of
            <<"fahrenheit">> -> 68;
            _ -> 20  % celsius; "end" in a comment is no end
        end,
        {ok, #{<<"city">> => City, <<"temp">> => Degrees, <<"condition">> => <<"cloudy">>}}
    end
}.
