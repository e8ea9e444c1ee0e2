//! What a check has to say.

/// The findings of one check. No problems means that it passed.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// A few words for the summary, such as how much was looked at.
    pub(crate) summary: String,
    /// Shown, and tolerated.
    pub(crate) warnings: Vec<String>,
    /// Shown, and the reason why the check fails.
    pub(crate) problems: Vec<String>,
    /// `None` for a check that runs no tests.
    pub(crate) tests: Option<TestCount>,
}

impl Report {
    pub(crate) fn of(summary: impl Into<String>, problems: Vec<String>) -> Self {
        Self { summary: summary.into(), problems, ..Self::default() }
    }

    pub(crate) fn problem(problem: impl Into<String>) -> Self {
        Self::of("", vec![problem.into()])
    }

    pub(crate) fn passed(&self) -> bool {
        self.problems.is_empty()
    }
}

/// How many tests a runner ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCount {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl std::ops::Add for TestCount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl std::fmt::Display for TestCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}
