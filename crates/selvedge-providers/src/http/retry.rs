//! When a server wants to be asked again.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// How long the server asks to wait: `retry-after-ms`, else `retry-after` in seconds or as a date.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| text(headers, name)?.parse::<f64>().ok();
    if let Some(millis) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    if let Some(seconds) = number(RETRY_AFTER.as_str()) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |name: &str| httpdate::parse_http_date(text(headers, name)?).ok();
    let at = date(RETRY_AFTER.as_str())?;
    // By the server's own clock, where it tells; ours may be off.
    let now = date(DATE.as_str()).unwrap_or_else(system_time);
    Some(at.duration_since(now).unwrap_or_default())
}

/// Whether the server says that another attempt is worth it.
pub(super) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    text(headers, "x-should-retry")?.parse().ok()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

#[expect(clippy::disallowed_methods, reason = "a date in a header can be read against no other clock than the world's")]
fn system_time() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn the_wait_is_read_in_all_its_forms() {
        let check = |pairs: &[(&'static str, &'static str)], millis: Option<u64>| {
            assert_eq!(retry_after(&headers(pairs)), millis.map(Duration::from_millis), "{pairs:?}");
        };
        check(&[], None);
        check(&[("retry-after", "7")], Some(7_000));
        check(&[("retry-after", " 1.5 ")], Some(1_500));
        check(&[("retry-after", "0")], Some(0));
        check(&[("retry-after", "9"), ("retry-after-ms", "250")], Some(250));
        check(&[("retry-after-ms", "1e3")], Some(1_000));
        let now = ("date", "Wed, 21 Oct 2037 07:27:00 GMT");
        check(&[("retry-after", "Wed, 21 Oct 2037 07:28:00 GMT"), now], Some(60_000));
        check(&[("retry-after", "Wed, 21 Oct 2037 07:26:00 GMT"), now], Some(0));
        check(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")], Some(0));
        for nonsense in ["soon", "-1", "NaN", "inf", "1e300", ""] {
            check(&[("retry-after", nonsense)], None);
        }
        let in_the_future = headers(&[("retry-after", "Mon, 21 Oct 2199 07:28:00 GMT")]);
        assert!(retry_after(&in_the_future).unwrap() > Duration::from_secs(1_000_000_000));
    }

    #[test]
    fn a_server_may_say_whether_to_retry() {
        assert_eq!(should_retry(&headers(&[])), None);
        assert_eq!(should_retry(&headers(&[("x-should-retry", "true")])), Some(true));
        assert_eq!(should_retry(&headers(&[("x-should-retry", "false")])), Some(false));
        assert_eq!(should_retry(&headers(&[("x-should-retry", "maybe")])), None);
    }
}
