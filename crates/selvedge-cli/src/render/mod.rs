//! How a thread looks: pure functions from transcripts and events to pages, and what prints a page.

mod clean;
mod items;
mod live;
mod page;
mod paint;

pub(crate) use clean::{clean, clean_line};
pub(crate) use items::transcript;
pub(crate) use live::Live;
pub(crate) use page::{Op, Page, Style};
pub(crate) use paint::{Paint, Printer};
