//! What is defined in a file of code, by the grammar of its language.
//!
//! A language is a row: which nodes of its tree define something, and which bring
//! something in. Most nodes have their name in a field of that name; what differs is in
//! [`name_of`].

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use tree_sitter::{Node, Tree};

use super::paint::palette::{self, Palette};
use super::parse::{self, Language, parse};

/// Something that is defined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Symbol {
    /// Its name.
    pub(super) name: String,
    /// `function`, `method`, `class`, `type`, `module`, …
    pub(super) kind: &'static str,
    /// Where it begins, from 1.
    pub(super) line: usize,
    /// Where it ends.
    pub(super) end_line: usize,
    /// What it is defined in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<String>,
}

/// The map of a file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Outline {
    pub(super) symbols: Vec<Symbol>,
    pub(super) imports: Vec<String>,
    /// Whether the grammar did not understand all of it.
    pub(super) has_errors: bool,
}

/// A grammar, and what its nodes mean.
pub(super) struct Grammar {
    language: &'static Language,
    /// Node and kind of what is defined.
    defines: &'static [(&'static str, &'static str)],
    imports: &'static [&'static str],
    /// What colours a text of it.
    pub(super) palette: fn(&str) -> &'static Palette,
}

/// How many are told of one file.
const MOST: usize = 2_000;

/// How long one file may take. The largest that is read takes a good part of a second.
const LONGEST: Duration = Duration::from_secs(5);

pub(super) const RUST: Grammar = Grammar {
    language: &parse::RUST,
    defines: &[
        ("function_item", "function"),
        ("function_signature_item", "function"),
        ("struct_item", "struct"),
        ("enum_item", "enum"),
        ("union_item", "union"),
        ("trait_item", "trait"),
        ("impl_item", "impl"),
        ("type_item", "type"),
        ("mod_item", "module"),
        ("const_item", "constant"),
        ("static_item", "constant"),
        ("macro_definition", "macro"),
    ],
    imports: &["use_declaration", "extern_crate_declaration"],
    palette: |_| &palette::RUST,
};

pub(super) const PYTHON: Grammar = Grammar {
    language: &parse::PYTHON,
    defines: &[
        ("function_definition", "function"),
        ("class_definition", "class"),
    ],
    imports: &[
        "import_statement",
        "import_from_statement",
        "future_import_statement",
    ],
    palette: |_| &palette::PYTHON,
};

/// JavaScript is read as TypeScript, which is more.
pub(super) const TYPESCRIPT: Grammar = Grammar {
    language: &parse::TYPESCRIPT,
    defines: SCRIPT,
    imports: &["import_statement"],
    palette: |_| &palette::TYPESCRIPT,
};

/// With elements of HTML in it.
pub(super) const TSX: Grammar = Grammar {
    language: &parse::TSX,
    defines: SCRIPT,
    imports: &["import_statement"],
    palette: |_| &palette::TSX,
};

const SCRIPT: &[(&str, &str)] = &[
    ("function_declaration", "function"),
    ("generator_function_declaration", "function"),
    ("class_declaration", "class"),
    ("abstract_class_declaration", "class"),
    ("method_definition", "method"),
    ("interface_declaration", "interface"),
    ("type_alias_declaration", "type"),
    ("enum_declaration", "enum"),
    ("internal_module", "module"),
    ("variable_declarator", "function"),
];

pub(super) const GO: Grammar = Grammar {
    language: &parse::GO,
    defines: &[
        ("function_declaration", "function"),
        ("method_declaration", "method"),
        ("type_spec", "type"),
    ],
    imports: &["import_spec"],
    palette: |_| &palette::GO,
};

pub(super) const JAVA: Grammar = Grammar {
    language: &parse::JAVA,
    defines: &[
        ("class_declaration", "class"),
        ("interface_declaration", "interface"),
        ("enum_declaration", "enum"),
        ("record_declaration", "record"),
        ("annotation_type_declaration", "interface"),
        ("method_declaration", "method"),
        ("constructor_declaration", "method"),
    ],
    imports: &["import_declaration"],
    palette: |_| &palette::JAVA,
};

/// C is read as C++, which is nearly more.
pub(super) const CPP: Grammar = Grammar {
    language: &parse::CPP,
    defines: &[
        ("function_definition", "function"),
        ("class_specifier", "class"),
        ("struct_specifier", "struct"),
        ("union_specifier", "union"),
        ("enum_specifier", "enum"),
        ("namespace_definition", "module"),
        ("type_definition", "type"),
        ("alias_declaration", "type"),
        ("preproc_function_def", "macro"),
    ],
    imports: &["preproc_include"],
    palette: |_| &palette::CPP,
};

pub(super) const C_SHARP: Grammar = Grammar {
    language: &parse::C_SHARP,
    defines: &[
        ("class_declaration", "class"),
        ("interface_declaration", "interface"),
        ("struct_declaration", "struct"),
        ("record_declaration", "record"),
        ("enum_declaration", "enum"),
        ("delegate_declaration", "type"),
        ("namespace_declaration", "module"),
        ("method_declaration", "method"),
        ("constructor_declaration", "method"),
        ("local_function_statement", "function"),
    ],
    imports: &["using_directive"],
    palette: |_| &palette::C_SHARP,
};

pub(super) const RUBY: Grammar = Grammar {
    language: &parse::RUBY,
    defines: &[
        ("class", "class"),
        ("module", "module"),
        ("method", "function"),
        ("singleton_method", "function"),
    ],
    imports: &["call"],
    palette: |_| &palette::RUBY,
};

pub(super) const PHP: Grammar = Grammar {
    language: &parse::PHP,
    defines: &[
        ("function_definition", "function"),
        ("class_declaration", "class"),
        ("interface_declaration", "interface"),
        ("trait_declaration", "trait"),
        ("enum_declaration", "enum"),
        ("method_declaration", "method"),
    ],
    imports: &["namespace_use_declaration"],
    palette: |text| match text.contains("<?") {
        true => &palette::PHP,
        false => &palette::PHP_INSIDE,
    },
};

pub(super) const BASH: Grammar = Grammar {
    language: &parse::BASH,
    defines: &[("function_definition", "function")],
    imports: &[],
    palette: |_| &palette::BASH,
};

/// What a file of that language defines and brings in.
pub(super) fn outline(text: &str, grammar: &Grammar) -> Outline {
    match parse(grammar.language, text, LONGEST) {
        Some(read) => gather(&read.tree, text, grammar),
        None => Outline {
            has_errors: true,
            ..Outline::default()
        },
    }
}

/// Every node in order, without going deeper on the stack than the tree is wide.
fn gather(tree: &Tree, text: &str, grammar: &Grammar) -> Outline {
    let mut outline = Outline {
        has_errors: tree.root_node().has_error(),
        ..Outline::default()
    };
    // What is open: where it ends, its name, and whether functions in it are methods.
    let mut around: Vec<(usize, String, bool)> = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        while around
            .last()
            .is_some_and(|(end, ..)| *end <= node.start_byte())
        {
            around.pop();
        }
        if node.is_named() {
            if grammar.imports.contains(&node.kind()) && outline.imports.len() < MOST {
                outline.imports.extend(import(node, text));
            }
            let kind = grammar
                .defines
                .iter()
                .find(|(kind, _)| *kind == node.kind());
            if let Some((_, kind)) = kind
                && outline.symbols.len() < MOST
                && let Some(name) = name_of(node, text)
            {
                let holder = around.last();
                let is_method = *kind == "function" && holder.is_some_and(|(.., holds)| *holds);
                let receiver = receiver(node, text);
                outline.symbols.push(Symbol {
                    name: name.clone(),
                    kind: if is_method { "method" } else { kind },
                    line: node.start_position().row + 1,
                    end_line: node.end_position().row + 1,
                    parent: receiver.or_else(|| holder.map(|(_, name, _)| name.clone())),
                });
                let holds = !matches!(*kind, "function" | "method" | "module" | "macro");
                around.push((node.end_byte(), name, holds));
            }
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return outline;
            }
        }
    }
}

fn text_of(node: Node<'_>, text: &str) -> String {
    let said = text.get(node.byte_range()).unwrap_or_default();
    let said: Vec<&str> = said.split_whitespace().collect();
    let said = said.join(" ");
    crate::file::cut(&said, 200).0.to_owned()
}

/// The name of what a node defines; `None` if it defines nothing.
fn name_of(node: Node<'_>, text: &str) -> Option<String> {
    let field = |name| node.child_by_field_name(name);
    match node.kind() {
        "impl_item" => {
            let of = text_of(field("type")?, text);
            Some(match field("trait") {
                Some(the) => format!("{} for {of}", text_of(the, text)),
                None => of,
            })
        }
        // Only where it is a function that gets a name.
        "variable_declarator" => {
            let value = field("value")?.kind();
            let function = matches!(
                value,
                "arrow_function" | "function_expression" | "generator_function"
            );
            function.then(|| text_of(node.child_by_field_name("name").unwrap_or(node), text))
        }
        "class_specifier" | "struct_specifier" | "union_specifier" | "enum_specifier" => {
            field("body")?;
            Some(text_of(field("name")?, text))
        }
        "function_definition" if field("name").is_none() => declared(field("declarator")?, text),
        "type_definition" => declared(field("declarator")?, text),
        _ => Some(text_of(field("name")?, text)),
    }
}

/// C says the name in the middle: of `int *f(int)` it is `f`.
fn declared(mut node: Node<'_>, text: &str) -> Option<String> {
    loop {
        match node.kind() {
            "identifier"
            | "field_identifier"
            | "qualified_identifier"
            | "type_identifier"
            | "destructor_name"
            | "operator_name"
            | "template_function"
            | "operator_cast" => {
                return Some(text_of(node, text));
            }
            _ => {}
        }
        let next = node.child_by_field_name("declarator");
        node = next.or_else(|| node.named_child(0))?;
    }
}

/// Whose method it is, in Go: of `(s *Store)`, `Store`.
fn receiver(node: Node<'_>, text: &str) -> Option<String> {
    let said = text_of(node.child_by_field_name("receiver")?, text);
    let name = said.trim_matches(['(', ')']).split_whitespace().last()?;
    Some(name.trim_start_matches('*').to_owned())
}

/// What a node brings in.
fn import(node: Node<'_>, text: &str) -> Option<String> {
    let said = text_of(node, text);
    if node.kind() == "call" {
        // Ruby brings things in by calling something.
        let method = text_of(node.child_by_field_name("method")?, text);
        return matches!(method.as_str(), "require" | "require_relative" | "load").then_some(said);
    }
    Some(said.trim_end_matches(';').to_owned())
}
