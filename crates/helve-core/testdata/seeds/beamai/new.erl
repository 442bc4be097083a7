%% 两个参数：只有名字和处理函数
Tool1 = beamai_tool:new(<<"my_tool">>, fun handle/1).

%% 三个参数：其余字段放在选项里
Tool2 = beamai_tool:new(<<"my_tool_with_options">>, fun handle/2, #{
    description => <<"Shows every option of the helper">>,
    tag => <<"category">>,
    parameters => #{
        <<"arg1">> => #{type => string, required => true}
    },
    timeout => 60000,
    retry => #{max => 3, delay => 1000}
}).
