%% Makes tool specs, and calls their handlers.
-module(beamai_tool).

-export([new/2, new/3, invoke/2, invoke/3]).
-export_type([spec/0, handler/0, result/0]).

-type handler() ::
    fun((map()) -> result())
    | fun((map(), beamai_context:t()) -> result())
    | {module(), atom()}
    | {module(), atom(), [term()]}.
-type result() :: {ok, term()} | {ok, term(), beamai_context:t()} | {error, term()}.
-type spec() :: #{name := binary(), handler := handler(), atom() => term()}.

-spec new(binary(), handler()) -> spec().
new(Name, Handler) -> new(Name, Handler, #{}).

-spec new(binary(), handler(), map()) -> spec().
new(Name, Handler, Options) -> Options#{name => Name, handler => Handler}.

-spec invoke(spec(), map()) -> result().
invoke(Spec, Args) -> invoke(Spec, Args, beamai_context:new()).

%% A function of a module is called with the context if it is exported with room
%% for it: `F(Args, Ctx, Extra…)` before `F(Args, Extra…)`.
-spec invoke(spec(), map(), beamai_context:t()) -> result().
invoke(#{handler := Handler}, Args, Context) ->
    case Handler of
        Fun when is_function(Fun, 2) -> Fun(Args, Context);
        Fun when is_function(Fun, 1) -> Fun(Args);
        {Module, Function} -> invoke_exported(Module, Function, Args, Context, []);
        {Module, Function, Extra} -> invoke_exported(Module, Function, Args, Context, Extra)
    end.

invoke_exported(Module, Function, Args, Context, Extra) ->
    _ = code:ensure_loaded(Module),
    More = length(Extra),
    case erlang:function_exported(Module, Function, 2 + More) of
        true -> apply(Module, Function, [Args, Context | Extra]);
        false -> apply(Module, Function, [Args | Extra])
    end.
