//! An event stream over HTTP: opened, and read by polling.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::Body as _;
use reqwest::header::CONTENT_TYPE;
use selvedge_event::FailureKind;
use selvedge_model::ModelError;

use super::failure;
use crate::Secret;
use crate::sse::SseParser;

/// The most bytes that one event of a stream may have.
const EVENT_LIMIT: usize = 8 << 20;

/// Sends a request and waits for the head of an event stream.
///
/// # Errors
/// Whatever came in place of a stream, by kind. The key is in no message.
///
/// # Cancel safety
/// Dropping the future closes the connection.
pub(crate) async fn open(request: reqwest::RequestBuilder, key: Option<Secret>) -> Result<EventStream, ModelError> {
    let response = request.send().await.map_err(failure::of_transport)?;
    if !response.status().is_success() {
        return Err(failure::of_status(response, key.as_ref()).await);
    }
    let content_type = response.headers().get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    // A server that says nothing of the content is believed; the parser finds out.
    let is_stream =
        content_type.is_none_or(|found| found.trim_start().to_ascii_lowercase().starts_with("text/event-stream"));
    if !is_stream {
        return Err(failure::of_content(response, key.as_ref()).await);
    }
    Ok(EventStream { body: response.into(), chunk: Bytes::new(), parser: SseParser::new(EVENT_LIMIT) })
}

/// The events of an answer. Dropping it closes the connection, or gives it back if the answer was read to its end.
#[derive(Debug)]
pub(crate) struct EventStream {
    body: reqwest::Body,
    /// What has been received and not yet parsed.
    chunk: Bytes,
    parser: SseParser,
}

impl EventStream {
    /// The data of the next event; `None` at the end of the body.
    pub(crate) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<&str>, ModelError>> {
        loop {
            let mut rest = &self.chunk[..];
            let complete = self.parser.advance(&mut rest);
            let read = self.chunk.len() - rest.len();
            self.chunk.advance(read);
            if complete.map_err(|error| ModelError::new(FailureKind::Protocol, error.to_string()))? {
                return Poll::Ready(Ok(Some(self.parser.data())));
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                None => return Poll::Ready(Ok(None)),
                Some(Err(error)) => return Poll::Ready(Err(failure::of_transport(error))),
                Some(Ok(frame)) => self.chunk = frame.into_data().unwrap_or_default(),
            }
        }
    }
}
