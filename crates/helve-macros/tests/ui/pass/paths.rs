//! A function's path is its tool's path, however it is brought in.

mod file {
    /// Reads. Use it to read.
    #[helve_kernel::tool(group = "file")]
    pub async fn read() -> u8 {
        1
    }

    pub(crate) mod deep {
        /// Writes. Use it to write.
        #[helve_kernel::tool(group = "file")]
        pub(crate) async fn write() {}
    }
}

use file::deep;
use file::read;
use file::read as look;

fn main() {
    /// Lives in a function. Use it there.
    #[helve_kernel::tool]
    async fn local() {}

    let one = helve_kernel::toolset! { name: "file", tools: [read, deep::write, local] };
    let two = helve_kernel::toolset! { name: "file", tools: [look, crate::file::deep::write] };
    assert_eq!((one.map(|s| s.tools().len()), two.map(|s| s.tools().len())), (Ok(3), Ok(2)));
    drop((read(), look(), deep::write(), local()));
}
