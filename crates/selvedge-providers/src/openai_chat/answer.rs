//! An answer as a stream: the request is sent when it is first polled, and read by polling alone.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use selvedge_model::{ModelError, ModelEvent, ModelRequest};

use super::OpenAiChat;
use super::decode::{Decoder, Progress};
use crate::http::{EventStream, open};

/// One completion. The first error ends it, and so does the protocol's end.
pub(super) struct Answer {
    state: State,
    decoder: Decoder,
}

type Opening = Pin<Box<dyn Future<Output = Result<EventStream, ModelError>>>>;

enum State {
    Unsent(OpenAiChat, ModelRequest),
    Opening(Opening),
    Reading(EventStream),
    /// Nothing more is read; what is decoded comes first, then the error if there is one.
    Ended(Option<ModelError>),
}

impl Answer {
    pub(super) fn new(provider: OpenAiChat, request: ModelRequest) -> Self {
        let decoder = Decoder::new(provider.key());
        Self { state: State::Unsent(provider, request), decoder }
    }

    /// One step towards the next event.
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ModelError>> {
        match &mut self.state {
            State::Unsent(provider, request) => {
                let prepared = provider.prepare(request)?;
                self.state = State::Opening(Box::pin(open(prepared, provider.key())));
            }
            State::Opening(opening) => self.state = State::Reading(ready!(opening.as_mut().poll(cx))?),
            State::Reading(stream) => {
                let progress = match ready!(stream.poll_event(cx)) {
                    Ok(Some(data)) => self.decoder.event(data)?,
                    Ok(None) => self.decoder.end()?,
                    // A connection that breaks after the end was announced takes nothing away.
                    Err(_) if self.decoder.is_finished() => self.decoder.end()?,
                    Err(error) => return Poll::Ready(Err(error)),
                };
                if progress == Progress::Over {
                    self.state = State::Ended(None);
                }
            }
            State::Ended(_) => {}
        }
        Poll::Ready(Ok(()))
    }
}

impl Stream for Answer {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.decoder.next() {
                return Poll::Ready(Some(Ok(event)));
            }
            if let State::Ended(error) = &mut self.state {
                return Poll::Ready(error.take().map(Err));
            }
            if let Err(error) = ready!(self.poll_step(cx)) {
                self.state = State::Ended(Some(error));
            }
        }
    }
}
