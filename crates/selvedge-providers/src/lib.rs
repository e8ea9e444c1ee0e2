//! Models over the network for Selvedge: the OpenAI chat-completions protocol.
