//! A tool that tells the time.

use selvedge::prelude::{Tool, ToolContext, ToolOutput, ToolSpec, tool};

/// Tells the current time, in UTC and where the computer is.
pub(crate) fn current_time() -> impl Tool {
    let spec = ToolSpec::new("current_time", "Tells the current date and time, in UTC and in the user's time zone.");
    tool(spec.read_only(), |_call: ToolContext| async { Ok(ToolOutput::text(at(&jiff::ZonedDateTime::now()))) })
}

fn at(now: &jiff::ZonedDateTime) -> String {
    let utc = now.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ");
    let local = now.strftime("%A %Y-%m-%d %H:%M:%S, UTC%:z");
    format!("UTC: {utc}\nlocal: {local}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_told() {
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
        let now = jiff::Timestamp::from_second(1_764_500_000).unwrap().to_zoned_datetime(zone);
        assert_eq!(at(&now), "UTC: 2025-11-30T10:53:20Z\nlocal: Sunday 2025-11-30 12:53:20, UTC+02:00");
    }
}
