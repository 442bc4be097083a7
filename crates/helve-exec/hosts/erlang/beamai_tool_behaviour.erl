%% What a module of tools exports.
-module(beamai_tool_behaviour).

-callback tools() -> [beamai_tool:spec()].
-callback tool_info() -> #{description => binary(), tags => [binary()]}.

-optional_callbacks([tool_info/0]).
