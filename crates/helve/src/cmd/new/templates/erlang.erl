%% {{NAME}}: a tool of Helve. `helve test {{NAME}}` runs its examples,
%% `helve call {{NAME}} text='one two'` calls it.
-module({{MODULE}}).
-export([tools/0, run/2]).

tools() ->
    [#{
        name => <<"{{NAME}}">>,
        description => <<"Counts the words and letters of a text. Use it to know how long a text is.">>,
        risk => <<"read">>,
        parameters => #{
            <<"text">> => #{type => string, required => true, description => <<"The text">>}
        },
        examples => [#{
            scenario => <<"Two words">>,
            params => #{<<"text">> => <<"one two">>},
            expected => <<"{\"words\": 2, \"letters\": 6}">>
        }],
        handler => fun ?MODULE:run/2
    }].

run(#{<<"text">> := Text}, _Ctx) ->
    Words = string:lexemes(Text, " \t\n"),
    Letters = lists:sum([string:length(Word) || Word <- Words]),
    {ok, #{words => length(Words), letters => Letters}}.
