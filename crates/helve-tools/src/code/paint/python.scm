; Operators that are words.
["and" "in" "is" "not" "or" "is not" "not in"] @keyword

((identifier) @keyword
 (#any-of? @keyword "self" "cls"))

(class_definition name: (identifier) @type)
