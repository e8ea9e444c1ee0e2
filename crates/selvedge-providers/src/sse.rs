//! A parser of event streams (`text/event-stream`), on bytes.
//!
//! It takes lines that end in LF, CRLF or CR, a byte order mark, comments, and data over several lines. It decodes UTF-8
//! by whole lines, so that no character is ever split, and replaces what is not UTF-8. An event without its closing blank
//! line is discarded, and one that grows beyond a limit is an error. It knows nothing of event names and ids: the
//! protocols repeat them in the data.

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The state between two pieces of a stream.
#[derive(Debug)]
pub(crate) struct SseParser {
    limit: usize,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// The data of the event so far.
    data: String,
    has_data: bool,
    /// Whether `data` was handed out, so that the next line begins a new event.
    complete: bool,
    /// Whether the last line ended in CR: a LF that follows belongs to it.
    after_cr: bool,
    at_start: bool,
}

/// An event beyond the limit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream has more than {limit} bytes")]
pub(crate) struct EventTooLarge {
    limit: usize,
}

impl SseParser {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: String::new(),
            has_data: false,
            complete: false,
            after_cr: false,
            at_start: true,
        }
    }

    /// Reads from the front of `input` up to the end of an event, or all of it. Whether an event is complete: then
    /// [`data`](Self::data) is its data.
    pub(crate) fn advance(&mut self, input: &mut &[u8]) -> Result<bool, EventTooLarge> {
        while !input.is_empty() {
            if std::mem::take(&mut self.after_cr) && input[0] == b'\n' {
                *input = &input[1..];
                continue;
            }
            let Some(end) = input.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(input);
                *input = &[];
                self.check_size(0)?;
                break;
            };
            let (rest_of_line, rest) = (&input[..end], &input[end + 1..]);
            self.after_cr = input[end] == b'\r';
            *input = rest;
            if self.line.is_empty() {
                self.take_line(rest_of_line)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(rest_of_line);
                self.take_line(&line)?;
                // The buffer is kept for the next line.
                line.clear();
                self.line = line;
            }
            if self.complete {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The data of the event that [`advance`](Self::advance) has just completed.
    pub(crate) fn data(&self) -> &str {
        &self.data
    }

    fn take_line(&mut self, mut line: &[u8]) -> Result<(), EventTooLarge> {
        if std::mem::take(&mut self.complete) {
            self.data.clear();
            self.has_data = false;
        }
        self.check_size(line.len())?;
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            // An event whose data is empty is none.
            self.complete = !self.data.is_empty();
            self.has_data = false;
            return Ok(());
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[][..],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            // A comment, or a field that says nothing here.
            Some(_) | None => return Ok(()),
        };
        if self.has_data {
            self.data.push('\n');
        }
        self.has_data = true;
        self.data.push_str(&String::from_utf8_lossy(value));
        Ok(())
    }

    fn check_size(&self, more: usize) -> Result<(), EventTooLarge> {
        let data = if self.complete { 0 } else { self.data.len() };
        if data + self.line.len() + more > self.limit { Err(EventTooLarge { limit: self.limit }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, EventTooLarge> {
        let mut parser = SseParser::new(100);
        let mut events = Vec::new();
        for mut piece in pieces {
            while parser.advance(&mut piece)? {
                events.push(parser.data().to_owned());
            }
        }
        Ok(events)
    }

    /// The stream yields these events, whatever its line ends and wherever it is cut.
    #[track_caller]
    fn check(stream: &[u8], expected: &[&str]) {
        for line_end in ["\n", "\r\n", "\r"] {
            let mut ended = Vec::new();
            for byte in stream {
                if *byte == b'\n' { ended.extend_from_slice(line_end.as_bytes()) } else { ended.push(*byte) }
            }
            assert_eq!(events([&ended[..]]).unwrap(), expected, "{line_end:?}");
            assert_eq!(events(ended.chunks(1)).unwrap(), expected, "{line_end:?}, byte by byte");
            for cut in 0..ended.len() {
                let (left, right) = ended.split_at(cut);
                assert_eq!(events([left, right]).unwrap(), expected, "{line_end:?}, cut at {cut}");
            }
        }
    }

    #[test]
    fn an_event_is_its_data() {
        check(b"data: a\n\ndata: b\n\n", &["a", "b"]);
        check(b"data:a\n\n", &["a"]);
        check(b"data:  a \n\n", &[" a "]);
        check(b"event: x\nid: 1\nretry: 5\ndata: a\n\n", &["a"]);
        check(b"data: a\nevent: x\n\n\n\n\ndata: b\n\n", &["a", "b"]);
        check(b"database: a\nDATA: b\n data: c\n\n", &[]);
    }

    #[test]
    fn data_spans_lines() {
        check(b"data: a\ndata: b\n\n", &["a\nb"]);
        check(b"data: a\n: x\ndata\ndata: b\n\n", &["a\n\nb"]);
        check(b"data\ndata\n\n", &["\n"]);
    }

    #[test]
    fn comments_and_empty_events_are_nothing() {
        check(b": hello\n\n:\n\ndata: a\n\n", &["a"]);
        check(b"data:\n\ndata\n\ndata: \n\nevent: x\n\ndata: a\n\n", &["a"]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_once() {
        check("\u{feff}data: a\n\n".as_bytes(), &["a"]);
        check("data: a\n\n\u{feff}data: b\n\n".as_bytes(), &["a"]);
    }

    #[test]
    fn an_unfinished_event_is_discarded() {
        check(b"data: a\n\ndata: b\n", &["a"]);
        check(b"data: a\n\ndata: b", &["a"]);
        check(b"", &[]);
    }

    #[test]
    fn characters_stay_whole_and_broken_ones_are_replaced() {
        let text = "data: 阴气渐重 👩‍👩‍👧 é\n\n";
        check(text.as_bytes(), &["阴气渐重 👩‍👩‍👧 é"]);
        check(b"data: x\xff\xfey\n\ndata: \xe9\x98\n\n", &["x\u{fffd}\u{fffd}y", "\u{fffd}"]);
    }

    #[test]
    fn line_ends_may_be_mixed() {
        let mixed = b"data: a\r\n\ndata: b\r\rdata: c\n\r\ndata: d\r\n\r\n";
        assert_eq!(events(mixed.chunks(1)).unwrap(), ["a", "b", "c", "d"]);
    }

    #[test]
    fn an_event_is_bounded_and_a_stream_is_not() {
        let small = format!("data: {}\n\n", "x".repeat(90)).repeat(10);
        assert_eq!(events([small.as_bytes()]).unwrap().len(), 10);
        let endless_line = "x".repeat(101);
        assert!(events([endless_line.as_bytes()]).is_err());
        assert!(events(endless_line.as_bytes().chunks(1)).is_err());
        let endless_event = format!("data: {}\n", "x".repeat(60)).repeat(2);
        assert!(events([endless_event.as_bytes()]).is_err());
    }

    proptest! {
        #[test]
        fn where_a_stream_is_cut_makes_no_difference(
            stream in "(data|:|: ?|a|é|\n|\r|\r\n|👧|\u{feff}){0,60}",
            cuts in proptest::collection::vec(0usize..200, 0..6),
        ) {
            let bytes = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
            prop_assert_eq!(events(pieces), events([bytes]));
        }
    }
}
