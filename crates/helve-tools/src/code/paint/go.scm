; A method is called, although its name is a field's.
(call_expression
  function: (selector_expression
    field: (field_identifier) @function.method))
(method_declaration
  name: (field_identifier) @function.method)
