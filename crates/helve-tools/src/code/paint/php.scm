; The names of what is defined are types here as elsewhere.
[
  (class_declaration name: (name) @type)
  (interface_declaration name: (name) @type)
  (trait_declaration name: (name) @type)
  (enum_declaration name: (name) @type)
]
