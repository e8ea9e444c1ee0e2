//! Plain data of Selvedge: ids, inputs, messages, history, events, choices, usage, snapshot, transcript.
