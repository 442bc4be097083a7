; What is called by its name alone, and what stands in a text and is code again.
(invocation_expression function: (identifier) @function)
(interpolation) @embedded
(member_access_expression name: (identifier) @property)
(invocation_expression (member_access_expression name: (identifier) @function))
