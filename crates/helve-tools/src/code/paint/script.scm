; What TypeScript shares with JavaScript.

(property_identifier) @property
(private_property_identifier) @property
(shorthand_property_identifier) @property

((identifier) @constant
 (#match? @constant "^[A-Z_][A-Z\\d_]+$"))

(function_declaration name: (identifier) @function)
(generator_function_declaration name: (identifier) @function)
(function_expression name: (identifier) @function)
(function_signature name: (identifier) @function)
(method_definition name: (property_identifier) @function.method)
(method_signature name: (property_identifier) @function.method)
(abstract_method_signature name: (property_identifier) @function.method)
(pair
  key: (property_identifier) @function.method
  value: [(function_expression) (arrow_function)])
(variable_declarator
  name: (identifier) @function
  value: [(function_expression) (arrow_function)])
(call_expression function: (identifier) @function)
(call_expression
  function: (member_expression
    property: (property_identifier) @function.method))
(decorator (identifier) @attribute)

[(this) (super)] @variable.builtin
[(true) (false) (null) (undefined)] @constant.builtin
(comment) @comment
(number) @number
[(string) (template_string) (regex) (template_literal_type)] @string
(template_substitution) @embedded

[
  "as"
  "asserts"
  "async"
  "await"
  "break"
  "case"
  "catch"
  "class"
  "const"
  "continue"
  "debugger"
  "default"
  "delete"
  "do"
  "else"
  "extends"
  "finally"
  "for"
  "from"
  "function"
  "get"
  "if"
  "import"
  "in"
  "infer"
  "instanceof"
  "is"
  "let"
  "new"
  "of"
  "return"
  "set"
  "static"
  "switch"
  "throw"
  "try"
  "typeof"
  "var"
  "void"
  "while"
  "with"
  "yield"
] @keyword
