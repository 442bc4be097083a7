//! The table of rules. Codes are stable; a rule that goes leaves a gap.

use super::Severity::{self, Error, Warning};

/// One rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// `E101`, `W201`.
    pub code: &'static str,
    /// The same in words.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it asks for.
    pub asks: &'static str,
    /// Whether `--fix` can mend it.
    pub fixable: bool,
}

macro_rules! rules {
    ($($ident:ident $code:literal $name:literal $severity:ident $fixable:literal $asks:literal;)*) => {
        $(
            #[doc = $asks]
            pub static $ident: Rule = Rule {
                code: $code,
                name: $name,
                severity: $severity,
                asks: $asks,
                fixable: $fixable,
            };
        )*
        /// All of them, by code.
        pub static RULES: &[&Rule] = &[$(&$ident),*];
    };
}

rules! {
    UNREADABLE "E001" "unreadable" Error false "the file follows the rules of its syntax";
    DUPLICATE_KEY "E002" "duplicate-key" Error false "a key is given once";
    TOO_LARGE "E003" "too-large" Error false "a file has at most 32 MiB";
    TOO_DEEP "E004" "too-deep" Error false "a file nests at most 128 levels";
    NOT_UTF8 "E005" "not-utf8" Error false "a file is UTF-8";
    UNKNOWN_SHAPE "E006" "unknown-shape" Error false "a file holds tools in a known dialect";
    OPENAPI "E007" "bad-openapi" Error false "an OpenAPI document is a version 3 with operations, of a size that can be taken in";
    MISSING_FIELD "E101" "missing-field" Error false "`name`, `description` and `input_schema` are there";
    WRONG_TYPE "E102" "wrong-type" Error false "a field holds what it should";
    UNKNOWN_FIELD "E103" "unknown-field" Error false "there are no fields but the known ones";
    BAD_NAME "E104" "bad-name" Error false "a name is snake_case, begins with a letter, has at most 64 characters";
    LOOK_ALIKE "E105" "look-alike" Error false "a name has no letters of another script that look like Latin ones";
    DUPLICATE_NAME "E106" "duplicate-name" Error false "two tools do not share a name or an alias";
    UNKNOWN_RISK "E110" "unknown-risk" Error false "`risk` is read, exec_low, exec_high or write";
    MISSING_RISK "E111" "missing-risk" Error false "a tool that runs outside Helve says its risk";
    UNKNOWN_EXECUTOR "E112" "unknown-executor" Error false "`executor` is one of the seven kinds";
    EXECUTOR_SETTING "E113" "executor-setting" Error false "an executor has its settings, and no others";
    BAD_PATH "E114" "bad-path" Error false "an allowed path is whole: not empty, without `..`";
    BAD_VERSION "E115" "bad-version" Error false "`version` is a semantic version";
    BAD_TIME "E116" "bad-time" Error false "`timeout` and `retry` are times and counts within reason";
    SHELL_JOIN "E117" "shell-join" Error false "no shell joins arguments into a command";
    INVALID_SCHEMA "E120" "invalid-schema" Error false "a schema is valid JSON Schema 2020-12";
    NOT_OBJECT "E121" "schema-not-object" Error true "`input_schema` has `type: object`";
    REMOTE_REF "E122" "remote-ref" Error false "`$ref` stays inside the schema and finds its target";
    SCHEMA_SIZE "E123" "schema-size" Error false "a schema has at most 512 KiB and 64 levels";
    EXPLODING_PATTERN "E124" "exploding-pattern" Error false "a `pattern` can be matched in linear time";
    EXAMPLE_MISFIT "E130" "example-misfit" Error false "the `params` of an example fit the schema";
    DANGLING "E131" "dangling-tool" Error false "tools that are spoken of exist";
    BROKEN_DEFAULT "E132" "default-misfit" Error false "a `default` fits its own schema";
    LONG_DESCRIPTION "W201" "long-description" Warning false "`description` has at most 200 characters";
    LONG_DETAIL "W202" "long-detail" Warning false "`detail` has at most 2,000 characters";
    NO_WHEN "W203" "no-when" Warning false "the description or `triggers` say when to use the tool";
    NOT_THIRD_PERSON "W204" "not-third-person" Warning false "a description speaks of the tool, not to the reader";
    NO_PARAM_TYPE "W205" "no-parameter-type" Warning false "a parameter has a `type`";
    NO_PARAM_DESCRIPTION "W206" "no-parameter-description" Warning false "a parameter has a `description`";
    NO_DEFAULT "W207" "no-default" Warning false "an optional parameter has a `default`";
    PREFIX "W208" "category-prefix" Warning false "the tools of a category share its prefix";
    REQUIRED_UNKNOWN "W209" "required-unknown" Warning false "what is `required` is among the `properties`";
    WHEN_IN_DESCRIPTION "W211" "when-in-description" Warning true "what follows \"When you need to\" is in `triggers`";
    PREREQUISITE_IN_DESCRIPTION "W212" "prerequisite-in-description" Warning true "what follows \"PREREQUISITE\" is in `prerequisites`";
    IMPORTANT_IN_DESCRIPTION "W213" "important-in-description" Warning true "what follows \"IMPORTANT\" is in `warnings`";
    EXAMPLES_IN_DETAIL "W214" "examples-in-detail" Warning true "examples are in `examples`, not in `detail`";
    EDGE_SPACE "W215" "edge-space" Warning true "text has no white space at its ends";
    REPEATED "W216" "repeated-entry" Warning true "a list does not say a thing twice";
    GENERIC_NAME "W220" "generic-name" Warning false "a name says what the tool does";
    SHORT_NAME "W221" "short-name" Warning false "a name is not an abbreviation";
    FREE_COMMAND "W222" "free-command" Warning false "a parameter does not carry a command or code";
    NO_PATHS "W223" "no-allowed-paths" Warning false "a tool that writes says where";
    SECRET "W224" "secret-in-definition" Warning false "secrets are named, not written out";
    HIDDEN_TEXT "W225" "hidden-text" Warning false "text has no invisible or direction-changing characters";
    OLD_DRAFT "W226" "old-draft" Warning false "`$schema` is absent or 2020-12";
    NAME_IN_FILE "W227" "name-in-file" Warning false "a file in a group's folder gives just the action, as its own name does";
    VERB_FIRST "W228" "verb-first" Warning false "for claude-sdk: a name begins with a verb";
    NESTED_PARAMS "W229" "nested-parameters" Warning false "for claude-sdk: parameters are flat";
    ENUM_IN_DESCRIPTION "W230" "enum-not-described" Warning false "for claude-sdk: the description names the allowed values";
    NO_TAG "W231" "no-tag" Warning false "for beamai: a tool has a tag";
    NO_REQUIRED "W232" "no-required" Warning false "for beamai: it is said which parameters are required";
    VENDOR_TOOL "W233" "vendor-tool" Warning false "a list holds definitions, not tools of the vendor's own";
    MORE_PAGES "W234" "more-pages" Warning false "a list of tools is whole, without a cursor to the next page";
    OPERATION "W235" "operation-passed-over" Warning false "an operation of an OpenAPI document can become a tool";
    FOR_THE_MODEL "W236" "for-the-model" Warning false "text describes the tool, and does not instruct the model behind people's backs";
    VENDOR_NAME "V301" "vendor-name" Error false "with --for: the vendor accepts the name";
    VENDOR_DESCRIPTION "V302" "vendor-description" Error false "with --for: the vendor accepts the description";
    VENDOR_COUNT "V303" "vendor-count" Error false "with --for: the vendor accepts so many tools";
    VENDOR_SCHEMA "V304" "vendor-schema" Error false "with --for: the vendor accepts the schema";
    VENDOR_STRICT "V305" "vendor-strict" Warning false "with --for: the schema can be made strict";
}

/// The rule with this code or name.
pub fn find(code_or_name: &str) -> Option<&'static Rule> {
    RULES
        .iter()
        .find(|r| r.code.eq_ignore_ascii_case(code_or_name) || r.name == code_or_name)
        .copied()
}
