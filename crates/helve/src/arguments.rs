//! Arguments of a tool, as they are given on a command line.

use clap::Args;
use serde_json::{Map, Value};

use crate::exit::Failure;
use crate::out;

/// Arguments of a tool.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Arguments: `name=text` or `name:=JSON`.
    #[arg(value_name = "NAME=VALUE")]
    values: Vec<String>,
    /// All arguments as a JSON object, or `-` to read it from standard input.
    #[arg(long, value_name = "JSON", conflicts_with = "values")]
    args: Option<String>,
}

impl Arguments {
    /// An object, or the text of `--args`: the hub reads it, and tells cut-off text
    /// from wrong text.
    pub(crate) fn read(&self) -> Result<Value, Failure> {
        match self.args.as_deref() {
            Some("-") => std::io::read_to_string(std::io::stdin())
                .map(Value::String)
                .map_err(|e| Failure::input(format!("standard input cannot be read: {e}"))),
            Some(text) => Ok(Value::String(text.to_owned())),
            None => object(&self.values),
        }
    }

    /// An object.
    pub(crate) fn read_object(&self) -> Result<Value, Failure> {
        let Value::String(text) = self.read()? else {
            return object(&self.values);
        };
        serde_json::from_str(&text)
            .ok()
            .filter(Value::is_object)
            .ok_or_else(|| Failure::usage("`--args` is not a JSON object"))
    }
}

fn object(values: &[String]) -> Result<Value, Failure> {
    let mut map = Map::new();
    for item in values {
        let wrong = || {
            Failure::usage(format!("`{}` is no argument", out::visible(item)))
                .hint("write `name=text` or `name:=JSON`")
        };
        let (name, value) = item.split_once('=').ok_or_else(wrong)?;
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => {
                let value = serde_json::from_str(value).map_err(|e| {
                    let name = out::visible(name);
                    Failure::usage(format!("the value of `{name}` is not JSON: {e}"))
                })?;
                (name, value)
            }
            None => (name, Value::String(value.to_owned())),
        };
        if name.is_empty() {
            return Err(wrong());
        }
        if map.insert(name.to_owned(), value).is_some() {
            let name = out::visible(name);
            return Err(Failure::usage(format!("`{name}` is given twice")));
        }
    }
    Ok(Value::Object(map))
}
