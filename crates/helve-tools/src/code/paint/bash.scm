; Words that only some places make words of the language.
["declare" "local" "readonly" "typeset" "unsetenv"] @keyword
(number) @number
(ansi_c_string) @string
