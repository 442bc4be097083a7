; What C++ shares with C.

(field_identifier) @property
[(type_identifier) (primitive_type) (sized_type_specifier)] @type

((identifier) @constant
 (#match? @constant "^[A-Z][A-Z\\d_]+$"))

(call_expression function: (identifier) @function)
(call_expression
  function: (field_expression
    field: (field_identifier) @function))
(function_declarator declarator: (identifier) @function)
(preproc_function_def name: (identifier) @function)

[(string_literal) (char_literal) (system_lib_string)] @string
(number_literal) @number
[(true) (false) (null)] @constant.builtin
(comment) @comment

[
  "alignas"
  "alignof"
  "asm"
  "break"
  "case"
  "const"
  "continue"
  "decltype"
  "default"
  "do"
  "else"
  "enum"
  "extern"
  "for"
  "goto"
  "if"
  "inline"
  "operator"
  "register"
  "restrict"
  "return"
  "sizeof"
  "static"
  "static_assert"
  "struct"
  "switch"
  "thread_local"
  "typedef"
  "union"
  "volatile"
  "while"
  "#define"
  "#elif"
  "#else"
  "#endif"
  "#if"
  "#ifdef"
  "#ifndef"
  "#include"
  (preproc_directive)
] @keyword
