; Numbers are numbers, and not only constants.
[(integer_literal) (float_literal)] @number

((identifier) @constant
 (#match? @constant "^[A-Z][A-Z\\d_]+$"))

(lifetime) @type
(shorthand_field_identifier) @property
