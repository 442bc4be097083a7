#!/bin/sh
# ---
# name: {{NAME}}
# description: Counts the words and letters of a text. Use it to know how long a text is.
# risk: read
# input_schema:
#   type: object
#   properties:
#     text: {type: string, description: The text}
#   required: [text]
#   additionalProperties: false
# output_schema: {type: object}
# examples:
#   - scenario: Two words
#     params: {text: one two}
#     expected: '{"words": 2, "letters": 6}'
# ---
#
# A tool of Helve. `helve test {{NAME}}` runs its examples, `helve call {{NAME}} text='one two'`
# calls it. Arguments are variables, and all of them JSON on standard input.

words=$(printf '%s' "$ARG_TEXT" | wc -w)
letters=$(printf '%s' "$ARG_TEXT" | tr -d '[:space:]' | wc -m)
printf '{"words": %d, "letters": %d}\n' "$words" "$letters"
