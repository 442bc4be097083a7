; A field of something.
(field_access field: (identifier) @property)
