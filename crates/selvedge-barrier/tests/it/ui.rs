//! What must not compile, each beside a twin that does: the fixture fails for the reason that it names, not for another.

#[test]
fn compile_fail_around_the_barrier() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*_fails.rs");
    cases.pass("tests/ui/*_compiles.rs");
}
