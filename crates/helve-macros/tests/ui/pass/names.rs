//! A function and its arguments may be called what they like, also what
//! the generated code could have called something of its own.
#![deny(warnings)]

use helve_kernel::{Ctx, tool, toolset};

macro_rules! named {
    ($($name:ident)*) => {
        $(
            /// Adds. Use it for sums.
            #[tool]
            async fn $name(ctx: &Ctx, def: u8, args: u8, name: u8, shown: u8, answer: u8) -> u8 {
                drop(ctx.clone());
                def + args + name + shown + answer
            }
        )*
        fn main() {
            let set = toolset! { name: "all", tools: [$($name),*] };
            let names: Vec<String> = set
                .into_iter()
                .flat_map(|s| s.into_tools())
                .map(|t| t.def.name.to_string())
                .collect();
            assert_eq!(names.join(" "), stringify!($($name)*));
        }
    };
}

named! { tool def args ctx shown answer name json handler description }
