//! ThreadObserver: the event feed and the awaited hooks through which a Selvedge thread is watched and kept.
