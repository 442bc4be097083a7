//! Programs that must compile, and programs that must not, each with what the
//! compiler says. `TRYBUILD=overwrite` writes the expected words anew.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
